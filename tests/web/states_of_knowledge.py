"""Every state of knowledge in which an answer can be given, and how it comes about.

Each is about one device with certificates, its manufacturer, and an account that watches the device. In all states but
the first two nothing moves: requests to the register wait, fail or are refused, so surfaces can be asked in any order.
"""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from sqlalchemy import text

from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.indexer import MAX_SILENT_LAG, Indexer
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch_standins.register.records import Certificate
from tests.register.builders import a_registered_certificate
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import UDI, ServiceHarness

HOUR, DAY = 3600, 24 * 3600
REQUESTS_PER_MINUTE = 100_000
UNKNOWN_SRN = "DE-MF-000999999"


class State(StrEnum):
    """What is known of the device and its manufacturer, and what can be asked now."""

    UNREAD = "never read"
    UNKNOWN = "never read, and the register has none"
    UNREAD_DOWN = "never read, register down"
    UNREAD_BUDGET = "never read, budget used up"
    IN_PART = "read in part"
    IN_PART_DOWN = "read in part, register down"
    IN_PART_BUDGET = "read in part, budget used up"
    NO_CERTIFICATES = "read without its certificates"
    IN_FULL = "read in full"
    STALE = "stale"
    STALE_BUDGET = "stale, budget used up"
    STALE_DOWN = "stale, register down"
    FAILING = "failing for three days"
    DELISTED = "read, no longer listed"
    INDEX_BEHIND = "index behind"
    INDEX_GONE = "index gone"


@dataclass(slots=True)
class Subjects:
    """A service in a state, and whom to ask about. `key` is that of the account."""

    harness: ServiceHarness
    world: ForgetfulWorld
    index_folder: Path
    key: str
    udi: str
    srn: str
    uuid: str
    name: str
    writer: Indexer | None = None
    """Writes the index in place of the service."""

    async def ask(self) -> None:
        """Ask for the device and its manufacturer, which has them read again where that is due."""
        await self.harness.get(f"/v1/devices/{self.udi}")
        await self.harness.get(f"/v1/actors/{self.srn}")
        await self.harness.finish_background_work()

    def release(self) -> None:
        """Let the requests go that are held."""
        self.harness.to_register.held = set()
        self.harness.to_register.let.set()

    async def close(self) -> None:
        """Close what the harness does not."""
        if self.writer is not None:
            await self.writer.close()


Way = Callable[[Subjects], Awaitable[None]]


async def subjects_in(state: State, harness: ServiceHarness, world: ForgetfulWorld, index_folder: Path) -> Subjects:
    """The service of a harness, brought into a state."""
    record = next(each for each in harness.unique_devices(120) if each.basic_udi)
    certificates = _certificate("D-1", "basic-udi-record"), _certificate("Z-2", "certificate-search")
    record = world.change(record.uuid, new_version=False, certificates=certificates)
    owner = await harness.sign_up()
    udi, srn, name = record.primary_di, record.manufacturer.srn, record.manufacturer.name
    if state is State.UNKNOWN:
        udi, srn = UDI, UNKNOWN_SRN
    subjects = Subjects(harness, world, index_folder, owner.api_key, udi, srn, record.uuid, name)
    await WAYS[state](subjects)
    return subjects


async def _unread(it: Subjects) -> None:
    await it.harness.update_index()
    await it.harness.post("/v1/import", it.key, csv=it.udi)


async def _unknown(it: Subjects) -> None:
    await it.harness.fill_copy()
    await it.harness.post_watches(it.key, it.udi)


async def _in_part(it: Subjects) -> None:
    await it.harness.fill_copy()
    await it.harness.post("/v1/import", it.key, csv=it.udi)


async def _in_full(it: Subjects) -> None:
    await it.harness.fill_copy()
    await it.harness.post_watches(it.key, it.udi)
    await it.harness.get("/v1/refresh", q=it.srn)


async def _without_certificates(it: Subjects) -> None:
    it.harness.faults.fail("certificates", "http-500")
    await _in_full(it)


async def _stale(it: Subjects) -> None:
    await _in_full(it)
    it.harness.clock.move(7 * HOUR)


async def _held(before: Way, it: Subjects) -> None:
    await before(it)
    it.harness.to_register.held = {"register.test"}


async def _down(before: Way, it: Subjects) -> None:
    await before(it)
    it.harness.faults.fail("any", "http-503")
    await it.ask()
    await it.harness.post_sync(it.key)


async def _budget_used_up(before: Way, it: Subjects) -> None:
    """Requests for others took every place of this minute."""
    await before(it)
    it.harness.clock.move(60)
    budget = RequestBudget(
        it.harness.database, PaceLimits(REQUESTS_PER_MINUTE, start=REQUESTS_PER_MINUTE), it.harness.clock
    )
    await budget.take(RequestPriority.WATCH, deadline=it.harness.clock.monotonic() + 60, cost=REQUESTS_PER_MINUTE)
    await it.ask()


async def _failing(it: Subjects) -> None:
    await _down(_stale, it)
    it.harness.clock.move(3 * DAY)
    await it.ask()
    await it.harness.post_sync(it.key)


async def _delisted(it: Subjects) -> None:
    await _stale(it)
    it.world.forgotten.add(it.uuid)
    await it.ask()
    await it.harness.post_sync(it.key)
    await it.harness.update_index()


async def _index_behind(it: Subjects) -> None:
    """Another process, which writes the index, lacks more than an index may lack silently."""
    await _in_full(it)
    await it.harness.update_index()
    await it.harness.service.indexer.close()
    it.writer = Indexer(it.harness.service.documents, SearchIndex(it.index_folder))
    assert await it.writer.catch_up()
    async with it.harness.database.transaction() as connection:
        await connection.execute(text(f"UPDATE copy_state SET revision = revision + {MAX_SILENT_LAG + 1}"))
    await it.harness.service.indexer.step()


async def _index_gone(it: Subjects) -> None:
    await _in_full(it)
    await it.harness.update_index()
    shutil.rmtree(it.index_folder)
    await it.harness.service.indexer.step()


WAYS: dict[State, Way] = {
    State.UNREAD: _unread,
    State.UNKNOWN: _unknown,
    State.UNREAD_DOWN: partial(_down, _unread),
    State.UNREAD_BUDGET: partial(_budget_used_up, _unread),
    State.IN_PART: partial(_held, _in_part),
    State.IN_PART_DOWN: partial(_down, _in_part),
    State.IN_PART_BUDGET: partial(_budget_used_up, _in_part),
    State.NO_CERTIFICATES: _without_certificates,
    State.IN_FULL: _in_full,
    State.STALE: partial(_held, _stale),
    State.STALE_BUDGET: partial(_budget_used_up, _stale),
    State.STALE_DOWN: partial(_down, _stale),
    State.FAILING: _failing,
    State.DELISTED: _delisted,
    State.INDEX_BEHIND: _index_behind,
    State.INDEX_GONE: _index_gone,
}


def _certificate(number: str, listed_in: str) -> Certificate:
    return a_registered_certificate(number, listed_in, type="MDR_QUALITY_MANAGEMENT_SYSTEM")
