"""The certificates of the watched devices, as the snapshots have them: which end when, and whose were never read. Pure.

Devices often share a certificate, so one is listed once with its devices. Dates are days without a time zone;
"today" is the day of whoever looks.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property

import msgspec
from msgspec import Struct

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import Identified, same_together
from registerwatch.register.certificate_states import ShownCertificate, days_left
from registerwatch.register.standing import CertificateStanding
from registerwatch.watches.models import NOT_REGISTERED
from registerwatch.watches.questions.expiring_certificates import AHEAD_DAYS, PAST_DAYS
from registerwatch.watches.snapshot import SeenCertificate, listed_certificates, shown_certificates
from registerwatch.watches.standing import shown_of

MAX_TEXT_LENGTH = 200
MAX_WORDS = 8
Order = tuple[int, int, str, str]


class CertificateGroup(StrEnum):
    """When a certificate ends, counted from today."""

    ENDED = "ended"
    WITHIN_30 = "30"
    WITHIN_90 = "90"
    WITHIN_180 = "180"
    LATER = "later"
    UNDATED = "undated"


SIX_MONTHS = frozenset({CertificateGroup.WITHIN_30, CertificateGroup.WITHIN_90, CertificateGroup.WITHIN_180})
"""The groups of what ends within `AHEAD_DAYS`."""


_LAST_DAYS = (
    (-1, CertificateGroup.ENDED),
    (30, CertificateGroup.WITHIN_30),
    (90, CertificateGroup.WITHIN_90),
    (AHEAD_DAYS, CertificateGroup.WITHIN_180),
)


class ReadState(StrEnum):
    """What is known of the certificates of a device."""

    COMPLETE = "complete"
    """Every place that lists certificates was read at the last read."""
    OUTDATED = "outdated"
    """Every place was read once; the last read failed, or could not read all of them."""
    DELISTED = "delisted"
    """Certificates were read; then the register no longer listed the device."""
    UNKNOWN = "unknown"
    """The register has no such device, as far as it was ever asked."""
    PARTIAL = "partial"
    """Not every place was ever read, so there may be more."""
    UNREAD = "unread"
    """Nobody has looked yet."""
    FAILED = "failed"
    """The last read could not read them, and none was read before."""


_IN_DOUBT = (ReadState.PARTIAL, ReadState.OUTDATED, ReadState.DELISTED)


class CertifiedDevice(Struct, frozen=True, gc=False):
    """A watched device with what its snapshot tells of certificates."""

    watch_id: int
    subject: str
    label: str
    certs: Sequence[SeenCertificate] | None
    searched: bool
    manufacturer_name: str
    manufacturer_srn: str
    read_at: int | None
    error: str
    status: str = ""
    """Its market status in words."""
    status_code: str = ""

    @property
    def listed_certs(self) -> Sequence[SeenCertificate]:
        """The certificates that the register lists for it, as far as they were read."""
        return listed_certificates(self.certs or ())

    @property
    def is_delisted(self) -> bool:
        """Whether the register said last that it does not have the device, of which certificates were read."""
        return self.error.startswith(NOT_REGISTERED) and self.certs is not None

    @property
    def state(self) -> ReadState:
        """What is known of its certificates."""
        if self.certs is None:
            if self.error.startswith(NOT_REGISTERED):
                return ReadState.UNKNOWN
            return ReadState.FAILED if self.error else ReadState.UNREAD
        if self.is_delisted:
            return ReadState.DELISTED
        if not self.searched:
            return ReadState.PARTIAL
        return ReadState.OUTDATED if self.error else ReadState.COMPLETE


class DeviceOfCertificate(Struct, frozen=True, gc=False):
    """A device that a certificate is listed with."""

    device: CertifiedDevice
    seen: SeenCertificate
    """As the snapshot of this device has it."""

    @property
    def is_unconfirmed(self) -> bool:
        """Whether only an earlier certificate search named it, and the last read could not search."""
        return self.seen.is_unconfirmed

    def shown(self, today: date) -> ShownCertificate:
        """The certificate with its state, as this device has it."""
        return shown_of(self.seen, today)


class CertificateReading(Struct, frozen=True, gc=False):
    """What the last reads of some devices told of a certificate, where those of others told something else."""

    shown: ShownCertificate
    devices: int
    read_at: int | None
    """When the last of them was read."""


@dataclass(slots=True)
class WatchedCertificate:
    """A certificate as the snapshots of its devices have it; where they differ, as it was read last."""

    seen: SeenCertificate
    today: date
    days: int | None
    """Until it ends, negative when it has; None without a date."""
    group: CertificateGroup
    """When it ends."""
    manufacturer_name: str
    manufacturer_srn: str
    devices: list[DeviceOfCertificate] = field(default_factory=list)

    @property
    def shown(self) -> ShownCertificate:
        """It with its state."""
        return shown_of(self.seen, self.today)

    @property
    def readings(self) -> Sequence[CertificateReading]:
        """What was read of it where devices have it differently, the last read first; empty where all have it alike."""
        found: dict[tuple[object, ...], list[DeviceOfCertificate]] = {}
        for each in sorted(self.devices, key=_read_last, reverse=True):
            found.setdefault(_told(each.seen), []).append(each)
        if len(found) < 2:
            return ()
        return [
            CertificateReading(shown_of(each[0].seen, self.today), len(each), each[0].device.read_at)
            for each in found.values()
        ]

    @property
    def is_read_at_once(self) -> bool:
        """Whether all its devices were read at the same time, so that their order explains no difference."""
        return len({each.device.read_at for each in self.devices}) == 1

    @property
    def unconfirmed(self) -> int:
        """For how many of its devices the last read could not confirm it."""
        return sum(each.is_unconfirmed for each in self.devices)

    @property
    def manufacturer(self) -> str:
        """What the filter calls its manufacturer."""
        return self.manufacturer_srn or self.manufacturer_name

    @property
    def order(self) -> Order:
        """Sorts certificates by their ends."""
        return self.order_of(self.days)

    def order_of(self, days: int | None) -> Order:
        """What sorts it by the days until it ends: first what ended lately and what ends next by date, then what has no
        date, then what ended long ago.
        """
        if days is None:
            return 1, 0, self.seen.number, self.manufacturer
        place = 0 if days >= -PAST_DAYS else 2
        return place, -days if place == 2 else days, self.seen.number, self.manufacturer

    def matches(self, words: Sequence[str]) -> bool:
        """Whether each word, in lower case, is in what is shown of it."""
        texts = [self.seen.number, self.seen.notified_body, self.manufacturer_name, self.manufacturer_srn]
        texts += [self.shown.words, self.shown.register_word]
        texts += [text for each in self.devices for text in (each.device.label, each.device.subject)]
        told = "\n".join(texts).casefold()
        return all(word in told for word in words)


class CertificateFilter(msgspec.Struct, frozen=True):
    """Which certificates are listed. What is empty does not restrict."""

    text: str = ""
    manufacturer: str = ""
    """An SRN, or the name of a manufacturer without one."""
    group: CertificateGroup | None = None
    in_six_months: bool = False
    """Only what ends within `AHEAD_DAYS`, whatever its group."""

    @property
    def groups(self) -> Collection[CertificateGroup]:
        """The groups that are listed."""
        return SIX_MONTHS if self.in_six_months else {self.group} if self.group else set(CertificateGroup)

    @property
    def words(self) -> Sequence[str]:
        """Words that all have to be in what is shown, in lower case."""
        return self.text.casefold().split()[:MAX_WORDS]


@dataclass(frozen=True)
class CertificateOverview:
    """The certificates that match a filter but for its group, and what is not known of the account's devices."""

    certificates: Sequence[WatchedCertificate]
    devices: Sequence[CertifiedDevice]
    """All watched devices, oldest watch first."""
    chosen: CertificateFilter
    today: date

    @cached_property
    def matching(self) -> Sequence[WatchedCertificate]:
        """Those that match all of the filter, the most urgent first."""
        groups = self.chosen.groups
        return sorted((each for each in self.certificates if each.group in groups), key=lambda each: each.order)

    @cached_property
    def of_devices(self) -> Sequence[tuple[WatchedCertificate, DeviceOfCertificate]]:
        """Each certificate of each device that matches the filter as this device has it, the most urgent first."""
        groups = self.chosen.groups
        found = [
            (certificate.order_of(days), listed.device.watch_id, certificate, listed)
            for certificate in self.certificates
            for listed in certificate.devices
            if group_of(days := days_left(listed.seen.ends, self.today)) in groups
        ]
        return [(certificate, listed) for *_, certificate, listed in sorted(found, key=lambda each: each[:2])]

    @cached_property
    def by_group(self) -> Mapping[CertificateGroup, int]:
        """How many there are in each group."""
        return Counter(each.group for each in self.certificates)

    @property
    def six_months(self) -> int:
        """How many end within `AHEAD_DAYS`."""
        return sum(self.by_group[group] for group in SIX_MONTHS)

    @cached_property
    def by_state(self) -> Mapping[ReadState, int]:
        """Of how many devices the certificates are known, and of how many they are not."""
        return Counter(device.state for device in self.devices)

    @cached_property
    def gaps(self) -> Sequence[CertifiedDevice]:
        """Devices that show no certificate, or may miss some: those that nobody could read first."""
        order = [ReadState.FAILED, ReadState.UNREAD, ReadState.UNKNOWN, *_IN_DOUBT, ReadState.COMPLETE]
        found = [each for each in self.devices if not each.listed_certs or each.state in _IN_DOUBT]
        return sorted(found, key=lambda each: order.index(each.state))

    @property
    def without(self) -> int:
        """Devices for which the register lists no certificate, all places read."""
        return sum(each.state is ReadState.COMPLETE and not each.listed_certs for each in self.devices)

    @property
    def oldest_read(self) -> int | None:
        """When the device was read whose last reading is the oldest; None where none was read."""
        return min((each.read_at for each in self.devices if each.read_at is not None), default=None)


