"""Deliveries a second, as the service makes them and as a bare loop posts. Run as `python -m bench.posting …`.

`ours`: deliveries wait in a database; they are claimed, signed, posted, their ends stored. `bare`: the same bodies
are posted by httpx2 with as many at once, and nothing else. Both print the seconds that they took.
"""

import asyncio
import sys
import time
from pathlib import Path

import httpx2
import uvloop
from sqlalchemy import insert, text

from bench.fanout import Scene, build
from registerwatch.background.deliver import deliver_due
from registerwatch.clock import SystemClock
from registerwatch.db import tables
from registerwatch.db.engine import Database
from registerwatch.net.safe_http import CheckedNetwork, SafeHttpClient, SystemResolver, checked_connections
from registerwatch.notifications.channels.webhook import ATTEMPT_SECONDS, body_of
from registerwatch.notifications.delivery import (
    MAX_CONCURRENT,
    MAX_PER_TARGET,
    DeliveryService,
)
from registerwatch.notifications.models import EventType, Notification
from registerwatch.notifications.wiring import build_channels
from registerwatch.settings import Settings

ADDRESSES = 50
BODY = body_of(Notification("whd_bench", EventType.CHANGED, 0, "owner@example.org"), [])


async def ours(port: int, count: int, path: Path) -> float:
    """Seconds until every delivery has ended well."""
    database = await build(path, Scene(ADDRESSES, ADDRESSES, ADDRESSES))
    now = int(time.time())
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE webhooks SET url = :url"), {"url": f"http://127.0.0.1:{port}/"})
        await connection.execute(insert(tables.deliveries), [_waiting(number, now) for number in range(count)])
    network = CheckedNetwork(SystemResolver(), allow_private=True)
    async with checked_connections(network, most=MAX_CONCURRENT) as connections:
        http_client = SafeHttpClient(connections, allow_private=True, seconds=ATTEMPT_SECONDS)
        deliveries = DeliveryService(database, SystemClock(), build_channels(Settings(), http_client))
        started = time.perf_counter()
        loop = asyncio.create_task(deliver_due(deliveries))
        while deliveries.results["accepted"] < count:  # noqa: ASYNC110  # the deliverer tells nobody that it is through
            await asyncio.sleep(0.01)
        seconds = time.perf_counter() - started
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
    await _all_accepted(database, count)
    return seconds


async def bare(port: int, count: int) -> float:
    """Seconds until every body is posted."""
    numbers = iter(range(count))
    async with httpx2.AsyncClient(limits=_limits(), trust_env=False) as http:

        async def post() -> None:
            for _ in numbers:
                answer = await http.post(f"http://127.0.0.1:{port}/", content=BODY.encode())
                assert answer.status_code == 200

        started = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(MAX_CONCURRENT)))
        return time.perf_counter() - started


async def _all_accepted(database: Database, count: int) -> None:
    async with database.reading() as connection:
        accepted = await connection.execute(text("SELECT count(*) FROM deliveries WHERE is_accepted"))
        assert accepted.scalar_one() == count
    await database.close()


def _limits() -> httpx2.Limits:
    return httpx2.Limits(max_connections=MAX_CONCURRENT, max_keepalive_connections=MAX_CONCURRENT)


def _waiting(number: int, now: int) -> dict[str, object]:
    account = number % ADDRESSES + 1
    return {
        "id": f"whd_{number}",
        "account_id": account,
        "webhook_id": account,
        "type": EventType.CHANGED.value,
        "batch": f"{number}",
        "created_at": now,
        "due_at": now,
        "leased_until": 0,
        "attempts": 0,
        "error": "",
    }


def main() -> None:
    """`ours PORT COUNT DATABASE` or `bare PORT COUNT`."""
    assert MAX_PER_TARGET * ADDRESSES >= MAX_CONCURRENT, "no address holds the others up"
    port, count = int(sys.argv[2]), int(sys.argv[3])
    work = ours(port, count, Path(sys.argv[4])) if sys.argv[1] == "ours" else bare(port, count)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(work))


if __name__ == "__main__":
    main()
