"""Standings of listed certificates where reads of devices differ from the list. Pure.

The list and the records of devices are read at different times. The newest read decides; where that is one of a device,
both are shown with their times, on every surface.
"""

from collections.abc import Sequence
from datetime import date

import msgspec

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import is_alike, same_certificates
from registerwatch.register.certificate_states import ShownCertificate, shown_certificate
from registerwatch.register.models import Certificate


class DeviceRead(msgspec.Struct, frozen=True):
    """A certificate in the read of a device, which began at `as_of` (ISO 8601 in UTC). The device may list it more than
    once. `udi` is empty for the device that a page is about.
    """

    as_of: str
    certificates: Sequence[Certificate]
    udi: str = ""


class OtherCertificate(msgspec.Struct, frozen=True):
    """A certificate of another record of a UDI-DI than the one that answers for it, which was read at `as_of` (unix
    seconds).
    """

    certificate: Certificate
    as_of: int


class CertificateRead(msgspec.Struct, frozen=True):
    """The newest read of a manufacturer's certificate by a device, with what identifies the certificate."""

    srn: str
    number: str
    revision: str
    notified_body: str
    read: DeviceRead


class NamedCertificate(CertificateRead, frozen=True):
    """A certificate that only records of devices name, as the one had it that was last read with it."""

    dropped_at: str | None = None
    """When that record was read without it; None where it was not."""
    device_unlisted_at: str | None = None
    """When the register no longer listed that device; None while it does."""
    is_of_other: bool = False
    """Whether another record of the UDI-DI names it than the one that answers for it now."""

    def shown(self, today: date) -> ShownCertificate:
        """The certificate with its state on a day, the worst where the record has it more than once. Without it there,
        it is no longer listed, where it had not ended before.
        """
        worst = self.as_named(today)
        unlisted = shown_certificate(worst.certificate, today, is_listed=False)
        return worst if self.dropped_at is None else min(worst, unlisted, key=lambda each: each.state.rank)

    def as_named(self, today: date) -> ShownCertificate:
        """The same as long as the record has it."""
        shown = (shown_certificate(each, today) for each in self.read.certificates)
        return min(shown, key=lambda each: each.state.rank)


class ListRead(msgspec.Struct, frozen=True):
    """A certificate of the register's list, which was read at `as_of`; `is_listed` is false where it has it no more."""

    number: str
    revision: str
    notified_body: str
    valid_from: str | None
    expiry: str | None
    status_code: str
    is_listed: bool
    as_of: str

    def beside(self, own: ShownCertificate, today: date) -> ShownCertificate:
        """Its state on a day, with the status of a device's own certificate where the list gives none."""
        certificate = Certificate(
            self.number,
            revision=self.revision,
            expiry=self.expiry,
            valid_from=self.valid_from,
            status_code=self.status_code or own.certificate.status_code,
            notified_body=self.notified_body,
        )
        return shown_certificate(certificate, today, is_listed=self.is_listed)


class ReadOtherwise(msgspec.Struct, frozen=True):
    """A certificate with its state in the read of a device, or of the list (no `udi`), where another read differs."""

    shown: ShownCertificate
    as_of: str
    udi: str


class NewerRead(msgspec.Struct, frozen=True):
    """A certificate of a device, as known of `as_of`, and the newer reads that differ: of another device, of the list.
    One of them is there.
    """

    own: ShownCertificate
    as_of: str
    other: ReadOtherwise | None
    listed: ReadOtherwise | None

    @property
    def differing(self) -> ShownCertificate:
        """What differs from its own, in its end if one does."""
        found = [each.shown for each in (self.other, self.listed) if each is not None]
        return next((each for each in found if each.certificate.expiry != self.own.certificate.expiry), found[0])


class ListedStanding(msgspec.Struct, frozen=True):
    """The standing of a listed certificate. `listed_as_of` is when the list was read that has it, or has it no more."""

    listed: ShownCertificate
    listed_as_of: str
    other: ReadOtherwise | None = None
    """The read of a device that differs."""
    agreeing: DeviceRead | None = None
    """A read of another device that is newer than `other` and agrees with the list."""

    @property
    def age(self) -> str:
        """Whether the read of the device is `newer` or `older` than the list; empty where it is neither."""
        if self.other is None or (self.agreeing is None and self.other.as_of == self.listed_as_of):
            return ""
        return "newer" if self.agreeing is None and self.other.as_of > self.listed_as_of else "older"

    @property
    def shown(self) -> ShownCertificate:
        """The certificate with the state of the newer read where two differ, the worse of two at one time."""
        if self.other is None or self.age == "older":
            return self.listed
        other = self.other.shown
        return other if self.age == "newer" else min(self.listed, other, key=lambda each: each.state.rank)


def listed_standing(
    listed: ShownCertificate,
    listed_as_of: str,
    today: date,
    newest: DeviceRead | None,
    own: DeviceRead | None = None,
    possible: Sequence[DeviceRead] = (),
) -> ListedStanding:
    """The standing of a listed certificate on a day. `newest` is the newest read of any device that lists it, which
    counts where it is newer than the list. `own` is the read of the page's own device: the page has it above, so a
    difference is said whatever its age. `possible` reads may be of another certificate; one of them counts where it
    has this one worse and none of the others is newer.
    """
    certain = _certain_standing(listed, listed_as_of, today, newest, own)
    as_of = max(listed_as_of, own.as_of if own is not None else "")
    newer = [each for each in possible if each.as_of > as_of and (newest is None or each.as_of >= newest.as_of)]
    differing = [each for each in (read_otherwise(listed, read, today) for read in newer) if each is not None]
    worst = min(differing, key=lambda each: _severity(each.shown), default=None)
    if worst is None or _severity(worst.shown) >= _severity(certain.shown):
        return certain
    return ListedStanding(listed, listed_as_of, worst)


