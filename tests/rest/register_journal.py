"""What the stand-in register said of a device and of a manufacturer whenever it was looked at, by its own journal.

A look shows a record in full, or a part of it. Where it is not certain that the service believes a part, or reads more
than was asked for, a field has several possible values until the next look in full.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from registerwatch.platform.structs import replace
from registerwatch.register.codes import (
    CERTIFICATE_STATUS_PREFIX,
    LEGISLATION_PREFIX,
    RISK_PREFIX,
    STATUS_PREFIX,
    label,
)
from registerwatch.register.times import utc_from_brussels
from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import BRUSSELS, Certificate, Party, Registration
from tests.journeys.register_reads import answering
from tests.support.fakes import SteppedClock

Fields = dict[str, Any]
CertificateFields = tuple[str, str, str | None, str]
"""Number, revision, expiry, status."""

OF_ROWS = (
    "trade_name",
    "manufacturer_name",
    "manufacturer_status_code",
    "status_code",
    "risk_class_code",
    "reference",
    "version",
)
OF_BULK = (
    "trade_name",
    "manufacturer_name",
    "status_code",
    "risk_class_code",
    "reference",
    "version",
    "legislation_code",
    "device_name",
    "device_model",
    "emdn",
)
CERTIFICATES = 6
"""Of all manufacturers when an example begins."""


class Look(StrEnum):
    """How much of a UDI-DI is seen."""

    FULL = "full"
    """The search, and the record that answers with all its parts."""
    ROWS = "rows"
    """Rows of the search."""
    SWEEP = "sweep"
    """The same, and whatever the service reads then."""
    BULK = "bulk"
    """Rows of the Data Lake, which nobody has to believe."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: when by the service's clock, and by the register's. `total` is how many devices a manufacturer has."""

    at: int
    moment: datetime
    look: Look
    uuids: Collection[str] = ()
    total: int = 0


@dataclass
class KnownRecord:
    """Possible values of what the service knows of a record."""

    fields: dict[str, list[Any]] = field(default_factory=dict)
    is_listed: set[bool] = field(default_factory=lambda: {True})
    is_full: bool = False
    may_be_full: bool = False
    dated: set[str] = field(default_factory=set)
    """Market statuses of which a full read may have brought the date."""

    def see(self, said: Fields, names: Iterable[str], *, is_certain: bool) -> None:
        """Some fields are seen. Of a part, an empty one says nothing; and a row has no date of a status and of a
        version that it shows first.
        """
        new = {name for name in ("status_code", "version") if said[name] not in self.fields.get(name, [said[name]])}
        for name, date in (("status_code", "status_date"), ("version", "updated")):
            if name in new and date in self.fields and date not in names:
                keeps = not is_certain or (name == "status_code" and said[name] in self.dated)
                self.fields[date] = [None, *(self.fields[date] if keeps else [])]
        for name in names:
            before = self.fields.get(name, [])
            if is_certain and (said[name] not in ("", None) or not before):
                self.fields[name] = [said[name]]
            elif said[name] not in before:
                self.fields[name] = [*before, said[name]]


@dataclass
class KnownDevice:
    """What the service knows of a UDI-DI."""

    records: dict[str, KnownRecord] = field(default_factory=dict)
    answering: set[str] = field(default_factory=set)


class JournalWorld(GeneratedWorld):
    """A register that can begin anew, takes records off its lists, and has the time of the service."""

    def __init__(self) -> None:
        self.service_clock = SteppedClock(0)
        self.changes = 0
        self.unlisted: set[str] = set()
        super().__init__(24, 7, certificates=CERTIFICATES, clock=self.moment)

    def begin(self) -> None:
        """Forget every change."""
        super().__init__(24, 7, certificates=CERTIFICATES, clock=self.moment)
        self.unlisted = set()

    def moment(self) -> datetime:
        """The register's time, in which no two changes have the same place."""
        now = datetime.fromtimestamp(int(self.service_clock.now()), BRUSSELS).replace(tzinfo=None)
        return now + timedelta(milliseconds=self.changes)

    def everything(self, wanted: DeviceFilter) -> list[Registration]:
        """The records that pass, listed or not, as the Data Lake has them."""
        return super().search(wanted, 0, 1000)[1]

    def search(self, wanted: DeviceFilter, offset: int, limit: int) -> tuple[int, list[Registration]]:
        """A page without what is unlisted. Everything is on one page."""
        records = [each for each in self.everything(wanted) if each.uuid not in self.unlisted]
        return len(records), records[offset : offset + limit]


