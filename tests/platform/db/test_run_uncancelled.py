"""Whoever is cancelled in the middle of a transaction leaves no lock behind."""

import asyncio
import gc
import random
import weakref
from contextlib import suppress

import pytest
from sqlalchemy import text

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.run_uncancelled import run_uncancelled

BOUND = 20.0


async def test_transactions_that_are_cancelled_at_any_moment_hold_up_nobody(database: Database) -> None:
    rng = random.Random(1)

    async def count() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE copy_state SET revision = revision + 1"))

    for _ in range(40):
        tasks = [asyncio.create_task(count()) for _ in range(3)]
        for _ in range(rng.randrange(12)):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(BOUND):
            await count()


async def test_a_cancellation_waits_for_the_end_and_is_raised_then() -> None:
    ended, let_go = [], asyncio.Event()

    async def work() -> None:
        await let_go.wait()
        ended.append("done")

    waiting = asyncio.create_task(run_uncancelled(work()))
    await asyncio.sleep(0)
    for _ in range(3):
        waiting.cancel()
        await asyncio.sleep(0)
    assert not waiting.done()
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["done"]


async def test_what_the_work_gives_or_raises_is_given_on() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def answer() -> int:
        return 42

    assert await run_uncancelled(answer()) == 42
    with pytest.raises(ValueError, match="no"):
        await run_uncancelled(fail())


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_failure_is_gone_once_it_is_handled_with_all_that_its_frames_have_in_hand(is_cancelled: bool) -> None:
    class File:
        """What was sent."""

    held: list[weakref.ref[File]] = []

    async def refuse() -> None:
        file = File()
        held.append(weakref.ref(file))
        await asyncio.sleep(0)
        raise ValueError("refused")

    async def asked() -> None:
        file = File()
        held.append(weakref.ref(file))
        await run_uncancelled(refuse())

    gc.disable()  # what it finds was kept for too long
    try:
        task = asyncio.create_task(asked())
        await asyncio.sleep(0)
        if is_cancelled:
            task.cancel()
        await asyncio.wait([task])
        with suppress(ValueError, asyncio.CancelledError):
            task.result()
        del task
        assert [each() for each in held] == [None, None]
    finally:
        gc.enable()
