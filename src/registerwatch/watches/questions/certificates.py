"""The certificates of the watched devices, from their snapshots: when each ends, and which were never read. Pure.

Devices often share a certificate, so one is listed once with its devices. Dates are days without a time zone;
"today" is the reader's day.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property

import msgspec
from msgspec import Struct

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import Identified, same_together
from registerwatch.register.certificate_states import ShownCertificate, days_left
from registerwatch.register.standing import CertificateStanding
from registerwatch.watches.models import NOT_REGISTERED
from registerwatch.watches.questions.expiring_certificates import AHEAD_DAYS, PAST_DAYS
from registerwatch.watches.snapshot import SeenCertificate, shown_certificates
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
"""The groups of ends within `AHEAD_DAYS`."""


_LAST_DAYS = (
    (-1, CertificateGroup.ENDED),
    (30, CertificateGroup.WITHIN_30),
    (90, CertificateGroup.WITHIN_90),
    (AHEAD_DAYS, CertificateGroup.WITHIN_180),
)


class ReadState(StrEnum):
    """What is known of the certificates of a device."""

    COMPLETE = "complete"
    """The last read covered every source of certificates."""
    OUTDATED = "outdated"
    """Every source was read once; the last read failed, or did not cover all of them."""
    DELISTED = "delisted"
    """The register listed the device once, and lists it no more."""
    UNKNOWN = "unknown"
    """The register never had such a device when asked."""
    PARTIAL = "partial"
    """Not every source was ever read, so there may be more."""
    UNREAD = "unread"
    """Certificates were never read."""
    FAILED = "failed"
    """The last read failed, and there was none before."""


_IN_DOUBT = (ReadState.PARTIAL, ReadState.OUTDATED, ReadState.DELISTED)


class CertifiedDevice(Struct, frozen=True, gc=False):
    """A watched device with the certificates of its snapshot."""

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
    was_read: bool = True
    """Whether it has a baseline, even one without certificates."""

    @property
    def listed_certs(self) -> Sequence[SeenCertificate]:
        """The certificates that the register lists for it, also in another record of it, as far as they were read."""
        return [each for each in self.certs or () if not each.is_gone]

    @property
    def is_delisted(self) -> bool:
        """Whether the register listed the device once, and lists it no more."""
        return self.error.startswith(NOT_REGISTERED) and self.was_read

    @property
    def state(self) -> ReadState:
        """What is known of its certificates."""
        if self.error.startswith(NOT_REGISTERED):
            return ReadState.DELISTED if self.was_read else ReadState.UNKNOWN
        if self.certs is None:
            return ReadState.FAILED if self.error else ReadState.UNREAD
        if not self.searched:
            return ReadState.PARTIAL
        return ReadState.OUTDATED if self.error else ReadState.COMPLETE


class DeviceOfCertificate(Struct, frozen=True, gc=False):
    """A device that a certificate is listed with."""

    device: CertifiedDevice
    seen: SeenCertificate
    """The certificate in this device's snapshot."""

    @property
    def is_unconfirmed(self) -> bool:
        """Whether only an earlier certificate search named it, and the last read could not search."""
        return self.seen.is_unconfirmed

    @property
    def other_as_of(self) -> str | None:
        """When another record of the UDI-DI than the one that answers for it was read, where that names it."""
        return iso_utc(self.seen.other_as_of) if self.seen.other_as_of else None

    @property
    def read_at(self) -> int | None:
        """When it was read of this device; that of another record of the UDI-DI with that record."""
        return self.seen.other_as_of or self.device.read_at

    def shown(self, today: date) -> ShownCertificate:
        """The certificate with its state, as this device has it."""
        return shown_of(self.seen, today)


class CertificateReading(Struct, frozen=True, gc=False):
    """One of several versions of a certificate, for the devices whose last reads had it like this."""

    shown: ShownCertificate
    devices: int
    read_at: int | None
    """When the device read last was read."""


