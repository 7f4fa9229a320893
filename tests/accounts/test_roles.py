"""Owners become members and members owners; invitations are listed and withdrawn."""

import asyncio

import pytest

from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import InvalidInput, LinkNotValid, Unauthenticated
from registerwatch.mail.memory_mailer import MemoryMailer
from tests.accounts.actions import EMAIL, PASSWORD, by_session, mails_settled, owner_of, prove_address
from tests.support.fakes import SteppedClock

MEMBER, GUEST = "member@acme.example", "guest@other.example"


async def _with_member(accounts: Accounts) -> tuple[Caller, int]:
    """A proven owner, and the id of a proven member."""
    owner = await owner_of(accounts)
    await prove_address(accounts)
    profile = await accounts.members.add_user(owner, MEMBER, PASSWORD)
    link = await accounts.password_reset.link(MEMBER)
    await accounts.password_reset.reset(link.rpartition("=")[2], PASSWORD)
    return owner, profile.users[1].id


async def _roles(accounts: Accounts, caller: Caller) -> dict[str, Role]:
    return {user.email: user.role for user in (await accounts.members.profile(caller)).users}


async def test_a_member_becomes_an_owner_and_their_next_request_is_one_of_an_owner(
    accounts: Accounts, mail: MemoryMailer
) -> None:
    owner, member = await _with_member(accounts)
    session = (await accounts.sessions.login(MEMBER, PASSWORD)).session
    await mails_settled(accounts)
    mail.mails.clear()

    await accounts.members.set_role(owner, member, Role.OWNER)
    await mails_settled(accounts)

    assert await _roles(accounts, owner) == {EMAIL: Role.OWNER, MEMBER: Role.OWNER}
    assert (await by_session(accounts, session)).role is Role.OWNER
    assert sorted(each.to for each in mail.mails) == [MEMBER, EMAIL]
    entry = (await accounts.members.trail(owner))[0]
    assert (entry.action, entry.subject) == ("role changed", f"{MEMBER}: owner")


async def test_a_role_that_somebody_has_changes_nothing(accounts: Accounts) -> None:
    owner, member = await _with_member(accounts)
    before = await accounts.members.trail(owner)

    await accounts.members.set_role(owner, member, Role.MEMBER)

    assert await accounts.members.trail(owner) == before


async def test_the_last_owner_stays_one_also_where_two_step_back_at_once(accounts: Accounts) -> None:
    owner, member = await _with_member(accounts)
    assert owner.user_id is not None
    with pytest.raises(InvalidInput, match="last owner"):
        await accounts.members.set_role(owner, owner.user_id, Role.MEMBER)
    await accounts.members.set_role(owner, member, Role.OWNER)
    other = await by_session(accounts, (await accounts.sessions.login(MEMBER, PASSWORD)).session)

    outcomes = await asyncio.gather(
        *(accounts.members.set_role(each, each.user_id or 0, Role.MEMBER) for each in (owner, other)),
        return_exceptions=True,
    )

    assert sorted(type(each).__name__ for each in outcomes) == ["InvalidInput", "Profile"]
    assert sorted((await _roles(accounts, owner)).values()) == [Role.MEMBER, Role.OWNER]


async def test_a_request_of_an_owner_that_waited_while_they_were_made_a_member_changes_nothing(
    accounts: Accounts,
) -> None:
    owner, member = await _with_member(accounts)
    await accounts.members.set_role(owner, member, Role.OWNER)
    other = await by_session(accounts, (await accounts.sessions.login(MEMBER, PASSWORD)).session)

    await accounts.members.set_role(owner, member, Role.MEMBER)

    for change in (
        accounts.members.set_role(other, member, Role.OWNER),
        accounts.api_keys.create(other, "a way back"),
        accounts.invitations.invite(other, "friend@other.example"),
    ):
        with pytest.raises(Unauthenticated):
            await change
    assert (await _roles(accounts, owner))[MEMBER] is Role.MEMBER


async def test_nobody_becomes_an_owner_before_their_address_is_proven(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    profile = await accounts.members.add_user(owner, MEMBER, PASSWORD)

    with pytest.raises(InvalidInput, match="not confirmed"):
        await accounts.members.set_role(owner, profile.users[1].id, Role.OWNER)


async def test_users_of_other_accounts_have_no_role_to_change(accounts: Accounts) -> None:
    owner, _ = await _with_member(accounts)
    stranger = await owner_of(accounts, "stranger@other.example")
    assert owner.user_id is not None

    with pytest.raises(InvalidInput, match="no user"):
        await accounts.members.set_role(stranger, owner.user_id, Role.MEMBER)


async def test_an_open_invitation_is_listed_until_it_is_withdrawn_or_over(
    accounts: Accounts, mail: MemoryMailer, clock: SteppedClock
) -> None:
    owner, stranger = await owner_of(accounts), await owner_of(accounts, "stranger@other.example")
    await prove_address(accounts)
    await accounts.invitations.invite(owner, GUEST)
    await mails_settled(accounts)
    token = mail.mails[-1].text.partition("token=")[2].split()[0]

    [listed] = await accounts.invitations.open(owner)
    assert (listed.email, listed.invited_by, listed.expires_at - listed.created_at) == (GUEST, EMAIL, 7 * 86_400)
    assert await accounts.invitations.open(stranger) == []
    with pytest.raises(InvalidInput, match="no open invitation"):
        await accounts.invitations.withdraw(stranger, GUEST)

    await accounts.invitations.withdraw(owner, GUEST)

    assert await accounts.invitations.open(owner) == []
    with pytest.raises(LinkNotValid):
        await accounts.invitations.look(token)
    assert (await accounts.members.trail(owner))[0].action == "invitation withdrawn"
    await accounts.invitations.invite(owner, GUEST)
    clock.move(7 * 86_400)
    assert await accounts.invitations.open(owner) == []


async def test_the_invitations_of_who_is_no_owner_any_more_lead_nowhere(accounts: Accounts, mail: MemoryMailer) -> None:
    owner, member = await _with_member(accounts)
    await accounts.invitations.invite(owner, GUEST)
    for end in ("made a member", "removed"):
        await accounts.members.set_role(owner, member, Role.OWNER)
        other = await by_session(accounts, (await accounts.sessions.login(MEMBER, PASSWORD)).session)
        await accounts.invitations.invite(other, "friend@other.example")
        assert len(await accounts.invitations.open(owner)) == 2
        if end == "removed":
            await accounts.members.remove_user(owner, member)
        else:
            await accounts.members.set_role(owner, member, Role.MEMBER)
        assert [each.email for each in await accounts.invitations.open(owner)] == [GUEST], end