class ManufacturerCertificates(msgspec.Struct, frozen=True):
    """How the certificates of one manufacturer are spread over the groups."""

    name: str
    srn: str
    counts: Mapping[CertificateGroup, int]
    standing: CertificateStanding
    total: int
    first_days: int | None
    """Until the next one ends; None where none will."""

    @property
    def key(self) -> str:
        """What the filter calls it."""
        return self.srn or self.name


def group_of(days: int | None) -> CertificateGroup:
    """The group of a certificate that ends in so many days; None is no date."""
    if days is None:
        return CertificateGroup.UNDATED
    return next((group for last, group in _LAST_DAYS if days <= last), CertificateGroup.LATER)


def overview(devices: Sequence[CertifiedDevice], chosen: CertificateFilter, today: date) -> CertificateOverview:
    """The certificates of the account's devices that match a filter but for its group."""
    found = _certificates(devices, today)
    if chosen.manufacturer:
        found = [each for each in found if each.manufacturer == chosen.manufacturer]
    words = chosen.words
    if words:
        found = [each for each in found if each.matches(words)]
    return CertificateOverview(found, devices, chosen, today)


def by_manufacturer(certificates: Iterable[WatchedCertificate]) -> Sequence[ManufacturerCertificates]:
    """The manufacturers of certificates: the one whose certificate ends next first."""
    found: dict[str, list[WatchedCertificate]] = {}
    for each in certificates:
        found.setdefault(each.manufacturer, []).append(each)
    rows = [_manufacturer(each) for each in found.values()]
    return sorted(rows, key=lambda row: (row.first_days is None, row.first_days or 0, row.name.casefold()))


