"""`python -m bench.sharing`: a round of the recheck where devices share Basic UDI-DI records as real ones do.

Simulated time. Ten thousand devices of five hundred manufacturers are watched by five accounts, in no order. Which
devices share a Basic UDI-DI is taken from a file of real records, which is no part of this repository: manufacturers
are drawn from it again and again, each time under other names. The recheck reads fifteen watches every ten minutes.
"""

import asyncio
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import httpx2
import msgspec
import typer
from sqlalchemy import text
from typer import Option

from bench.figures import percentile
from bench.setup import say, timed
from bench.simulation import SimulatedClock, SlowTransport
from registerwatch.accounts import repository as accounts
from registerwatch.accounts.plans import PlanName
from registerwatch.bootstrap import Service, build_service
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.models import from_document
from registerwatch.settings import Settings
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, label_of, snapshot_of_device
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.file_world import FileArchive
from registerwatch_standins.register.record_file import read_records
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World

RECORDS = Path(__file__).parents[2] / "shared" / "records" / "devices.jsonl.gz"
MANUFACTURERS, WATCHES, PER_MINUTE = 500, 10_000, 20
ACCOUNT_WATCHES = 2_000
RUN_SECONDS = 600.0
UNLIMITED = 100_000
BASIC = "/basicUdiData/udiDiData/"
SAMPLES = 20_000


class SharedRegister:
    """A register of manufacturers that were drawn from a file, and the devices of them that are watched."""

    def __init__(self, records: Path, manufacturers: int, watches: int, clock: SimulatedClock, seed: int) -> None:
        rng = random.Random(f"sharing {seed}")
        by_srn = defaultdict[str, list[Registration]](list)
        for record in read_records(records):
            by_srn[record.manufacturer.srn].append(record)
        drawn = rng.choices(list(by_srn.values()), k=manufacturers)
        made = [_renamed(record, number) for number, group in enumerate(drawn) for record in group]
        self.world = World(FileArchive(made), clock=clock.brussels)
        udis = sorted({record.primary_di for record in made})
        self.watched = rng.sample(udis, min(watches, len(udis)))
        watched = set(self.watched)
        self.records = [record for record in made if record.primary_di in watched]

    @property
    def keys(self) -> dict[str, str]:
        """What stands for the Basic UDI-DI record of each watched record, by uuid."""
        return {record.uuid: record.basic_udi or record.uuid for record in self.records}


def _renamed(record: Registration, number: int) -> Registration:
    """A record of the manufacturer that was drawn as the `number`-th."""
    srn = f"{record.manufacturer.srn[:6]}{number:09d}"
    uuid = f"{number:08x}{record.uuid[8:]}"
    basic_udi = f"{record.basic_udi[:18]}-{number}" if record.basic_udi else None
    manufacturer = msgspec.structs.replace(record.manufacturer, srn=srn)
    changed = {"uuid": uuid, "basic_udi": basic_udi, "manufacturer": manufacturer}
    return msgspec.structs.replace(record, primary_di=f"{record.primary_di[:14]}{number:04d}", **changed)