@dataclass(slots=True)
class WatchedCertificate:
    """A certificate from the snapshots of its devices; if they differ, as it was read last."""

    seen: SeenCertificate
    today: date
    days: int | None
    """Days until it ends, negative if it has ended; None without a date."""
    group: CertificateGroup
    """When it ends."""
    manufacturer_name: str
    manufacturer_srn: str
    devices: list[DeviceOfCertificate] = field(default_factory=list)

    @property
    def shown(self) -> ShownCertificate:
        """The certificate with its state."""
        return shown_of(self.seen, self.today)

    @property
    def readings(self) -> Sequence[CertificateReading]:
        """Its versions if devices have it differently, the last read first; empty if all have it alike."""
        found: dict[tuple[object, ...], list[DeviceOfCertificate]] = {}
        for each in sorted(self.devices, key=_read_last, reverse=True):
            found.setdefault(_changing(each.seen), []).append(each)
        if len(found) < 2:
            return ()
        return [
            CertificateReading(shown_of(each[0].seen, self.today), len(each), each[0].read_at)
            for each in found.values()
        ]

    @property
    def is_read_at_once(self) -> bool:
        """Whether all its devices were read at the same time, so the order of reads cannot explain differences."""
        return len({each.read_at for each in self.devices}) == 1

    @property
    def unconfirmed(self) -> int:
        """The number of its devices whose last read could not confirm it."""
        return sum(each.is_unconfirmed for each in self.devices)

    @property
    def other_as_of(self) -> str | None:
        """When another record of one of its devices was last read, where only such records name it."""
        found = [each.other_as_of for each in self.devices]
        return max(each for each in found if each) if all(found) else None

    @property
    def manufacturer(self) -> str:
        """The filter's key of its manufacturer."""
        return self.manufacturer_srn or self.manufacturer_name

    @property
    def order(self) -> Order:
        """Sorts certificates by their ends."""
        return self.order_of(self.days)

    def order_of(self, days: int | None) -> Order:
        """The sort key by days until it ends: recent and coming ends by date, then no date, then ends long ago."""
        if days is None:
            return 1, 0, self.seen.number, self.manufacturer
        rank = 0 if days >= -PAST_DAYS else 2
        return rank, -days if rank == 2 else days, self.seen.number, self.manufacturer

    def matches(self, words: Sequence[str]) -> bool:
        """Whether its shown texts contain each word; words are in lower case."""
        texts = [self.seen.number, self.seen.notified_body, self.manufacturer_name, self.manufacturer_srn]
        texts += [self.shown.words, self.shown.register_word]
        texts += [text for each in self.devices for text in (each.device.label, each.device.subject)]
        searched = "\n".join(texts).casefold()
        return all(word in searched for word in words)


class CertificateFilter(msgspec.Struct, frozen=True):
    """Which certificates are listed. An empty field does not restrict."""

    text: str = ""
    manufacturer: str = ""
    """An SRN, or the name of a manufacturer without one."""
    group: CertificateGroup | None = None
    in_six_months: bool = False
    """Only ends within `AHEAD_DAYS`, in any group."""

    @property
    def groups(self) -> Collection[CertificateGroup]:
        """The groups that are listed."""
        return SIX_MONTHS if self.in_six_months else {self.group} if self.group else set(CertificateGroup)

    @property
    def words(self) -> Sequence[str]:
        """Words, in lower case, that must all be in the shown texts."""
        return self.text.casefold().split()[:MAX_WORDS]


@dataclass(frozen=True)
class CertificateOverview:
    """The certificates that match a filter, its group ignored, and the devices without known certificates."""

    certificates: Sequence[WatchedCertificate]
    devices: Sequence[CertifiedDevice]
    """All watched devices, oldest watch first."""
    chosen: CertificateFilter
    today: date

    @cached_property
    def matching(self) -> Sequence[WatchedCertificate]:
        """Certificates that match the whole filter, the most urgent first."""
        groups = self.chosen.groups
        return sorted((each for each in self.certificates if each.group in groups), key=lambda each: each.order)

    @cached_property
    def of_devices(self) -> Sequence[tuple[WatchedCertificate, DeviceOfCertificate]]:
        """The certificates per device, as that device has them, that match the filter, the most urgent first."""
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
        """The number of devices in each read state."""
        return Counter(device.state for device in self.devices)

    @cached_property
    def gaps(self) -> Sequence[CertifiedDevice]:
        """Devices that show no certificate, or may miss some; those that could not be read first."""
        order = [ReadState.FAILED, ReadState.UNREAD, ReadState.UNKNOWN, *_IN_DOUBT, ReadState.COMPLETE]
        found = [each for each in self.devices if not each.listed_certs or each.state in _IN_DOUBT]
        return sorted(found, key=lambda each: order.index(each.state))

    @property
    def without(self) -> int:
        """Devices without certificates in the register, with all sources read."""
        return sum(each.state is ReadState.COMPLETE and not each.listed_certs for each in self.devices)

    @property
    def oldest_read(self) -> int | None:
        """The oldest last read of a device; None if no device was read."""
        return min((each.read_at for each in self.devices if each.read_at is not None), default=None)