def _certificates(devices: Sequence[CertifiedDevice], today: date) -> Sequence[WatchedCertificate]:
    """Every certificate once, with its devices, also where these have it differently."""
    found: dict[tuple[object, ...], WatchedCertificate] = {}
    ends: dict[str, tuple[int | None, CertificateGroup]] = {}
    for device in devices:
        for seen in shown_certificates(device.certs or ()):
            key = (*seen.identity, *_told(seen), device.manufacturer_srn)
            certificate = found.get(key)
            if certificate is None:
                if seen.ends not in ends:
                    days = days_left(seen.ends, today)
                    ends[seen.ends] = days, group_of(days)
                maker = device.manufacturer_name, device.manufacturer_srn
                certificate = found[key] = WatchedCertificate(seen, today, *ends[seen.ends], *maker)
            certificate.devices.append(DeviceOfCertificate(device, seen))
    return list(_each_once(found.values()))


def _told(seen: SeenCertificate) -> tuple[object, ...]:
    """What reads can have differently of one certificate. The same code of a status in other words is no difference."""
    return seen.ends, seen.status_code or seen.status, seen.is_gone


def _read_last(listed: DeviceOfCertificate) -> tuple[bool, int, int]:
    """Sorts devices by when they were read; those that the register still lists, and with them the certificate, are
    preferred.
    """
    is_listed = not (listed.seen.is_gone or listed.device.is_delisted)
    return is_listed, listed.device.read_at or 0, -listed.device.watch_id


