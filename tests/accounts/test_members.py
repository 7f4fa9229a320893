"""Users and keys of an account: caps, the last owner, nothing of another account, and races for all of it."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import text

from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import CapReached, InvalidInput, RegisterwatchError, Unauthenticated, WrongPassword
from registerwatch.platform.db.engine import Database
from tests.accounts.actions import EMAIL, PASSWORD, by_key, by_session, owner_of, signed_up


async def _members(accounts: Accounts, owner: Caller, number: int, domain: str = "acme.example") -> None:
    for index in range(number):
        await accounts.members.add_user(owner, f"member{index}@{domain}", PASSWORD)


async def test_a_member_is_added_and_signs_in_as_one(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    profile = await accounts.members.add_user(owner, " Member@Acme.example ", PASSWORD)

    assert [user.email for user in profile.users] == [EMAIL, "member@acme.example"]
    assert (await accounts.sessions.login("member@acme.example", PASSWORD)).profile.role is Role.MEMBER


async def test_an_address_that_somebody_has_is_refused_wherever_they_are(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await owner_of(accounts, "owner@other.example")
    for taken in (EMAIL, "owner@other.example", "OWNER@OTHER.example"):
        with pytest.raises(InvalidInput, match="already"):
            await accounts.members.add_user(owner, taken, PASSWORD)


async def test_the_cap_of_users_counts_everybody(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await _members(accounts, owner, 9)
    with pytest.raises(CapReached, match="10 users"):
        await accounts.members.add_user(owner, "one-more@acme.example", PASSWORD)


async def test_simultaneous_additions_do_not_pass_the_cap_of_users(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await _members(accounts, owner, 7)

    outcomes = await asyncio.gather(
        *(accounts.members.add_user(owner, f"racer{index}@acme.example", PASSWORD) for index in range(6)),
        return_exceptions=True,
    )

    assert Counter(type(each) for each in outcomes if isinstance(each, Exception)) == {CapReached: 4}
    assert len((await accounts.members.profile(owner)).users) == 10


async def test_simultaneous_keys_do_not_pass_the_cap_of_keys(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    for index in range(7):
        await accounts.api_keys.create(owner, f"{index}")

    outcomes = await asyncio.gather(
        *(accounts.api_keys.create(owner, "racer") for _ in range(6)), return_exceptions=True
    )

    assert sum(isinstance(each, CapReached) for each in outcomes) == 4
    assert len((await accounts.members.profile(owner)).keys) == 10


async def test_two_accounts_that_add_one_address_at_once_share_nothing(accounts: Accounts) -> None:
    first, second = await owner_of(accounts), await owner_of(accounts, "owner@other.example")

    outcomes = await asyncio.gather(
        *(accounts.members.add_user(owner, "wanted@third.example", PASSWORD) for owner in (first, second) * 3),
        return_exceptions=True,
    )

    assert sum(not isinstance(each, Exception) for each in outcomes) == 1
    assert all(isinstance(each, InvalidInput) for each in outcomes if isinstance(each, Exception))


async def test_a_revoked_key_makes_room_and_stops_at_once(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    keys = [await accounts.api_keys.create(owner, f"{index}") for index in range(9)]
    with pytest.raises(CapReached):
        await accounts.api_keys.create(owner, "one more")

    revoked = (await accounts.members.profile(owner)).keys[3]
    profile = await accounts.api_keys.revoke(owner, revoked.id)

    assert [key.revoked for key in profile.keys].count(True) == 1
    assert keys[2].label == revoked.label
    with pytest.raises(Unauthenticated):
        await by_key(accounts, keys[2].secret)
    assert (await accounts.api_keys.create(owner, "one more")).secret.startswith("rw_")


async def test_revoking_every_key_leaves_sessions_working(accounts: Accounts) -> None:
    opened = await signed_up(accounts)
    owner = await by_session(accounts, opened.session)
    for key in (await accounts.members.profile(owner)).keys:
        await accounts.api_keys.revoke(owner, key.id)

    with pytest.raises(Unauthenticated):
        await by_key(accounts, opened.api_key)
    await by_session(accounts, opened.session)


async def test_the_last_owner_stays(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await _members(accounts, owner, 1)
    with pytest.raises(InvalidInput, match="last owner"):
        await accounts.members.remove_user(owner, owner.user_id or 0)


async def test_two_owners_who_remove_each_other_at_once_leave_one(accounts: Accounts, database: Database) -> None:
    first = await by_key(accounts, (await signed_up(accounts)).api_key)  # a key goes on when its maker is removed
    await _members(accounts, first, 1)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE users SET role = 'owner'"))
    ids = [user.id for user in (await accounts.members.profile(first)).users]

    outcomes = await asyncio.gather(
        *(accounts.members.remove_user(first, user_id) for user_id in ids), return_exceptions=True
    )

    assert sum(isinstance(each, InvalidInput) for each in outcomes) == 1
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM users"))).scalar_one() == 1


async def test_ids_of_another_account_are_unknown_here(accounts: Accounts) -> None:
    first, second = await owner_of(accounts), await signed_up(accounts, "owner@other.example")
    strange = await by_session(accounts, second.session)
    with pytest.raises(InvalidInput, match="no user"):
        await accounts.members.remove_user(first, strange.user_id or 0)
    with pytest.raises(InvalidInput, match="no key"):
        await accounts.api_keys.revoke(first, second.profile.keys[0].id)

    await by_session(accounts, second.session)
    await by_key(accounts, second.api_key)


async def test_an_id_is_never_given_again(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    ids = []
    for _ in range(3):
        profile = await accounts.members.add_user(owner, "member@acme.example", PASSWORD)
        ids.append(profile.users[-1].id)
        await accounts.members.remove_user(owner, ids[-1])
    assert len(set(ids)) == 3


async def test_the_operator_plan_has_its_own_caps(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await accounts.admin.set_period(EMAIL, PlanName.OPERATOR, None)
    for index in range(24):
        await accounts.api_keys.create(owner, f"{index}")
    with pytest.raises(CapReached, match="25 API keys"):
        await accounts.api_keys.create(owner, "one more")


async def test_deleting_needs_an_owners_password_and_leaves_nothing(accounts: Accounts, database: Database) -> None:
    owner = await owner_of(accounts)
    await accounts.members.add_user(owner, "member@acme.example", "a member's own")
    await accounts.password_reset.link(EMAIL)
    await owner_of(accounts, "owner@other.example")
    for wrong in ("a member's own", "wrong", ""):
        with pytest.raises(WrongPassword):
            await accounts.deletion.delete(owner, wrong)

    await accounts.deletion.delete(owner, PASSWORD)

    left = {"accounts": 1, "users": 1, "sessions": 1, "api_keys": 1, "reset_tokens": 0, "audit": 1}
    async with database.reading() as connection:
        for table, number in left.items():
            assert (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one() == number, table


async def test_what_a_deleted_account_still_asks_for_is_refused(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    await accounts.deletion.delete(owner, PASSWORD)
    late = (
        accounts.members.add_user(owner, "member@acme.example", PASSWORD),
        accounts.api_keys.create(owner, "late"),
        accounts.api_keys.revoke(owner, 1),
        accounts.members.remove_user(owner, 1),
        accounts.password_reset.change(owner, PASSWORD),
    )
    for asked in late:
        with pytest.raises(RegisterwatchError):
            await asked


async def test_the_trail_says_who_did_what_newest_first_and_at_most_a_hundred(accounts: Accounts) -> None:
    opened = await signed_up(accounts)
    owner, key = await by_session(accounts, opened.session), await by_key(accounts, opened.api_key)
    profile = await accounts.members.add_user(key, "member@acme.example", PASSWORD)
    await accounts.members.remove_user(owner, profile.users[1].id)
    await accounts.api_keys.create(owner, "ERP")
    made = (await accounts.members.profile(owner)).keys[-1]
    await accounts.api_keys.revoke(owner, made.id)
    await accounts.api_keys.revoke(owner, made.id)
    await accounts.password_reset.change(owner, "another password")
    await accounts.admin.set_period(EMAIL, PlanName.STANDARD, 1_800_000_000)

    said = [(entry.actor, entry.action, entry.subject) for entry in await accounts.members.trail(owner)]

    assert said == [
        ("operator", "plan changed", "standard until 2027-01-15T08:00:00Z"),
        (EMAIL, "password changed", EMAIL),
        (EMAIL, "key revoked", f"{made.prefix} (ERP)"),
        (EMAIL, "key created", f"{made.prefix} (ERP)"),
        (EMAIL, "user removed", "member@acme.example"),
        (key.name, "user added", "member@acme.example"),
        (EMAIL, "account opened", ""),
    ]
    for _ in range(100):
        await accounts.sessions.login(EMAIL, "another password")
    trail = await accounts.members.trail(owner)
    assert len(trail) == 100
    assert {entry.action for entry in trail} == {"signed in"}
