"""What tests of watches do: sign up, watch, let something be read, look."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from sqlalchemy import select

from registerwatch.accounts.models import Caller
from registerwatch.accounts.wiring import Accounts
from registerwatch.db.engine import Database
from registerwatch.db.tables import deliveries, watches
from registerwatch.notifications import repository as webhook_repository
from registerwatch.notifications.outbox import Outbox
from registerwatch.register.models import Actor, DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.register.store.records import RecordStore
from registerwatch.watches import repository
from registerwatch.watches.models import Event, Watch
from registerwatch_standins.register.records import Registration
from tests.accounts.acting import EMAIL, owner_of
from tests.register.builders import UDI
from tests.support.clocks import SteppedClock
from tests.support.stage import Stage

SRN = "DE-MF-000000001"


@dataclass(frozen=True, slots=True)
class Room:
    """Accounts, watches and a copy in one database."""

    database: Database
    clock: SteppedClock
    accounts: Accounts
    outbox: Outbox
    copy: RecordStore

    async def account(self, email: str = EMAIL) -> Caller:
        """The owner of a new account."""
        return await owner_of(self.accounts, email)

    async def watch_service(self, email: str = EMAIL, *subjects: str) -> Caller:
        """The owner of a new account that watches these subjects, or the one UDI-DI."""
        caller = await self.account(email)
        async with self.database.transaction() as connection:
            for subject in subjects or (UDI,):
                now = int(self.clock.now())
                await repository.add(connection, caller.account.id, [repository.NewWatch(subject)], now)
        return caller

    async def with_webhook(self, caller: Caller) -> int:
        """Give the account an address."""
        async with self.database.transaction() as connection:
            return await webhook_repository.add(
                connection, caller.account.id, url="https://a.example", secret="whsec_1", is_first=True, now=0
            )

    async def read(
        self,
        *readings: DeviceReading,
        since: int | None = None,
        context: ReadContext | None = None,
        lists_all: bool = True,
    ) -> None:
        """Store what a read of the register brought."""
        now = int(self.clock.now())
        await self.copy.store(readings, read_at=now, lists_all=lists_all, context=context, since=since)

    async def read_actor(self, *, context: ReadContext | None = None, since: int | None = None, **fields: Any) -> None:
        """Store an actor that was read."""
        actor = Actor(**{"srn": SRN, "name": "Acme", "complete": True, **fields})
        await self.copy.store_actor(actor, read_at=int(self.clock.now()), context=context, since=since)

    async def events(self, caller: Caller) -> Sequence[Event]:
        """The account's events, oldest first."""
        async with self.database.reading() as connection:
            return list(reversed(await repository.newest_events(connection, caller.account.id, 100)))

    async def summaries(self, caller: Caller) -> list[str]:
        """What changed for the account, in words."""
        return [event.summary for event in await self.events(caller)]

    async def taken(self, caller: Caller) -> list[str]:
        """What the account's next sync would list, in words; it is listed now."""
        async with self.database.transaction() as connection:
            return [event.summary for event in await repository.take_awaiting(connection, caller.account.id)]

    async def watch(self, caller: Caller, subject: str = UDI) -> Watch:
        """The account's watch on a subject."""
        async with self.database.reading() as connection:
            found = await repository.by_subject(connection, caller.account.id, subject)
        assert found is not None
        return found

    async def due(self, most: int = 100) -> list[str]:
        """Subjects in the order that the recheck reads them."""
        async with self.database.reading() as connection:
            return [each.subject for each in await repository.due(connection, int(self.clock.now()), most)]

    async def deliveries(self) -> list[dict[str, Any]]:
        """Every delivery."""
        return await rows_of(self.database, deliveries)

    async def tried_at(self) -> list[int]:
        """When each watch was tried last."""
        return [row["tried_at"] for row in await rows_of(self.database, watches)]


async def rows_of(database: Database, table: Any) -> list[dict[str, Any]]:
    """Every row of a table."""
    async with database.reading() as connection:
        return [dict(row) for row in (await connection.execute(select(table))).mappings()]


class HoldingBack(httpx2.AsyncBaseTransport):
    """A way to the register on which a test holds some requests back, or loses them."""

    def __init__(self, way: httpx2.AsyncBaseTransport) -> None:
        self._way = way
        self.held: set[str] = set()
        """Parts of addresses; a request for such an address waits until `let` is set."""
        self.broken: set[str] = set()
        """Parts of addresses; a request for such an address meets a defect."""
        self.reached, self.let = asyncio.Event(), asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        address = str(request.url)
        if any(part in address for part in self.broken):
            raise LookupError("a defect that nobody thought of")
        if any(part in address for part in self.held):
            self.reached.set()
            await self.let.wait()
        return await self._way.handle_async_request(request)


def lone_devices(stage: Stage, number: int) -> list[Registration]:
    """Registrations that share their UDI-DI with no other."""
    found = [each for each in stage.world.newest(0, 120) if len(stage.world.by_primary_di(each.primary_di)) == 1]
    return found[:number]


async def watched_at(stage: Stage, key: str, *subjects: str) -> list[dict[str, Any]]:
    """Watch subjects, as clients do."""
    return [(await stage.post("/v1/watches", key, subject=subject)).json()["watch"] for subject in subjects]


async def synced(stage: Stage, key: str) -> dict[str, Any]:
    """The answer of a sync."""
    response = await stage.post("/v1/sync", key)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def listed(stage: Stage, key: str, what: str) -> list[dict[str, Any]]:
    """The account's `watches` or `events`, or its `items` that expire."""
    path = "/v1/expiring" if what == "items" else f"/v1/{what}"
    response = await stage.client.get(path, headers={"X-API-Key": key})
    found: list[dict[str, Any]] = response.json()[what]
    return found