@dataclass
class RegisterJournal:
    """Looks at subjects, and what the register's journal has of those moments."""

    world: JournalWorld
    manufacturer: str
    seen: dict[str, list[Seen]] = field(default_factory=dict)
    lists: list[Seen] = field(default_factory=list)
    """Looks at the list of certificates."""

    def note(self, subject: str, at: int, look: Look) -> None:
        """A subject is looked at now."""
        is_actor = subject == self.manufacturer
        wanted = DeviceFilter(srn=subject) if is_actor else DeviceFilter(primary_di=subject)
        total, records = self.world.search(wanted, 0, 1000)
        if look is Look.BULK:
            records = self.world.everything(wanted)
        uuids = [each.uuid for each in records]
        self.seen.setdefault(subject, []).append(Seen(at, self.world.moment(), look, uuids, total))

    def instants(self, began_at: int) -> list[int]:
        """Instants at which something was looked at, some before them, and one before all of them."""
        looks = sorted({each.at for seen in self.seen.values() for each in seen})
        return sorted({began_at - 1, *looks, *(each - 1 for each in looks[::3])})

    def before(self, subject: str, at: int) -> Sequence[Seen]:
        """Looks at a subject until an instant, the last one last."""
        return [each for each in self.seen.get(subject, ()) if each.at <= at]

    def device(self, udi: str, at: int) -> KnownDevice:
        """What the service knew of a UDI-DI at an instant."""
        known = KnownDevice()
        for seen in self.before(udi, at):
            self._add(known, seen)
        return known

    def _add(self, known: KnownDevice, seen: Seen) -> None:
        said = {uuid: self.record(uuid, seen.moment) for uuid in seen.uuids}
        for uuid, record in said.items():
            each = known.records.setdefault(uuid, KnownRecord())
            names = OF_BULK if seen.look is Look.BULK else OF_ROWS
            each.see(device_fields(record), names, is_certain=seen.look is not Look.BULK)
            each.is_listed = each.is_listed | {True} if seen.look is Look.BULK else {True}
        current = answering(list(said.values())).uuid if said else ""
        if seen.look is Look.FULL:
            known.answering = {current} if current else known.answering
            self._add_full(known, said, current)
        else:
            known.answering = set(known.records)
        for uuid, each in known.records.items():
            if uuid not in said and seen.look in (Look.FULL, Look.SWEEP):
                each.is_listed = {False} if seen.look is Look.FULL else each.is_listed | {False}
            if seen.look is Look.SWEEP and uuid in said:
                each.see(device_fields(said[uuid]), device_fields(said[uuid]), is_certain=False)
                each.may_be_full = True
                each.dated |= set(each.fields["status_code"])

    def _add_full(self, known: KnownDevice, said: Mapping[str, Registration], current: str) -> None:
        if current:
            record = known.records[current]
            record.fields = {name: [value] for name, value in device_fields(said[current]).items()}
            record.is_full = True
            record.dated = {record.fields["status_code"][0]}

    def record(self, uuid: str, moment: datetime) -> Registration:
        """A record as it stood at a moment, with the names of then."""
        present = self.world.by_uuid(uuid)
        past = present and self.world.as_of(present, moment)
        assert past is not None, "it was listed then"
        return replace(past, manufacturer=self.party(past.manufacturer.srn, moment))

    def party(self, srn: str, moment: datetime) -> Party:
        """The manufacturer as records named it at a moment."""
        actor = self.world.actor_as_of(srn, moment)
        assert actor is not None
        return actor.party

    def actor(self, at: int) -> dict[str, list[Any]]:
        """Possible values of what the service knew of the manufacturer at an instant; none where it knew nothing."""
        known: dict[str, list[Any]] = {}
        for seen in self.before(self.manufacturer, at):
            said = self._actor_fields(seen)
            if not known or seen.look is Look.FULL:
                known = {name: [value] for name, value in said.items()}
            elif seen.look is Look.SWEEP or True not in known["complete"] or len(known["complete"]) > 1:
                known = {name: [*values, said[name]] for name, values in known.items()}
        return known

    def _actor_fields(self, seen: Seen) -> Fields:
        """The manufacturer as it is read itself, or as devices name it."""
        actor = self.world.actor_as_of(self.manufacturer, seen.moment)
        assert actor is not None
        is_full = seen.look in (Look.FULL, Look.SWEEP)
        return {
            "name": actor.name,
            "country": actor.country,
            "manufacturer_status_code": f"refdata.actor-status.{actor.status}",
            "device_total": seen.total if is_full else None,
            "complete": is_full,
        }

    # Certificates

    def note_list(self, at: int, look: Look, ulids: Collection[str]) -> None:
        """The list of certificates is read now, or only scopes of some of them."""
        self.lists.append(Seen(at, self.world.moment(), look, ulids))

    def lists_before(self, at: int) -> Sequence[Seen]:
        """Looks at the list of certificates, or at scopes, until an instant."""
        return [each for each in self.lists if each.at <= at]

    def certificate_states(self, ulid: str) -> Iterator[tuple[int, dict[str, str]]]:
        """What a certificate was when the list was read last until an instant, from the first reading that had it."""
        states: dict[int, dict[str, str]] = {}
        known: dict[str, str] = {}
        for seen in self.lists:
            if seen.look is not Look.FULL:
                continue
            row = self.world.certificate_as_of(ulid, seen.moment)
            known = known if row is None else listed_fields(row.certificate)
            if known:
                states[seen.at] = {**known, "listed": "No" if row is None else "Yes"}
        yield from states.items()

    def shows_in_full(self, seen: Seen, uuid: str) -> bool:
        """Whether a look shows this record with all its parts."""
        if seen.look is not Look.FULL or uuid not in seen.uuids:
            return False
        return answering([self.record(each, seen.moment) for each in seen.uuids]).uuid == uuid

    def certificates(self, uuid: str, moment: datetime, list_moment: datetime | None = None) -> set[CertificateFields]:
        """The certificates that the register named for a record at a moment; those of its search of another moment."""
        record = self.record(uuid, moment)
        own = [each for each in record.certificates if each.listed_in == "basic-udi-record"]
        wanted = CertificateFilter(basic_udi=record.basic_udi)
        found = self.world.certificates_as_of(wanted, list_moment or moment) if record.basic_udi else []
        return set(map(certificate_fields, [*own, *(each.certificate for each in found)]))


