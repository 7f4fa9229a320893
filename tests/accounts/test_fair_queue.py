"""Who gets the next free slot, and who is refused when the queue is full."""

import asyncio
from collections.abc import Sequence

import pytest

from registerwatch.errors import Overloaded
from registerwatch.platform.fair_queue import FairQueue

WAIT_SECONDS = 10.0


class Visitors:
    """Visitors of parties who keep their slot until they are let go, one after the other."""

    def __init__(self, slots: int, max_entries: int = 100, most_of_party: int | None = None) -> None:
        self.queue = FairQueue(slots, max_entries, "full", most_of_party=most_of_party)
        self.inside: list[str] = []
        self.served: list[str] = []
        self._let_go = asyncio.Semaphore(0)

    async def arrive(self, *parties: str) -> Sequence[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self._visit(party)) for party in parties]
        await _settle()
        return tasks

    async def let_go(self, number: int = 1) -> None:
        for _ in range(number):
            self._let_go.release()
        await _settle()

    async def _visit(self, party: str) -> None:
        async with self.queue.slot(party):
            self.inside.append(party)
            await self._let_go.acquire()
            self.inside.remove(party)
            self.served.append(party)


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_newcomer_is_next_however_many_another_party_has_waiting() -> None:
    visitors = Visitors(slots=2)
    tasks = [*await visitors.arrive(*["greedy"] * 50), *await visitors.arrive("stranger")]
    assert visitors.inside == ["greedy", "greedy"]

    await visitors.let_go()

    assert sorted(visitors.inside) == ["greedy", "stranger"]
    await visitors.let_go(len(tasks))
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)


async def test_a_party_has_as_many_places_as_it_may_and_the_others_stay_free_for_newcomers() -> None:
    visitors = Visitors(slots=3, most_of_party=2)
    tasks = [*await visitors.arrive(*["greedy"] * 5), *await visitors.arrive("stranger")]
    assert visitors.inside == ["greedy", "greedy", "stranger"]

    await visitors.let_go(len(tasks))
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)


async def test_parties_take_turns_and_each_keeps_its_order() -> None:
    visitors = Visitors(slots=1)
    tasks = await visitors.arrive("a", "a", "a", "b", "b", "c")

    await visitors.let_go(len(tasks))
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)

    assert visitors.served == ["a", "a", "b", "c", "a", "b"]


async def test_a_full_queue_refuses_the_newest_of_whoever_has_the_most() -> None:
    visitors = Visitors(slots=1, max_entries=4)
    greedy = await visitors.arrive(*["greedy"] * 4)

    stranger = await visitors.arrive("stranger")

    with pytest.raises(Overloaded):
        await asyncio.wait_for(greedy[3], WAIT_SECONDS)
    with pytest.raises(Overloaded):
        await visitors.queue.slot("greedy").__aenter__()
    await visitors.let_go(4)
    await asyncio.wait_for(asyncio.gather(*greedy[:3], *stranger), WAIT_SECONDS)
    assert visitors.served[1] == "greedy" or visitors.served[1] == "stranger"
    assert "stranger" in visitors.served[:3]


async def test_a_full_queue_of_many_parties_with_one_each_refuses_the_newcomer() -> None:
    visitors = Visitors(slots=1, max_entries=3)
    tasks = await visitors.arrive("a", "b", "c")

    with pytest.raises(Overloaded):
        await visitors.queue.slot("d").__aenter__()

    await visitors.let_go(3)
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)


@pytest.mark.parametrize("who", [0, 1, 2])
async def test_whoever_gives_up_leaves_their_place_to_the_next(who: int) -> None:
    visitors = Visitors(slots=1, max_entries=3)
    tasks = await visitors.arrive("a", "b", "b")

    tasks[who].cancel()
    await asyncio.gather(tasks[who], return_exceptions=True)
    late = await visitors.arrive("c")
    await visitors.let_go(3)
    rest = [task for number, task in enumerate(tasks) if number != who]
    await asyncio.wait_for(asyncio.gather(*rest, *late), WAIT_SECONDS)

    assert sorted(visitors.served) == sorted([*(party for number, party in enumerate("abb") if number != who), "c"])
    assert visitors.queue.entries_of("a") == visitors.queue.entries_of("b") == 0


async def test_whoever_gives_up_in_the_moment_in_which_they_get_a_place_hands_it_on() -> None:
    visitors = Visitors(slots=1)
    first, second, third = await visitors.arrive("a", "b", "c")

    visitors._let_go.release()
    for _ in range(10):
        if first.done() or not visitors.inside:
            break
        await asyncio.sleep(0)
    second.cancel()  # its slot is granted, and it does not know yet
    await asyncio.gather(second, return_exceptions=True)
    await visitors.let_go(2)

    await asyncio.wait_for(asyncio.gather(first, third), WAIT_SECONDS)
    assert visitors.served == ["a", "c"]


async def test_where_all_give_up_at_once_every_place_is_free_again() -> None:
    visitors = Visitors(slots=2)
    tasks = await visitors.arrive("a", "a", "a", "b", "b")
    for each in tasks:
        each.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(each) for each in ended] == [asyncio.CancelledError] * 5
    visitors.inside.clear()
    await visitors.arrive("c", "d", "e")
    assert visitors.inside == ["c", "d"]
    await visitors.let_go(3)
