"""Certificates of watched devices that end soon or ended lately, from snapshots. The register is not asked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date

from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.certificate_states import CertificateState, ShownCertificate, days_left
from registerwatch.register.standing import words_beside_end
from registerwatch.watches.models import Expiring, Watch
from registerwatch.watches.snapshot import SeenCertificate
from registerwatch.watches.standing import shown_of

PAST_DAYS = 30
AHEAD_DAYS = 180


def expiring(watches: Sequence[Watch], now: float) -> list[Expiring]:
    """Ends from 30 days ago to 180 days ahead, the most urgent first."""
    today = day_of(now)
    found = [item for watch in watches for item in _of(watch, today)]
    return sorted(found, key=lambda item: (item.days, item.subject, item.certificate))


def unsure(watches: Sequence[Watch]) -> list[Watch]:
    """Watched devices whose certificates may be missing or outdated: not all were read, or the last read failed."""
    return [watch for watch in watches if watch.kind == "udi" and (watch.last_error or not watch.is_complete)]


def _of(watch: Watch, today: date) -> Iterator[Expiring]:
    alike: defaultdict[tuple[str, str, str, int], list[ShownCertificate]] = defaultdict(list)
    for seen in watch.snapshot.shown_certs if watch.snapshot is not None else ():
        if _is_near(seen, today):
            alike[seen.number, seen.revision, seen.ends, seen.other_as_of].append(shown_of(seen, today))
    for (number, revision, ends, other_as_of), shown in alike.items():
        standing, other = words_beside_end(shown), iso_utc(other_as_of) if other_as_of else ""
        for each in shown:
            assert each.remaining is not None, "those that are near have a date"
            is_listed = each.state is not CertificateState.UNLISTED
            about = watch.subject, watch.label, number, ends, each.remaining
            yield Expiring(*about, each.certificate.confirmed, is_listed, standing, revision, other)


def _is_near(seen: SeenCertificate, today: date) -> bool:
    days = days_left(seen.ends, today)
    return days is not None and -PAST_DAYS <= days <= AHEAD_DAYS