def device_fields(record: Registration) -> Fields:
    """Fields of a record as the service names them."""
    names = record.trade_names or {}
    return {
        "trade_name": record.trade_name or "",
        "trade_names": {"" if language == "all" else language: name for language, name in names.items()},
        "manufacturer_name": record.manufacturer.name,
        "manufacturer_srn": record.manufacturer.srn,
        "manufacturer_status_code": f"refdata.actor-status.{record.manufacturer.status}",
        "status_code": STATUS_PREFIX + record.status,
        "status_date": record.status_date,
        "risk_class_code": RISK_PREFIX + record.risk_class,
        "basic_udi": record.basic_udi or "",
        "legislation_code": LEGISLATION_PREFIX + record.legislation,
        "reference": record.reference or "",
        "version": record.version_number,
        "updated": utc_from_brussels(max(record.version_date, record.last_updated)),
        "device_name": record.device_name or "",
        "device_model": record.model or "",
        "emdn": list(record.emdn),
    }


def listed_fields(certificate: Certificate) -> dict[str, str]:
    """A certificate of the list as the service words it."""
    return {
        "number": certificate.number,
        "revision": certificate.revision or "",
        "expiry": certificate.expiry or "",
        "status": label(CERTIFICATE_STATUS_PREFIX + certificate.status),
    }


def certificate_fields(certificate: Certificate) -> CertificateFields:
    """What tells a certificate and its states apart."""
    return certificate.number, certificate.revision or "", certificate.expiry, certificate.status