def _severity(shown: ShownCertificate) -> tuple[int, bool, str]:
    """Sorts the worst first: by state, then by end."""
    return shown.state.rank, shown.certificate.expiry is None, shown.certificate.expiry or ""


def _certain_standing(
    listed: ShownCertificate, listed_as_of: str, today: date, newest: DeviceRead | None, own: DeviceRead | None
) -> ListedStanding:
    if newest is not None and newest.as_of <= max(listed_as_of, own.as_of if own is not None else ""):
        newest = None
    of_newest, of_own = (read_otherwise(listed, each, today) for each in (newest, own))
    if of_newest is not None:
        return ListedStanding(listed, listed_as_of, of_newest)
    return ListedStanding(listed, listed_as_of, of_own, newest if of_own is not None else None)


def read_otherwise(listed: ShownCertificate, read: DeviceRead | None, today: date) -> ReadOtherwise | None:
    """The read of a device where it differs in a certificate, its worst state; None where it does not. A certificate
    without a status does not differ from the list's, nor does one that the read could not confirm.
    """
    if read is None:
        return None
    status = listed.certificate.status_code
    with_status = [each if each.status_code else replace(each, status_code=status) for each in read.certificates]
    shown = [shown_certificate(each, today) for each in with_status if each.confirmed]
    worst = min(shown, key=lambda each: each.state.rank, default=None)
    if worst is None:
        return None
    return ReadOtherwise(worst, read.as_of, read.udi) if _differ(worst, listed) else None


def confirmed_at(own: ShownCertificate, listed: Sequence[ListRead], today: date) -> str:
    """When the list was last read that has a device's certificate as the device has it; empty where none has."""
    return max((each.as_of for each in listed if each.is_listed and not _is_otherwise(own, each, today)), default="")


def listed_otherwise(
    shown: ShownCertificate, read_at: str, listed: Sequence[ListRead], own: Sequence[ShownCertificate], today: date
) -> ReadOtherwise | None:
    """The list where it was read later than a device and has its certificate otherwise, in the worst state; None where
    it does not. `own` are all of the device, which may have a certificate more than once. What the list has no more
    counts only where it has no other record of the certificate.
    """
    current = [each for each in listed if each.is_listed] or listed
    later = [each for each in current if each.as_of > read_at]
    if not all(_is_otherwise(shown, each, today) for each in later):
        return None
    alike = [each for each in own if is_alike(each.certificate, shown.certificate)]
    differing = [each for each in later if all(_is_otherwise(one, each, today) for one in alike)]
    states = [(each.beside(shown, today), each.as_of) for each in differing]
    worst = min(states, key=lambda each: each[0].state.rank, default=None)
    return ReadOtherwise(*worst, "") if worst is not None else None


def _is_otherwise(own: ShownCertificate, listed: ListRead, today: date) -> bool:
    return _differ(own, listed.beside(own, today))


def _differ(one: ShownCertificate, other: ShownCertificate) -> bool:
    """Whether two reads of a certificate have another state, end or status, as pages show them. A status that only one
    of them has is no difference.
    """
    if (one.words, one.certificate.expiry) != (other.words, other.certificate.expiry):
        return True
    codes = {one.certificate.status_code, other.certificate.status_code} - {""}
    return len(codes) > 1


def newer_reads(
    own: Sequence[ShownCertificate], as_of: Sequence[str], reads: Sequence[CertificateRead], today: date
) -> Sequence[ReadOtherwise | None]:
    """For each certificate of a device, known as of an instant of its own: the newer read of another device that
    differs, None where there is none. `reads` are of other devices of its manufacturer.
    """
    same = same_certificates([each.certificate for each in own], reads)
    return [
        next((_newer_read(shown, instant, each, own, today) for each in of_other), None)
        for shown, instant, of_other in zip(own, as_of, same, strict=True)
    ]


def _newer_read(
    shown: ShownCertificate, as_of: str, other: CertificateRead, own: Sequence[ShownCertificate], today: date
) -> ReadOtherwise | None:
    """The read of another device where it is newer and differs. Where only one of both has a revision or a notified
    body, another end date can be that of a renewal. A certificate that both list more than once differs as a whole.
    """
    found = read_otherwise(shown, other.read, today) if other.read.as_of > as_of else None
    if found is None:
        return None
    known = shown.certificate
    is_equal = (known.revision, known.notified_body) == (other.revision, other.notified_body)
    if not is_equal and found.shown.certificate.expiry != known.expiry:
        return None
    alike = {_compared(each.certificate) for each in own if is_alike(each.certificate, known)}
    return None if alike == {_compared(each) for each in other.read.certificates} else found


def _compared(certificate: Certificate) -> tuple[str | None, str]:
    return certificate.expiry, certificate.status_code
