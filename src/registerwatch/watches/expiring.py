"""Certificates of watched devices that end soon, or ended lately. Read from snapshots; the register is not asked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from registerwatch.clock import day_of
from registerwatch.register.certificate_states import CertificateState, ShownCertificate, days_left
from registerwatch.watches.models import Expiring, Watch
from registerwatch.watches.standing import shown_of

PAST_DAYS = 30
AHEAD_DAYS = 180
Standings = Mapping[tuple[str, str, str], str]
"""Words by UDI-DI, certificate number and end date."""
_TOLD_BY_DATE = frozenset({CertificateState.EXPIRED, CertificateState.ENDING, CertificateState.VALID})


def expiring(watches: Sequence[Watch], now: float) -> list[Expiring]:
    """Those from 30 days past to 180 days ahead, the most urgent first."""
    today = day_of(now)
    found = [item for watch in watches for item in _of(watch, today)]
    return sorted(found, key=lambda item: (item.days, item.subject, item.certificate))


def standings(watches: Sequence[Watch], now: float) -> Standings:
    """How certificates stand whose end date is not all that is to be said of them: withdrawn, restricted and alike. Of
    several with one number and end date the worst is told, unless the date is all that is to be said of one of them.
    """
    today = day_of(now)
    found: defaultdict[tuple[str, str, str], list[ShownCertificate]] = defaultdict(list)
    for watch in watches:
        for seen in watch.snapshot.shown_certs if watch.snapshot is not None else ():
            found[watch.subject, seen.number, seen.ends].append(shown_of(seen, today))
    return {
        key: min(alike, key=lambda each: each.state.rank).words
        for key, alike in found.items()
        if not any(each.state in _TOLD_BY_DATE for each in alike)
    }


def unsure(watches: Sequence[Watch]) -> list[Watch]:
    """Watched devices of which certificates may be missing or outdated: not all were read, or the last read failed."""
    return [watch for watch in watches if watch.kind == "udi" and (watch.last_error or not watch.is_complete)]


def _of(watch: Watch, today: date) -> Iterator[Expiring]:
    certificates = watch.snapshot.shown_certs if watch.snapshot is not None else ()
    for certificate in certificates:
        days = days_left(certificate.ends, today)
        if days is not None and -PAST_DAYS <= days <= AHEAD_DAYS:
            is_confirmed = not certificate.is_unconfirmed
            number, is_listed = certificate.number, not certificate.is_gone
            yield Expiring(watch.subject, watch.label, number, certificate.ends, days, is_confirmed, is_listed)
