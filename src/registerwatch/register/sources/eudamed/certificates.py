"""What a device's certificates are after a read: those of its Basic UDI-DI record, and those of the certificate search.

What the record lists is read every time, so it always takes the place of what it listed before. The search can only be
read while a control probe proves that its filter filters. In between, what it found last is kept and marked.
"""

from collections.abc import Iterable, Sequence

from registerwatch.clock import iso_utc
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.models import Certificate
from registerwatch.structs import replace

UNCONFIRMED_SECONDS = 30 * 24 * 3600
"""A certificate that no search could confirm for so long is left out."""


def together(*places: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Certificates of several places, in order; of one that several list, what the last of them says.

    Certificates that one place lists under the same notified body, number and revision are several, unless they are the
    same in everything. What tells it from others stays where an earlier place alone has it.
    """
    found: list[Certificate] = []
    for place in places:
        listed = list(dict.fromkeys(place))
        same = same_certificates(listed, found)
        told_again = {id(each) for of in same for each in of}
        found = [each for each in found if id(each) not in told_again]
        found += [_identified(each, of) for each, of in zip(listed, same, strict=True)]
    return tuple(sorted(found, key=lambda each: each.order))


def _identified(certificate: Certificate, same: Sequence[Certificate]) -> Certificate:
    """A certificate with the revision and the notified body of what an earlier place says of it, where it has none."""
    if not same or (certificate.revision and certificate.notified_body):
        return certificate
    body = certificate if certificate.notified_body else same[0]
    return replace(
        certificate,
        revision=certificate.revision or same[0].revision,
        notified_body=body.notified_body,
        notified_body_name=certificate.notified_body_name or body.notified_body_name,
    )


def unconfirmed(stored: Iterable[Certificate], now: float) -> list[Certificate]:
    """Of the certificates that are stored those that a search brought, for a read that could not search."""
    marked = [
        replace(each, confirmed=False, unconfirmed_since=each.unconfirmed_since or iso_utc(int(now)))
        for each in stored
        if each.listed_in != "record" and not each.scoped
    ]
    oldest = iso_utc(int(now) - UNCONFIRMED_SECONDS)
    return [each for each in marked if (each.unconfirmed_since or "") > oldest]
