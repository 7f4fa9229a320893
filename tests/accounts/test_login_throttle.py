"""Of those who sign in not too many wait, and all others are answered. Who is next is told by `test_fair_queue.py`."""

import asyncio

from registerwatch.accounts.passwords.passwords import MAX_WAITING
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import Overloaded, WrongPassword
from tests.accounts.actions import EMAIL, PASSWORD, signed_up

WAIT_SECONDS = 10.0


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
