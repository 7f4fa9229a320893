"""What nearly every request asks of accounts: it is what is stored, and what has ended is gone for the next request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.queries import AccountQueries, profile_of
from registerwatch.accounts.sessions.credentials import Credential, credential_of, digest_of
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import Unauthenticated
from registerwatch.platform.db.engine import Database
from tests.accounts.actions import EMAIL, PASSWORD, by_key, by_session, owner_of, signed_up
from tests.support.fakes import SteppedClock

WAIT_SECONDS = 10.0
OTHER = "owner@other.example"
MEMBER = "member@acme.example"

Asked = Callable[[], Awaitable[Caller]]


@pytest.fixture
async def elsewhere(database_url: str) -> AsyncIterator[Database]:
    """The same database as another process has it."""
    opened = Database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
def reads(database: Database) -> AccountQueries:
    return AccountQueries(database)


async def test_an_account_is_seen_as_a_transaction_sees_it(
    accounts: Accounts, database: Database, reads: AccountQueries
) -> None:
    for email in (OTHER, EMAIL):
        caller = await owner_of(accounts, email)
        await accounts.members.add_user(caller, f"member-of-{email}", PASSWORD)
        for label in ("", "Ünïcode 🦷 %(x)s :digest ?", "'; DROP TABLE users; --", "revoked"):
            await accounts.api_keys.create(caller, label)
        newest = (await accounts.members.profile(caller)).keys[-1]
        await accounts.api_keys.revoke(caller, newest.id)

        async with database.transaction() as connection:
            in_transaction = await profile_of(connection, caller.account, caller.role)
            stored = await repository.user_by_email(connection, email)
        profile = await accounts.members.profile(caller)

        assert profile == in_transaction
        assert [user.email for user in profile.users] == [email, f"member-of-{email}"]
        assert [key.revoked for key in profile.keys] == [False] * 4 + [True]
        assert stored is not None
        assert await reads.user_by_email(email) == stored


async def test_a_session_is_its_user_and_a_key_its_account(accounts: Accounts) -> None:
    await signed_up(accounts, OTHER)
    opened = await signed_up(accounts)
    await accounts.members.add_user(await by_key(accounts, opened.api_key), MEMBER, PASSWORD)
    session = (await accounts.sessions.login(MEMBER, PASSWORD)).session

    profile = await accounts.members.profile(await by_key(accounts, opened.api_key))
    member, key = profile.users[1], profile.keys[0]
    assert await by_session(accounts, session) == Caller(
        opened.profile.account,
        Role.MEMBER,
        MEMBER,
        member.id,
        digest_of(session),
        proved_at=member.signed_in_at or 0,
    )
    assert await by_key(accounts, opened.api_key) == Caller(
        opened.profile.account, Role.OWNER, key.prefix, None, key_id=key.id
    )


async def test_an_account_that_is_not_there_has_nobody_and_nothing(accounts: Accounts, reads: AccountQueries) -> None:
    account = (await owner_of(accounts)).account
    for absent in (account.id + 1, 0, -1):
        assert not await reads.users(absent)
        assert not await reads.keys(absent)
    for email in ("", "nobody@acme.example", EMAIL.upper(), "%", "' OR 1 = 1 --"):
        assert await reads.user_by_email(email) is None


async def test_a_session_opens_nothing_as_a_key_and_a_key_nothing_as_a_session(
    accounts: Accounts, reads: AccountQueries, clock: SteppedClock
) -> None:
    opened = await signed_up(accounts)
    key, session = digest_of(str(opened.api_key)), digest_of(opened.session)
    now = int(clock.now())

    assert await reads.holder(Credential("key", key), now)
    assert await reads.holder(Credential("session", session), now)
    for wrong in (Credential("key", session), Credential("session", key), Credential("key", key.upper())):
        assert await reads.holder(wrong, now) is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE api_keys SET revoked_at = 1",
        "DELETE FROM api_keys",
        "DELETE FROM accounts",
    ],
)
async def test_a_key_that_ends_elsewhere_opens_nothing_from_the_next_request_on(
    accounts: Accounts, elsewhere: Database, statement: str
) -> None:
    opened = await signed_up(accounts)
    await _ends(lambda: by_key(accounts, opened.api_key), elsewhere, statement)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM sessions", "UPDATE sessions SET expires_at = 1", "DELETE FROM users", "DELETE FROM accounts"],
)
async def test_a_session_that_ends_elsewhere_opens_nothing_from_the_next_request_on(
    accounts: Accounts, elsewhere: Database, statement: str
) -> None:
    opened = await signed_up(accounts)
    await _ends(lambda: by_session(accounts, opened.session), elsewhere, statement)


async def test_a_session_is_over_at_the_second_at_which_it_ends(
    accounts: Accounts, reads: AccountQueries, clock: SteppedClock
) -> None:
    credential = credential_of(None, (await signed_up(accounts)).session)
    assert credential is not None
    ends = int(clock.now()) + SESSION_SECONDS
    assert [await reads.holder(credential, now) is not None for now in (ends - 1, ends, ends + 1)] == [
        True,
        False,
        False,
    ]


async def test_what_changes_elsewhere_is_so_from_the_next_request_on(accounts: Accounts, elsewhere: Database) -> None:
    opened = await signed_up(accounts)
    for statement, seen in (
        ("UPDATE users SET role = 'member'", ("trial", Role.MEMBER, EMAIL)),
        ("UPDATE accounts SET plan = 'standard'", ("standard", Role.MEMBER, EMAIL)),
        ("UPDATE users SET email = 'new@acme.example'", ("standard", Role.MEMBER, "new@acme.example")),
    ):
        async with elsewhere.transaction() as connection:
            await connection.execute(text(statement))
        caller = await by_session(accounts, opened.session)
        assert (caller.account.plan.name, caller.role, caller.name) == seen


async def test_a_key_opens_from_the_moment_at_which_it_was_made(accounts: Accounts) -> None:
    caller = await owner_of(accounts)
    for _ in range(5):
        new = await accounts.api_keys.create(caller, "ERP")
        assert (await by_key(accounts, new.secret)).account == caller.account


async def test_nothing_has_ended_before_it_is_committed(accounts: Accounts, elsewhere: Database) -> None:
    opened = await signed_up(accounts)
    async with _cancellations(elsewhere) as connection:
        await connection.execute(text("UPDATE api_keys SET revoked_at = 1"))
        await asyncio.wait_for(by_key(accounts, opened.api_key), WAIT_SECONDS)

    await by_key(accounts, opened.api_key)


async def test_requests_are_let_in_while_every_pooled_connection_is_in_use(
    accounts: Accounts, database: Database
) -> None:
    opened = await signed_up(accounts)
    holding = [asyncio.create_task(_hold(database)) for _ in range(20)]
    await asyncio.sleep(0)

    many = await asyncio.wait_for(
        asyncio.gather(*(by_session(accounts, opened.session) for _ in range(30))), WAIT_SECONDS
    )

    assert {caller.name for caller in many} == {EMAIL}
    for task in holding:
        task.cancel()
    await asyncio.gather(*holding, return_exceptions=True)


async def _ends(asked: Asked, elsewhere: Database, statement: str) -> None:
    """Whoever asks is let in until this has been done in another process, and never after."""
    for _ in range(3):
        await asked()
    async with elsewhere.transaction() as connection:
        await connection.execute(text(statement))
    with pytest.raises(Unauthenticated):
        await asked()


@asynccontextmanager
async def _cancellations(database: Database) -> AsyncIterator[AsyncConnection]:
    """A transaction that is given up."""

    class GivenUp(Exception):
        pass

    with pytest.raises(GivenUp):
        async with database.transaction() as connection:
            yield connection
            raise GivenUp


async def _hold(database: Database) -> None:
    async with database.reading() as connection:
        await connection.execute(text("SELECT 1"))
        await asyncio.Event().wait()
