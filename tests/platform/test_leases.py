"""Leases of rows: renewed while a process works, free a minute after it died, and never two at a time."""

import asyncio

import pytest
from sqlalchemy import insert, select, update

from registerwatch.copy.tables import walks
from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform import leases
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import LEASE_SECONDS, Lease, LeaseLost, is_free, lease_values
from tests.support.fakes import SteppedClock

NAME = "certificates"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def lease(database: Database, clock: SteppedClock) -> Lease:
    """A lease of the only row."""
    row = {"name": NAME, "began_at": 0, "listed": 0, "problem": "", **lease_values("mine", int(clock.now()))}
    async with database.transaction() as connection:
        await connection.execute(insert(walks).values(row))
    return Lease(database, clock, walks, walks.c.name == NAME, walks.c.lease_holder == "mine")


async def is_free_at(database: Database, now: float) -> bool:
    async with database.reading() as connection:
        return (await connection.execute(select(walks.c.name).where(is_free(walks, int(now))))).first() is not None


async def let_another_claim(database: Database, clock: SteppedClock) -> None:
    async with database.transaction() as connection:
        await connection.execute(update(walks).values(**lease_values("other", int(clock.now()))))


async def test_a_row_is_free_a_minute_after_the_last_renewal(
    database: Database, clock: SteppedClock, lease: Lease
) -> None:
    clock.move(LEASE_SECONDS - 1)
    assert not await is_free_at(database, clock.now())
    await lease.renew()
    clock.move(LEASE_SECONDS - 1)
    assert not await is_free_at(database, clock.now())
    clock.move(1)

    assert await is_free_at(database, clock.now())


async def test_a_lease_that_ends_later_than_any_can_is_from_before_the_clock_was_put_back(
    database: Database, clock: SteppedClock, lease: Lease
) -> None:
    await lease.renew()

    assert await is_free_at(database, clock.now() - 3_600)


async def test_a_lease_is_renewed_until_the_work_ends_also_after_a_renewal_that_failed(
    database: Database, clock: SteppedClock, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0)
    renew, tries, is_renewed = lease.renew, 0, asyncio.Event()

    async def failing_at_first() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise DatabaseUnavailable("The database does not answer.")
        await renew()
        is_renewed.set()

    monkeypatch.setattr(lease, "renew", failing_at_first)
    clock.move(LEASE_SECONDS)
    async with lease.renewed():
        await is_renewed.wait()
    done = tries

    assert not await is_free_at(database, clock.now() + LEASE_SECONDS - 1)
    lease.check()
    await asyncio.sleep(0)
    assert tries == done, "nothing renews it after the end"


async def test_who_lost_a_lease_notices_it_before_it_stores_anything(
    database: Database, clock: SteppedClock, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction() as connection:
        await lease.hold(connection)
    await let_another_claim(database, clock)

    with pytest.raises(LeaseLost):
        async with database.transaction() as connection:
            await lease.hold(connection)
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0)
    async with lease.renewed():
        with pytest.raises(LeaseLost):
            await noticed(lease)


async def noticed(lease: Lease) -> None:
    """Check a lease between requests until it is lost; raises `LeaseLost`."""
    async with asyncio.timeout(10):
        while True:
            lease.check()
            await asyncio.sleep(0)
