"""Seconds of the processor that an account may use: what is counted, when it is refused, and when it begins anew."""

import re
import time
from pathlib import Path

import pytest
from sqlalchemy import update

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WINDOW_SECONDS, WorkBudget
from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import UNCONFIRMED_WORK_SECONDS, plans
from registerwatch.accounts.tables import accounts, users, work_used
from registerwatch.errors import RateLimited
from tests.support.harness import ServiceHarness

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def budget(harness: ServiceHarness) -> WorkBudget:
    shares = PlanShares(plans(25), needs_confirmation=True)
    return WorkBudget(harness.database, harness.clock, shares, refuses=True)


async def _set(
    harness: ServiceHarness, caller: Caller, *, plan: str = "trial", confirmed_at: int | None = None
) -> None:
    account_id = caller.account.id
    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).where(accounts.c.id == account_id).values(plan=plan))
        await connection.execute(
            update(users).where(users.c.account_id == account_id).values(confirmed_at=confirmed_at)
        )


@pytest.mark.parametrize(
    ("plan", "is_confirmed", "share"),
    [
        ("trial", False, UNCONFIRMED_WORK_SECONDS),
        ("trial", True, 120),
        ("standard", False, 900),
        ("operator", True, 1_800),
    ],
)
async def test_an_account_has_the_share_of_its_plan_and_a_trial_a_small_one_until_its_address_is_confirmed(
    harness: ServiceHarness, budget: WorkBudget, plan: str, is_confirmed: bool, share: int
) -> None:
    caller = await harness.owner()
    await _set(harness, caller, plan=plan, confirmed_at=harness.now if is_confirmed else None)
    await budget.spend(caller.account.id, share - 0.5)
    await budget.require(caller.account.id)
    await budget.spend(caller.account.id, 1)
    harness.clock.move(600)
    with pytest.raises(RateLimited, match=f"has used its {share} seconds .* Try again in 50 minutes") as refused:
        await budget.require(caller.account.id)
    assert (refused.value.limit, refused.value.window, refused.value.retry_after) == (share, WINDOW_SECONDS, 3_000)


async def test_the_hour_begins_with_the_first_work_and_the_next_one_with_the_first_after_it(
    harness: ServiceHarness, budget: WorkBudget
) -> None:
    account_id, other_id = (await harness.owner()).account.id, (await harness.owner("b@acme.example")).account.id
    await budget.spend(account_id, 30)
    harness.clock.move(WINDOW_SECONDS - 1)
    await budget.spend(account_id, 30)
    with pytest.raises(RateLimited):
        await budget.require(account_id)
    await budget.require(other_id)
    harness.clock.move(1)
    await budget.require(account_id)
    await budget.spend(account_id, 39)
    await budget.require(account_id)
    harness.clock.move(-2 * WINDOW_SECONDS)  # somebody puts the clock back
    await budget.require(account_id)


async def test_work_in_a_thread_is_measured_also_where_it_fails_and_where_nothing_is_left(
    harness: ServiceHarness, budget: WorkBudget
) -> None:
    account_id = (await harness.owner()).account.id

    def work() -> None:
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        raise ValueError

    with pytest.raises(ValueError):  # the one above
        await budget.measured(account_id, work)
    [row] = await harness.rows(work_used)
    assert 50 <= row["milliseconds"] < 500
    await budget.spend(account_id, UNCONFIRMED_WORK_SECONDS)
    assert await budget.measured(account_id, lambda: "done") == "done"


@pytest.mark.parametrize("page", ["security.md", "operating.md"])
def test_the_documentation_has_the_shares(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    paragraph = next(each for each in re.split(r"\n(?=[-|] ?)", text) if "without a confirmed owner" in each)
    shares = [UNCONFIRMED_WORK_SECONDS, *(plan.work_seconds for plan in plans(25).values())]
    assert [each for each in shares if not re.search(rf"(?<![0-9,]){each:,}(?!,?[0-9])", paragraph)] == []