class LoggingTransport(httpx2.AsyncBaseTransport):
    """Notes when each request was sent."""

    def __init__(self, inner: SlowTransport, clock: SimulatedClock) -> None:
        self._inner, self._clock = inner, clock
        self.sent: list[tuple[float, str]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        self.sent.append((self._clock.now(), request.url.path))
        return await self._inner.handle_async_request(request)


@asynccontextmanager
async def _service(
    folder: Path, register: SharedRegister, clock: SimulatedClock, per_minute: int
) -> AsyncIterator[tuple[Service, LoggingTransport]]:
    """The service over the register, at a pace."""
    stand_in = InProcessTransport(create_app(register.world))
    transport = LoggingTransport(SlowTransport(stand_in, clock, lambda: None), clock)
    settings = Settings(
        database_url=f"sqlite:///{folder / 'sharing.db'}",
        data_dir=folder,
        register_url="http://register.example/eudamed",
        register_requests_per_minute=per_minute,
    )
    service = build_service(settings, clock=clock, transport=transport)
    await upgrade(service.database)
    try:
        yield service, transport
    finally:
        await service.close()


async def _watch(service: Service, udis: Sequence[str], now: int) -> None:
    """Watches of devices that were just read."""
    new = []
    for start in range(0, len(udis), 25):
        for udi, stored in (await service.documents.devices(udis[start : start + 25])).items():
            device = from_document(stored.document)
            snapshot = snapshot_of_device(device, certificates_read=True, searched=True)
            new.append(
                NewWatch(
                    udi,
                    label_of(snapshot, udi),
                    encoded(snapshot),
                    now,
                    manufacturer_srn=device.manufacturer_srn,
                    basic_udi=device.basic_udi,
                )
            )
    async with service.database.transaction() as connection:
        for start in range(0, len(new), ACCOUNT_WATCHES):
            account = await accounts.add_account(
                connection,
                email=f"{start}@example.org",
                name="Example",
                plan=PlanName.OPERATOR,
                expires_at=now + 10**8,
                now=now,
            )
            await repository.add(connection, account.id, new[start : start + ACCOUNT_WATCHES], now)
        await connection.execute(text("UPDATE watches SET tried_at = :now"), {"now": now})


async def _rechecked(service: Service, clock: SimulatedClock) -> float:
    """Recheck until every watch was read; in how many seconds."""
    began = clock.now()
    untried = text("SELECT count(*) FROM watches WHERE tried_at <= :began")
    while True:
        due_at = clock.now() + RUN_SECONDS
        await service.watches.recheck.run()
        clock.move_to(due_at)
        async with service.database.reading() as connection:
            if not (await connection.execute(untried, {"began": int(began)})).scalar_one():
                return clock.now() - began


def _kinds(sent: Sequence[tuple[float, str]]) -> Counter[str]:
    kinds = Counter[str]()
    for _, path in sent:
        is_search = path.endswith("/devices/udiDiData")
        kinds["lists and searches" if is_search else "records" if BASIC in path else path.split("/")[2]] += 1
    return kinds


def _waits(
    sent: Sequence[tuple[float, str]], keys: dict[str, str], seconds: float, seed: int, *, is_shared: bool
) -> list[float]:
    """Hours from changes of a Basic UDI-DI record, at any instants, until it is read for a watch on any device.

    The round is taken to be repeated. Without sharing only the read for the watch's own device counts.
    """
    read_at = defaultdict[str, list[float]](list)
    for at, path in sent:
        if BASIC in path:
            uuid = path.rpartition("/")[2]
            read_at[keys.get(uuid, uuid) if is_shared else uuid].append(at - sent[0][0])
    rng, waits = random.Random(f"changes {seed}"), []
    uuids = [uuid for uuid in keys if (keys[uuid] if is_shared else uuid) in read_at]
    for _ in range(SAMPLES):
        uuid, changed_at = rng.choice(uuids), rng.uniform(0, seconds)
        instants = read_at[keys[uuid] if is_shared else uuid]
        waits.append(min((at - changed_at) % seconds for at in instants) / 3600)
    return waits


async def _measured(folder: Path, records: Path, seed: int, *, is_shared: bool, watches: int) -> None:
    clock = SimulatedClock()
    register = SharedRegister(records, max(2, MANUFACTURERS * watches // WATCHES), watches, clock, seed)
    say(f"{len(register.records)} watched records under {len(set(register.keys.values()))} Basic UDI-DI records")
    async with _service(folder, register, clock, UNLIMITED) as (service, _):
        with timed("reading everything once"):
            for udi in register.watched:
                await service.refresher.refresh(udi)
        await _watch(service, register.watched, int(clock.now()))
    clock.move(3600)
    async with _service(folder, register, clock, PER_MINUTE) as (service, transport):
        with timed("a round of the recheck"):
            seconds = await _rechecked(service, clock)
    waits = _waits(transport.sent, register.keys, seconds, seed, is_shared=is_shared)
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in _kinds(transport.sent).most_common())
    print(f"{watches:,} watches: {len(transport.sent):,} requests ({kinds}) in {seconds / 3600:.1f} h")
    print(f"a record that changes is read after p50 {percentile(waits, 50):.1f} h, p95 {percentile(waits, 95):.1f} h")


def sharing(
    records: Annotated[Path, Option(help="File of real records, gzipped JSON lines.")] = RECORDS,
    seed: Annotated[int, Option(help="Another seed draws others.")] = 1,
    watches: Annotated[int, Option(help="Watched devices; manufacturers in proportion.", min=20)] = WATCHES,
    alone: Annotated[bool, Option("--alone", help="Each read is taken to serve its own device alone.")] = False,
) -> None:
    """Recheck everything once."""
    if not records.exists():
        print(f"There is no file of real records at {records}; nothing was measured.", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="registerwatch-bench-") as folder:
        asyncio.run(_measured(Path(folder), records, seed, is_shared=not alone, watches=watches))


if __name__ == "__main__":
    typer.run(sharing)
