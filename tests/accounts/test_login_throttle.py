"""Turns of those who sign in: few at a time, in order, and not too many who wait."""

import asyncio

import pytest

from registerwatch.accounts.limits.login_throttle import MAX_CONCURRENT, LoginThrottle
from registerwatch.accounts.passwords.passwords import MAX_WAITING
from registerwatch.accounts.wiring import Accounts
from registerwatch.errors import Overloaded, WrongPassword
from tests.accounts.actions import EMAIL, PASSWORD, signed_up

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 10.0


class Crowd:
    """People who take a turn and keep it until they are let go."""

    def __init__(self) -> None:
        self.turns = LoginThrottle()
        self.inside: list[int] = []
        self.most_inside = 0
        self.served: list[int] = []
        self.letting_go = asyncio.Event()

    async def come(self, number: int) -> None:
        async with self.turns.slot():
            self.inside.append(number)
            self.most_inside = max(self.most_inside, len(self.inside))
            await self.letting_go.wait()
            await asyncio.sleep(0)
            self.inside.remove(number)
            self.served.append(number)


async def _arrived(crowd: Crowd, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(crowd.come(number)) for number in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_few_have_a_turn_at_a_time_and_all_have_one_in_the_order_of_arrival() -> None:
    crowd = Crowd()
    tasks = await _arrived(crowd, MAX_WAITING)
    assert crowd.inside == list(range(MAX_CONCURRENT))

    crowd.letting_go.set()
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)

    assert crowd.served == list(range(MAX_WAITING))
    assert crowd.most_inside == MAX_CONCURRENT


async def test_too_many_are_refused_and_later_ones_are_not() -> None:
    crowd = Crowd()
    tasks = await _arrived(crowd, MAX_WAITING)
    with pytest.raises(Overloaded):
        await crowd.come(MAX_WAITING)

    crowd.letting_go.set()
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)
    await asyncio.wait_for(crowd.come(MAX_WAITING), WAIT_SECONDS)

    assert crowd.served == list(range(MAX_WAITING + 1))


@pytest.mark.parametrize("who", [0, MAX_WAITING - 1])
async def test_whoever_gives_up_makes_room(who: int) -> None:
    crowd = Crowd()
    tasks = await _arrived(crowd, MAX_WAITING)
    tasks[who].cancel()
    await asyncio.gather(tasks[who], return_exceptions=True)

    late = asyncio.create_task(crowd.come(MAX_WAITING))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await crowd.come(MAX_WAITING + 1)
    crowd.letting_go.set()
    await asyncio.wait_for(asyncio.gather(late, *(task for task in tasks if task is not tasks[who])), WAIT_SECONDS)

    assert sorted(crowd.served) == [number for number in range(MAX_WAITING + 1) if number != who]


async def test_of_a_burst_of_logins_each_is_answered_and_only_those_over_the_bound_are_refused(
    accounts: Accounts,
) -> None:
    await signed_up(accounts)
    count = MAX_WAITING + 6
    asked = [accounts.sessions.login(EMAIL, PASSWORD if number % 2 else "wrong") for number in range(count)]

    answers = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 3 * WAIT_SECONDS)

    served = [(number, answer) for number, answer in enumerate(answers) if not isinstance(answer, Overloaded)]
    assert len(served) >= MAX_WAITING, "those who look into the database for long come when there is room again"
    assert all(isinstance(answer, WrongPassword) for number, answer in served if number % 2 == 0)
    right = [answer for number, answer in served if number % 2]
    assert len({answer.session for answer in right}) == len(right)  # type: ignore[union-attr]
    assert (await accounts.sessions.login(EMAIL, PASSWORD)).session
