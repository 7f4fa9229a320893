"""Steps that change the stand-in register, read it, and note in its journal what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import delete

from registerwatch.accounts.models import Caller
from registerwatch.copy.history.history_prune import HistoryPruner
from registerwatch.copy.tables import (
    actors,
    certificate_news,
    certificate_scopes,
    certificates,
    device_sweeps,
    devices,
    fills,
    portfolio_devices,
    portfolio_news,
    record_history,
    refusals,
    walks,
)
from registerwatch.platform.structs import replace
from registerwatch.watches import repository
from registerwatch.watches.tables import events, watches
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Certificate, CertificateListing, Registration
from tests.rest.register_journal import JournalWorld, Look, RegisterJournal
from tests.support.harness import ServiceHarness

UDIS = ("04099999999992", "04099999999985")
HOUR, DAY = 3600, 24 * 3600
KEPT, MAX_RECORDS = 3, 3
"""Changes of a subject that pruning leaves; records of a UDI-DI."""
EMPTIED = (
    actors, certificate_news, certificate_scopes, certificates, device_sweeps, devices, events, fills,
    portfolio_devices, portfolio_news, record_history, refusals, walks, watches,
)  # fmt: skip
VALUES: dict[str, Sequence[Any]] = {
    "status": ("on-the-market", "no-longer-on-the-market"),
    "status_date": ("2026-01-01", "2026-02-02", None),
    "reference": ("R-1", "R-2", None),
    "trade_names": ({"en": "Alpha"}, {"de": "Beta", "en": "Gamma"}, {"all": "Delta"}, None),
    "risk_class": ("class-i", "class-iia"),
    "model": ("M-1", None),
    "emdn": (("A01",), ("A01", "B02"), ()),
}
CHANGES = (*VALUES, "actor", "record", "listing", "own_certificates", "new_certificate", "certificate")
LOOKS = ("read_first", "read_second", "read_actor", "sweep", "list_certificates", "read_scopes", "load", "prune")


def own_basic_udi(uuid: str) -> str:
    """A Basic UDI-DI of one record alone, so that no read of another record brings anything of it."""
    return f"JOURNAL{UUID(uuid).int}"


@dataclass
class JournalSteps:
    """A service, the register that it reads, and the register's journal."""

    harness: ServiceHarness
    world: JournalWorld
    caller: Caller
    journal: RegisterJournal = field(init=False)
    manufacturer: str = ""
    is_pruned: bool = False
    began_at: int = 0
    ulids: set[str] = field(default_factory=set)

    async def begin(self) -> None:
        """Nothing is known, and two devices of a watched manufacturer are registered."""
        await self.harness.finish_background_work()
        self.harness.clock.move(DAY)
        self.world.begin()
        async with self.harness.database.transaction() as connection:
            for table in EMPTIED:
                await connection.execute(delete(table))
        like = next(each for each in self.world.newest(0, 24) if each.basic_udi and each.legislation == "mdr")
        self.manufacturer, self.is_pruned, self.began_at = like.manufacturer.srn, False, self.harness.now
        self.journal = RegisterJournal(self.world, manufacturer=self.manufacturer)
        self.ulids = set()
        for place, udi in enumerate(UDIS):
            uuid = str(UUID(int=place))
            self.world.register(
                replace(like, uuid=uuid, primary_di=udi, basic_udi=own_basic_udi(uuid), latest_version=True)
            )
        async with self.harness.database.transaction() as connection:
            new = repository.NewWatch(self.manufacturer)
            await repository.add(connection, self.caller.account.id, [new], self.harness.now)

    # What changes in the register

    def change(self, name: str, place: int) -> None:
        """Something changes in the register."""
        self.world.changes += 1
        records = [each for udi in UDIS for each in self.world.by_primary_di(udi)]
        if name in VALUES:
            if records:
                new = VALUES[name][place % len(VALUES[name])]
                self.world.change(records[place % len(records)].uuid, **{name: new})
        else:
            getattr(self, f"_{name}")(place, records)

    def _actor(self, place: int, _records: Sequence[Registration]) -> None:
        """The manufacturer has another name, or another status."""
        new = {"name": f"Name {place % 3}"} if place % 2 else {"status": ("active", "inactive")[place % 4 // 2]}
        self.world.change_actor(self.manufacturer, **new)

    def _record(self, place: int, records: Sequence[Registration]) -> None:
        """Another record of a UDI-DI comes, with which the one before is no latest version any more."""
        old = records[place % len(records)] if records else None
        if old is not None and len(self.world.by_primary_di(old.primary_di)) < MAX_RECORDS:
            uuid = str(UUID(int=100 + self.world.changes))
            new = replace(old, uuid=uuid, basic_udi=own_basic_udi(uuid), reference=f"N-{place}", version_number=1)
            self.world.register(new)
            self.world.change(old.uuid, latest_version=False, new_version=False)

    def _listing(self, place: int, records: Sequence[Registration]) -> None:
        """Records are taken off the lists, or come back."""
        if self.world.unlisted and place % 2:
            self.world.unlisted.pop()
        elif records:
            self.world.unlisted.add(records[place % len(records)].uuid)

    def _own_certificates(self, place: int, records: Sequence[Registration]) -> None:
        """The certificates change that a record lists itself."""
        if records:
            own = [certificate(number, place) for number in range(place % 3)]
            record = records[place % len(records)]
            searched = [each for each in record.certificates if each.listed_in == "certificate-search"]
            self.world.change(record.uuid, certificates=(*own, *searched))

    def _new_certificate(self, place: int, records: Sequence[Registration]) -> None:
        basic_udis = [each.basic_udi for each in records if each.basic_udi][:1]
        self.world.list_certificate(self.manufacturer, basic_udis=basic_udis, number=f"Z-{place % 4}")

    def _certificate(self, place: int, _records: Sequence[Registration]) -> None:
        """A certificate of the manufacturer is revised, suspended, extended, or goes."""
        rows = self._certificates_of_manufacturer()
        if rows:
            row = rows[place % len(rows)]
            what = place // 2 % 4
            if what == 0:
                self.world.change_certificate(row.uuid, status=("suspended", "issued", "withdrawn")[place % 3])
            elif what == 1:
                self.world.change_certificate(row.uuid, expiry=(None, "2031-01-01")[place % 2])
            elif what == 2:
                self.world.change_certificate(row.uuid, revision=f"Rev. {place}")
            else:
                self.world.unlist_certificate(row.uuid)

    def _certificates_of_manufacturer(self) -> list[CertificateListing]:
        wanted = CertificateFilter(actor_srn=self.manufacturer)
        return [each for each in self.world.search_certificates(wanted, 0, 100)[1] if each.latest_version]

    # What is read

    async def look(self, name: str) -> None:
        """Something is read, or pruned. What changes later has another time."""
        await getattr(self, f"_{name}")()
        self.world.changes += 1

    async def _read(self, udi: str) -> None:
        self._note([udi], Look.FULL)
        await self.harness.service.refresher.refresh(udi)

    async def _read_first(self) -> None:
        await self._read(UDIS[0])

    async def _read_second(self) -> None:
        await self._read(UDIS[1])

    async def _read_actor(self) -> None:
        self.journal.note(self.manufacturer, self.harness.now, Look.FULL)
        self._note(UDIS, Look.ROWS)
        await self.harness.service.refresher.refresh(self.manufacturer)

    async def _sweep(self) -> None:
        """A run for the manufacturer, if it is due."""
        await self.harness.service.device_sweep.refresh_queue()
        at, moment = self.harness.now, self.world.moment()
        run = await self.harness.service.device_sweep.run_next()
        assert (self.harness.now, self.world.moment()) == (at, moment)
        if run is not None:
            assert run.problem == ""
            self._note(UDIS, Look.SWEEP)

    async def _list_certificates(self) -> None:
        result = await self.harness.service.certificate_sweep.run_where_due(0)
        assert result is not None
        assert result.problem == ""
        self._note_list(Look.FULL)

    async def _read_scopes(self) -> None:
        await self.harness.service.certificate_sweep.read_due_scopes()
        self._note_list(Look.SWEEP)

    async def _load(self) -> None:
        self._note(UDIS, Look.BULK)
        service = self.harness.service
        await service.bulk_loader.load(service.bulk_source("datalake"), lambda _progress: None)

    async def _prune(self) -> None:
        self.is_pruned = True
        await HistoryPruner(self.harness.database, max_changes=KEPT, chunk=4).prune()

    def _note(self, udis: Sequence[str], look: Look) -> None:
        for udi in udis:
            self.journal.note(udi, self.harness.now, look)
        named = Look.ROWS if look is Look.FULL else look
        if named is not Look.ROWS or any(self.journal.seen[udi][-1].uuids for udi in udis):
            self.journal.note(self.manufacturer, self.harness.now, named)

    def _note_list(self, look: Look) -> None:
        rows = self.world.search_certificates(CertificateFilter(), 0, 1000)[1]
        self.ulids |= {each.ulid for each in rows} if look is Look.FULL else set()
        self.journal.note_list(self.harness.now, look, [each.ulid for each in rows])


def certificate(number: int, place: int) -> Certificate:
    """A certificate that a record lists itself."""
    return Certificate(
        number=f"D-{number}",
        revision=(None, "01")[place % 2],
        expiry=("2030-01-01", "2031-01-01", None)[place % 3],
        starting_validity=None,
        issue_date=None,
        notified_body="0123",
        notified_body_name="A notified body",
        type="MDD_II_EX_4",
        status=("issued", "suspended")[place // 3 % 2],
        listed_in="basic-udi-record",
    )