@dataclass(slots=True)
class _Identity:
    """What devices that agree on revision and notified body have of one certificate: a row for each way in which it was
    read.
    """

    number: str
    revision: str
    notified_body: str
    rows: list[WatchedCertificate] = field(default_factory=list)

    @property
    def watch_ids(self) -> set[int]:
        """The watches of its devices."""
        return {each.device.watch_id for row in self.rows for each in row.devices}

    @property
    def ends(self) -> set[str]:
        """The end dates that devices have of it."""
        return {row.seen.ends for row in self.rows}


def _each_once(rows: Iterable[WatchedCertificate]) -> Iterator[WatchedCertificate]:
    """Certificates, of which those that differ in what can change are one, and so are those with the same ends that
    differ in a revision or notified body that the register does not give for each device. What one device lists twice
    is two, and so is what differs and has no number.
    """
    alike: dict[tuple[str, str], dict[tuple[str, str, str], _Identity]] = {}
    for row in rows:
        body, number, revision = row.seen.identity
        if not number:
            yield row
            continue
        identities = alike.setdefault((number, row.manufacturer_srn), {})
        identities.setdefault(row.seen.identity, _Identity(number, revision, body)).rows.append(row)
    for identities in alike.values():
        for known, same in same_together(identities.values(), _are_two):
            yield from _as_known(known, [row for each in same for row in each.rows])


def _are_two(one: _Identity, other: _Identity) -> bool:
    """Whether one device lists both, or they end on different days, as a certificate and its renewal do."""
    return one.ends != other.ends or not one.watch_ids.isdisjoint(other.watch_ids)


def _as_known(known: Identified, rows: Sequence[WatchedCertificate]) -> Iterator[WatchedCertificate]:
    """The one row of a certificate as it was read last; a row for each way in which it was read where one device lists
    it in two.
    """
    watch_ids = [each.device.watch_id for row in rows for each in row.devices]
    if len(watch_ids) == len(set(watch_ids)):
        yield _read_last_of(known, rows)
        return
    by_told: dict[tuple[object, ...], list[WatchedCertificate]] = {}
    for row in rows:
        by_told.setdefault(_told(row.seen), []).append(row)
    for same in by_told.values():
        yield _read_last_of(known, same)


def _read_last_of(known: Identified, rows: Sequence[WatchedCertificate]) -> WatchedCertificate:
    """Rows of one certificate as one, as it was read last."""
    if len(rows) == 1:
        return rows[0]
    last = max(rows, key=lambda each: (max(map(_read_last, each.devices))[:2], -each.shown.state.rank))
    devices = (device for each in rows for device in each.devices)
    last.devices = sorted(devices, key=lambda each: each.device.watch_id)
    last.seen = replace(last.seen, revision=known.revision, notified_body=known.notified_body)
    return last


def _manufacturer(certificates: Sequence[WatchedCertificate]) -> ManufacturerCertificates:
    ahead = [each.days for each in certificates if each.days is not None and each.days >= 0]
    return ManufacturerCertificates(
        certificates[0].manufacturer_name,
        certificates[0].manufacturer_srn,
        Counter(each.group for each in certificates),
        CertificateStanding([each.shown for each in certificates]),
        len(certificates),
        min(ahead, default=None),
    )
