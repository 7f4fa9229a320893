"""What the operator of the service sees and sets."""

import pytest

from registerwatch.accounts.models import Role
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import CapReached, InvalidInput, NoSuchAccount
from tests.accounts.actions import EMAIL, PASSWORD, by_key, owner_of, signed_up
from tests.support.fakes import SteppedClock

DAY = 24 * 3600
MEMBER = "member@acme.example"
STRANGER = "owner@other.example"
UNAUTHENTICATED = "nobody@acme.example"
LATER = 1_900_000_000


async def test_every_account_is_listed_oldest_first_with_the_number_of_its_users(accounts: Accounts) -> None:
    assert list(await accounts.admin.all()) == []
    owner = await owner_of(accounts)
    await owner_of(accounts, STRANGER)
    await accounts.members.add_user(owner, MEMBER, PASSWORD)

    listed = await accounts.admin.all()

    assert [(each.account.email, each.account.plan.name, each.users) for each in listed] == [
        (EMAIL, PlanName.TRIAL, 2),
        (STRANGER, PlanName.TRIAL, 1),
    ]


async def test_an_account_is_shown_by_the_address_of_any_of_its_users(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await owner_of(accounts, STRANGER)
    await accounts.members.add_user(owner, MEMBER, PASSWORD)

    for email in (EMAIL, MEMBER, f" {MEMBER.upper()}"):
        profile = await accounts.admin.profile(email)
        assert (profile.account.email, profile.role) == (EMAIL, Role.OWNER)
        assert [user.email for user in profile.users] == [EMAIL, MEMBER]
        assert [key.label for key in profile.keys] == ["first key"]


async def test_an_address_of_nobody_is_told_as_such_and_changes_nothing(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    for asked in (
        accounts.admin.profile(UNAUTHENTICATED),
        accounts.admin.set_period(UNAUTHENTICATED, PlanName.STANDARD, LATER),
    ):
        with pytest.raises(NoSuchAccount, match=f"{UNAUTHENTICATED}.*registerwatch accounts list"):
            await asked
    for asked in (accounts.admin.profile("no address"), accounts.admin.set_period("", None, LATER)):
        with pytest.raises(InvalidInput):
            await asked
    assert (await accounts.admin.profile(EMAIL)).account == owner.account
    assert [entry.action for entry in await accounts.members.trail(owner)] == ["account opened"]


async def test_the_plan_and_the_period_are_set_each_alone_or_both(accounts: Accounts, clock: SteppedClock) -> None:
    opened = await signed_up(accounts)
    first_end = int(clock.now()) + 7 * DAY
    seen = []
    for plan, expires_at in ((PlanName.STANDARD, None), (None, LATER), (PlanName.OPERATOR, 0), (PlanName.TRIAL, LATER)):
        profile = await accounts.admin.set_period(EMAIL, plan, expires_at)
        assert profile == await accounts.admin.profile(EMAIL)
        assert (await by_key(accounts, opened.api_key)).account == profile.account
        seen.append((profile.account.plan.name, profile.account.expires_at))

    assert seen == [
        (PlanName.STANDARD, first_end),
        (PlanName.STANDARD, LATER),
        (PlanName.OPERATOR, 0),
        (PlanName.TRIAL, LATER),
    ]


async def test_another_account_keeps_its_plan_and_its_trail(accounts: Accounts) -> None:
    await owner_of(accounts)
    stranger = await owner_of(accounts, STRANGER)

    await accounts.admin.set_period(EMAIL, PlanName.OPERATOR, 0)

    assert (await accounts.admin.profile(STRANGER)).account == stranger.account
    assert [entry.action for entry in await accounts.members.trail(stranger)] == ["account opened"]


async def test_the_owner_reads_that_it_was_the_operator(accounts: Accounts, clock: SteppedClock) -> None:
    owner = await owner_of(accounts)
    clock.move(60)
    await accounts.admin.set_period(EMAIL, PlanName.STANDARD, LATER)

    entry = (await accounts.members.trail(owner))[0]

    assert (entry.actor, entry.action, entry.subject) == (
        "operator",
        "plan changed",
        "standard until 2030-03-17T17:46:40Z",
    )
    assert entry.created_at == int(clock.now())


async def test_an_account_over_the_caps_of_its_new_plan_keeps_what_it_has_and_gets_no_more(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await accounts.admin.set_period(EMAIL, PlanName.OPERATOR, None)
    for index in range(11):
        await accounts.api_keys.create(owner, f"{index}")
        await accounts.members.add_user(owner, f"member{index}@acme.example", PASSWORD)

    profile = await accounts.admin.set_period(EMAIL, PlanName.STANDARD, None)

    assert (len(profile.users), len(profile.keys)) == (12, 12)
    for more in (accounts.api_keys.create(owner, "more"), accounts.members.add_user(owner, MEMBER, PASSWORD)):
        with pytest.raises(CapReached):
            await more


@pytest.mark.parametrize(
    "expires_at",
    [-62_135_596_800, -1, 0, 253_402_300_799, 253_402_390_799],
    ids=["0001", "1969", "1970", "9999", "10000"],
)
async def test_any_instant_that_can_be_written_can_be_the_end_of_a_period(
    accounts: Accounts, clock: SteppedClock, expires_at: int
) -> None:
    await signed_up(accounts)
    profile = await accounts.admin.set_period(EMAIL, None, expires_at)
    assert profile.account.expires_at == expires_at
    assert profile.account.has_expired(clock.now()) is (expires_at <= clock.now())