class ManufacturerCertificates(msgspec.Struct, frozen=True):
    """How the certificates of one manufacturer are spread over the groups."""

    name: str
    srn: str
    counts: Mapping[CertificateGroup, int]
    standing: CertificateStanding
    total: int
    first_days: int | None
    """Days until the next certificate ends; None if none will."""

    @property
    def key(self) -> str:
        """The filter's key of it."""
        return self.srn or self.name


def group_of(days: int | None) -> CertificateGroup:
    """The group of a certificate that ends in `days`; None is no date."""
    if days is None:
        return CertificateGroup.UNDATED
    return next((group for last, group in _LAST_DAYS if days <= last), CertificateGroup.LATER)


def overview(devices: Sequence[CertifiedDevice], chosen: CertificateFilter, today: date) -> CertificateOverview:
    """The certificates of the account's devices that match a filter, its group ignored."""
    found = _certificates(devices, today)
    if chosen.manufacturer:
        found = [each for each in found if each.manufacturer == chosen.manufacturer]
    words = chosen.words
    if words:
        found = [each for each in found if each.matches(words)]
    return CertificateOverview(found, devices, chosen, today)


def by_manufacturer(certificates: Iterable[WatchedCertificate]) -> Sequence[ManufacturerCertificates]:
    """The manufacturers of certificates, in the order of their next ends."""
    found: dict[str, list[WatchedCertificate]] = {}
    for each in certificates:
        found.setdefault(each.manufacturer, []).append(each)
    rows = [_manufacturer(each) for each in found.values()]
    return sorted(rows, key=lambda row: (row.first_days is None, row.first_days or 0, row.name.casefold()))


def _certificates(devices: Sequence[CertifiedDevice], today: date) -> Sequence[WatchedCertificate]:
    """Every certificate once with its devices, even if these have it differently."""
    found: dict[tuple[object, ...], WatchedCertificate] = {}
    ends: dict[str, tuple[int | None, CertificateGroup]] = {}
    for device in devices:
        for seen in shown_certificates(device.certs or ()):
            key = (*seen.identity, *_changing(seen), device.manufacturer_srn)
            certificate = found.get(key)
            if certificate is None:
                if seen.ends not in ends:
                    days = days_left(seen.ends, today)
                    ends[seen.ends] = days, group_of(days)
                maker = device.manufacturer_name, device.manufacturer_srn
                certificate = found[key] = WatchedCertificate(seen, today, *ends[seen.ends], *maker)
            certificate.devices.append(DeviceOfCertificate(device, seen))
    return list(_each_once(found.values()))


def _changing(seen: SeenCertificate) -> tuple[object, ...]:
    """The values in which reads of one certificate can differ. A status is compared by its code, not its text."""
    return seen.ends, seen.status_code or seen.status, seen.is_gone


def _read_last(listed: DeviceOfCertificate) -> tuple[bool, int, int]:
    """The sort key by read time; devices and certificates that the register still lists are preferred."""
    is_listed = not (listed.seen.is_gone or listed.seen.other_as_of or listed.device.is_delisted)
    return is_listed, listed.read_at or 0, -listed.device.watch_id


@dataclass(slots=True)
class _Identity:
    """One certificate of devices that agree on its revision and notified body: a row for each version."""

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
        """Its end dates in the devices."""
        return {row.seen.ends for row in self.rows}


def _each_once(rows: Iterable[WatchedCertificate]) -> Iterator[WatchedCertificate]:
    """Merge rows of the same certificate. Rows that differ only in values that can change are one certificate. So are
    rows with the same ends, if one lacks the revision or notified body. Two rows stay two if one device lists both, or
    if they differ and have no number.
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
    """Whether one device lists both, or their ends differ, as those of a certificate and its renewal do."""
    return one.ends != other.ends or not one.watch_ids.isdisjoint(other.watch_ids)


def _as_known(known: Identified, rows: Sequence[WatchedCertificate]) -> Iterator[WatchedCertificate]:
    """The one row of a certificate as it was read last; a row for each version if one device lists two of them."""
    watch_ids = [each.device.watch_id for row in rows for each in row.devices]
    if len(watch_ids) == len(set(watch_ids)):
        yield _read_last_of(known, rows)
        return
    versions: dict[tuple[object, ...], list[WatchedCertificate]] = {}
    for row in rows:
        versions.setdefault(_changing(row.seen), []).append(row)
    for same in versions.values():
        yield _read_last_of(known, same)


def _read_last_of(known: Identified, rows: Sequence[WatchedCertificate]) -> WatchedCertificate:
    """Merge rows of one certificate; the last read decides."""
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
