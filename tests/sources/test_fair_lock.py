"""A lock for which requesters wait in turn."""

import asyncio

from registerwatch.sources.fair_lock import FairLock, Requester


async def waiting(
    lock: FairLock,
    requester: int | None,
    name: str,
    order: list[str],
    *,
    is_trial: bool = False,
    has_begun: bool = False,
) -> "asyncio.Task[None]":
    """Somebody who waits for the lock, notes that they had it, and gives it back."""

    async def wait() -> None:
        await lock.acquire(None if requester is None else Requester(requester, is_trial), has_begun=has_begun)
        order.append(name)
        lock.release()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    return task


async def test_of_one_requester_who_came_first_is_first_and_requesters_take_turns() -> None:
    lock, order = FairLock(), list[str]()
    await lock.acquire()
    tasks = [await waiting(lock, 1, f"many {number}", order) for number in range(4)]
    tasks += [await waiting(lock, 2, f"few {number}", order) for number in range(2)]
    tasks.append(await waiting(lock, None, "nobody's", order))

    lock.release()
    await asyncio.gather(*tasks)

    assert order == ["many 0", "few 0", "nobody's", "many 1", "few 1", "many 2", "many 3"]


async def test_many_trials_go_ahead_of_the_others_one_by_one_and_of_nobody_when_they_are_alone() -> None:
    lock, order = FairLock(), list[str]()
    await lock.acquire(Requester(1, is_trial=True))
    tasks = [await waiting(lock, number, f"trial {number}", order, is_trial=True) for number in range(1, 6)]
    tasks += [await waiting(lock, 9, f"customer {number}", order) for number in range(3)]

    lock.release()
    await asyncio.gather(*tasks)

    assert order == [
        *("customer 0", "trial 1", "customer 1", "trial 2", "customer 2"),
        *("trial 3", "trial 4", "trial 5"),
    ]


async def test_who_has_begun_comes_before_the_others_of_its_requester_and_before_nobody_else() -> None:
    lock, order = FairLock(), list[str]()
    await lock.acquire()
    tasks = [await waiting(lock, 1, f"new {number}", order) for number in range(2)]
    tasks.append(await waiting(lock, 2, "other", order))
    tasks.append(await waiting(lock, 1, "begun", order, has_begun=True))

    lock.release()
    await asyncio.gather(*tasks)

    assert order == ["begun", "other", "new 0", "new 1"]


async def test_who_gives_up_leaves_the_line_and_never_keeps_the_lock() -> None:
    lock, order = FairLock(), list[str]()
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
    await asyncio.wait_for(lock.acquire(Requester(2)), 1)
