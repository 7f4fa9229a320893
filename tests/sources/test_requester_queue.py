"""The order of requesters that wait for the register."""

import asyncio

from registerwatch.sources.requester_queue import Requester, RequesterQueue


async def waiting(
    queue: RequesterQueue,
    requester: int | None,
    name: str,
    order: list[str],
    *,
    is_trial: bool = False,
    has_begun: bool = False,
) -> "asyncio.Task[None]":
    """Somebody who waits, and notes that they were the one."""

    async def wait() -> None:
        of = None if requester is None else Requester(requester, is_trial)
        async with queue.slot(of, has_begun=has_begun):
            order.append(name)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    return task


async def test_of_one_requester_who_came_first_is_first_and_requesters_take_turns() -> None:
    queue, order = RequesterQueue(), list[str]()
    async with queue.slot():
        tasks = [await waiting(queue, 1, f"many {number}", order) for number in range(4)]
        tasks += [await waiting(queue, 2, f"few {number}", order) for number in range(2)]
        tasks.append(await waiting(queue, None, "nobody's", order))

    await asyncio.gather(*tasks)

    assert order == ["many 0", "few 0", "nobody's", "many 1", "few 1", "many 2", "many 3"]


async def test_many_trials_go_ahead_of_the_others_one_by_one_and_of_nobody_when_they_are_alone() -> None:
    queue, order = RequesterQueue(), list[str]()
    async with queue.slot(Requester(1, is_trial=True)):
        tasks = [await waiting(queue, number, f"trial {number}", order, is_trial=True) for number in range(1, 6)]
        tasks += [await waiting(queue, 9, f"customer {number}", order) for number in range(3)]

    await asyncio.gather(*tasks)

    assert order == [
        *("customer 0", "trial 1", "customer 1", "trial 2", "customer 2"),
        *("trial 3", "trial 4", "trial 5"),
    ]


async def test_who_has_begun_comes_before_the_others_of_its_requester_and_before_nobody_else() -> None:
    queue, order = RequesterQueue(), list[str]()
    async with queue.slot():
        tasks = [await waiting(queue, 1, f"new {number}", order) for number in range(2)]
        tasks.append(await waiting(queue, 2, "other", order))
        tasks.append(await waiting(queue, 1, "begun", order, has_begun=True))

    await asyncio.gather(*tasks)

    assert order == ["begun", "other", "new 0", "new 1"]


async def test_who_gives_up_leaves_the_line_and_never_keeps_the_lock() -> None:
    queue, order = RequesterQueue(), list[str]()
    async with queue.slot():
        gone, last, given = [await waiting(queue, 1, name, order) for name in ("gone", "last", "given")]
        given.cancel()
        gone.cancel()
        await asyncio.wait([gone, given])
        first = await waiting(queue, 1, "first", order)

    last.cancel()  # at the same moment as it is given the lock
    await asyncio.wait([last, first])

    assert order == ["first"]
    async with asyncio.timeout(1), queue.slot(Requester(2)):
        pass
