"""A lock for which requesters wait in turn."""

import asyncio

import pytest

from registerwatch.register.sources.turn_lock import TurnLock

pytestmark = pytest.mark.anyio


async def waiting(lock: TurnLock, requester: int | None, name: str, order: list[str]) -> "asyncio.Task[None]":
    """Somebody who waits for the lock, notes that they had it, and gives it back."""

    async def wait() -> None:
        await lock.acquire(requester)
        order.append(name)
        lock.release()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    return task


async def test_of_one_requester_who_came_first_is_first_and_requesters_take_turns() -> None:
    lock, order = TurnLock(), list[str]()
    await lock.acquire()
    tasks = [await waiting(lock, 1, f"many {number}", order) for number in range(4)]
    tasks += [await waiting(lock, 2, f"few {number}", order) for number in range(2)]
    tasks.append(await waiting(lock, None, "nobody's", order))

    lock.release()
    await asyncio.gather(*tasks)

    assert order == ["many 0", "few 0", "nobody's", "many 1", "few 1", "many 2", "many 3"]


async def test_who_gives_up_leaves_the_line_and_never_keeps_the_lock() -> None:
    lock, order = TurnLock(), list[str]()
    await lock.acquire()
    gone, last, given = [await waiting(lock, 1, name, order) for name in ("gone", "last", "given")]
    given.cancel()
    gone.cancel()
    await asyncio.wait([gone, given])
    first = await waiting(lock, 1, "first", order)

    lock.release()
    last.cancel()  # at the same moment as it is given the lock
    await asyncio.wait([last, first])

    assert order == ["first"]
    await asyncio.wait_for(lock.acquire(2), 1)
