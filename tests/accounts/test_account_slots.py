"""Whose work waits, and for whose."""

import asyncio

import pytest

from registerwatch.errors import Overloaded
from registerwatch.platform.account_slots import MAX_USERS, AccountSlots


class Work:
    """Requests that hold their slot until the test lets them go on."""

    def __init__(self, slots: AccountSlots) -> None:
        self._slots = slots
        self.under_way: list[int] = []
        self.may_end = asyncio.Event()

    async def run(self, account_id: int, network: str | None = None) -> None:
        async with self._slots.slot(account_id, network):
            self.under_way.append(account_id)
            await self.may_end.wait()


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_account_has_few_places_and_leaves_the_others_theirs() -> None:
    work = Work(AccountSlots(most=5, most_per_account=2))
    async with asyncio.TaskGroup() as tasks:
        for account_id in [1] * 30 + [2, 3, 3, 3]:
            tasks.create_task(work.run(account_id))
        await _settled()
        assert sorted(work.under_way) == [1, 1, 2, 3, 3]
        work.may_end.set()
    assert len(work.under_way) == 34


async def test_accounts_of_one_network_have_few_places_and_leave_those_of_other_networks() -> None:
    work = Work(AccountSlots(most=4, most_per_account=2, most_per_network=2))
    async with asyncio.TaskGroup() as tasks:
        for account_id, network in [*((each, "a") for each in range(6)), (6, "b"), (7, "b")]:
            tasks.create_task(work.run(account_id, network))
        await _settled()
        assert sorted(work.under_way) == [0, 1, 6, 7]
        work.may_end.set()
    assert len(work.under_way) == 8


async def test_an_account_with_too_many_requests_is_refused_and_others_are_not() -> None:
    slots = AccountSlots(most=5, most_per_account=2)
    work = Work(slots)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(MAX_USERS):
            tasks.create_task(work.run(1))
        await _settled()
        with pytest.raises(Overloaded):
            async with slots.slot(1):
                pass
        async with slots.slot(2):
            pass
        work.may_end.set()
    async with slots.slot(1):
        pass


async def test_who_is_cancelled_while_it_waits_leaves_its_place_in_the_queue() -> None:
    work = Work(AccountSlots(most=5, most_per_account=1))
    first, second, third = (asyncio.create_task(work.run(1)) for _ in range(3))
    await _settled()
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    work.may_end.set()
    await asyncio.gather(first, third)
    assert work.under_way == [1, 1]
