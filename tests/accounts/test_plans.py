"""The one table of plans, and what it makes of an account."""

import pytest

from registerwatch.accounts.models import Account
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.accounts.queries import account_of
from registerwatch.accounts.repository import StoredAccount
from registerwatch.accounts.use_cases import Accounts
from tests.accounts.actions import EMAIL, owner_of

NOW = 1_800_000_000


def test_each_plan_has_the_caps_that_the_contract_names() -> None:
    assert {name: (plan.watches, plan.users, plan.keys) for name, plan in plans(25).items()} == {
        "trial": (25, 10, 10),
        "standard": (250, 10, 10),
        "operator": (2_500, 25, 25),
    }


@pytest.mark.parametrize("cap", [0, 1, 1_000_000])
def test_the_operator_sets_the_watches_of_a_trial_and_of_nothing_else(cap: int) -> None:
    usual, changed = plans(25), plans(cap)

    assert changed[PlanName.TRIAL].watches == cap
    for name in PlanName:
        assert (changed[name].users, changed[name].keys) == (usual[name].users, usual[name].keys)
    assert {changed[name] for name in PlanName if name is not PlanName.TRIAL} < set(usual.values())


def test_every_plan_is_in_the_table_under_its_own_name() -> None:
    table = plans(25)
    assert [table[name].name for name in PlanName] == list(PlanName)


@pytest.mark.parametrize(("expires_at", "expired"), [(NOW - 1, True), (NOW, True), (NOW + 1, False)])
def test_a_period_is_over_in_the_second_in_which_it_ends(expires_at: int, expired: bool) -> None:
    account = _account("trial", expires_at)
    assert account.has_expired(NOW) is expired
    assert account.has_expired(NOW + 0.5) is expired


def test_a_plan_that_no_table_has_is_no_plan() -> None:
    """Rather an error than an account without caps."""
    with pytest.raises(ValueError, match="platinum"):
        _account("platinum", NOW)


async def test_a_new_account_is_on_trial_and_each_plan_can_follow(accounts: Accounts) -> None:
    assert (await owner_of(accounts)).account.plan == plans(25)[PlanName.TRIAL]
    for name in PlanName:
        assert (await accounts.admin.set_period(EMAIL, name, None)).account.plan == plans(25)[name]


def _account(plan: str, expires_at: int) -> Account:
    return account_of(StoredAccount(1, EMAIL, "Acme", plan, expires_at, NOW), plans(25))
