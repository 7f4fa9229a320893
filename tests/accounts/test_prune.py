"""What goes when it is over, to the second, and what stays."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from registerwatch.accounts.passwords.password_reset import TOKEN_SECONDS
from registerwatch.accounts.prune import AUDIT_KEPT, REVOKED_KEYS_KEPT
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.errors import Unauthenticated
from registerwatch.mail.mailer import NoMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.accounts.actions import EMAIL, PASSWORD, by_key, by_session, owner_of, prove_address, signed_up
from tests.support.fakes import SteppedClock, quick_passwords

DAY = 24 * 3600
TABLES = ("accounts", "users", "api_keys", "sessions", "reset_tokens", "audit")


@pytest.fixture
def mail() -> NoMailer:
    """What is counted here are rows that nothing has to do with mails."""
    return NoMailer()


async def _rows(database: Database) -> dict[str, int]:
    async with database.reading() as connection:
        return {
            table: int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())
            for table in TABLES
        }


async def _number(database: Database, table: str) -> int:
    async with database.reading() as connection:
        return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())


def _without(rows: dict[str, int], **gone: int) -> dict[str, int]:
    return {table: number - gone.get(table, 0) for table, number in rows.items()}


async def test_where_nothing_is_over_nothing_goes(accounts: Accounts, database: Database) -> None:
    assert await accounts.pruner.prune() == 0
    await signed_up(accounts)
    await accounts.password_reset.link(EMAIL)
    before = await _rows(database)

    assert await accounts.pruner.prune() == 0
    assert await _rows(database) == before


async def test_a_session_goes_in_the_second_in_which_it_is_over(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    await signed_up(accounts)
    clock.move(1)
    later = await signed_up(accounts)
    before = await _rows(database)

    clock.move(SESSION_SECONDS - 2)
    assert await accounts.pruner.prune() == 0
    clock.move(1)
    assert await accounts.pruner.prune() == 1
    assert await _rows(database) == _without(before, sessions=1)
    await by_session(accounts, later.session)
    clock.move(1)
    assert await accounts.pruner.prune() == 1
    assert await accounts.pruner.prune() == 0


async def test_a_reset_token_goes_in_the_second_in_which_it_is_over(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    await signed_up(accounts)
    await accounts.password_reset.link(EMAIL)
    before = await _rows(database)

    clock.move(TOKEN_SECONDS - 1)
    assert await accounts.pruner.prune() == 0
    clock.move(1)
    assert await accounts.pruner.prune() == 1
    assert await _rows(database) == _without(before, reset_tokens=1)


async def test_a_key_goes_ninety_days_after_it_was_revoked(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    owner = await owner_of(accounts)
    owner = await by_key(accounts, (await accounts.api_keys.create(owner, "for good")).secret)  # outlives the session
    revoked = await accounts.api_keys.create(owner, "revoked")
    clock.move(SESSION_SECONDS)
    await accounts.pruner.prune()
    profile = await accounts.api_keys.revoke(owner, (await accounts.members.profile(owner)).keys[-1].id)
    before = await _rows(database)

    assert REVOKED_KEYS_KEPT == 90 * DAY
    clock.move(90 * DAY)
    await accounts.api_keys.revoke(owner, profile.keys[-1].id)
    assert await accounts.pruner.prune() == 0
    clock.move(1)
    assert await accounts.pruner.prune() == 1

    assert await _rows(database) == _without(before, api_keys=1)
    assert [key.label for key in (await accounts.members.profile(owner)).keys] == ["first key", "for good"]
    with pytest.raises(Unauthenticated):
        await by_key(accounts, revoked.secret)
    assert (await accounts.members.trail(owner))[0].subject.endswith("(revoked)")


async def test_a_line_of_the_trail_goes_after_four_hundred_days(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    opened = await signed_up(accounts)
    clock.move(1)
    await accounts.sessions.login(EMAIL, PASSWORD)
    clock.move(SESSION_SECONDS)
    assert await accounts.pruner.prune() == 2
    before = await _rows(database)

    assert AUDIT_KEPT == 400 * DAY
    clock.move(400 * DAY - SESSION_SECONDS - 1)
    assert await accounts.pruner.prune() == 0
    clock.move(1)
    assert await accounts.pruner.prune() == 1
    assert await _rows(database) == _without(before, audit=1)
    trail = await accounts.members.trail(await by_key(accounts, opened.api_key))
    assert [entry.action for entry in trail] == ["signed in"]


async def test_accounts_users_and_keys_that_work_stay_for_ever(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    opened = await signed_up(accounts)
    before = await _rows(database)

    clock.move(10_000 * DAY)
    assert await accounts.pruner.prune() == 2

    assert await _rows(database) == _without(before, sessions=1, audit=1)
    assert (await by_key(accounts, opened.api_key)).account.has_expired(clock.now())
    assert (await accounts.sessions.login(EMAIL, PASSWORD)).existing


async def test_what_was_deleted_by_its_owner_is_not_counted(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    opened = await signed_up(accounts)
    await accounts.password_reset.link(EMAIL)
    await accounts.sessions.logout(credential_of(None, opened.session))
    await accounts.deletion.delete(await by_key(accounts, opened.api_key), PASSWORD)

    clock.move(1_000 * DAY)
    assert await accounts.pruner.prune() == 0
    assert set((await _rows(database)).values()) == {0}


async def test_many_processes_that_tidy_at_once_delete_each_row_once(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    for index in range(5):
        owner = await owner_of(accounts, f"owner{index}@acme.example")
        await accounts.password_reset.link(f"owner{index}@acme.example")
        await accounts.api_keys.revoke(owner, (await accounts.members.profile(owner)).keys[0].id)
    clock.move(401 * DAY)

    deleted = await asyncio.gather(*(accounts.pruner.prune() for _ in range(6)))

    assert sum(deleted) == 5 * (1 + 1 + 1 + 2)
    assert await accounts.pruner.prune() == 0
    assert await _rows(database) == dict.fromkeys(TABLES, 0) | {"accounts": 5, "users": 5}


async def test_links_invitations_and_counts_of_mails_go_when_they_are_over(
    database: Database, clock: SteppedClock, tmp_path: Path
) -> None:
    clock.move(DAY - int(clock.now()) % DAY)
    accounts = build_accounts(Settings(data_dir=tmp_path), database, clock, MemoryMailer(), quick_passwords())
    await signed_up(accounts)
    await prove_address(accounts)
    owner = await by_session(accounts, (await accounts.sessions.login(EMAIL, PASSWORD)).session)
    await accounts.invitations.invite(owner, "invited@acme.example")
    await signed_up(accounts, "other@acme.example")

    clock.move(DAY - 1)
    assert await accounts.pruner.prune() == 0
    assert await _number(database, "mail_counts") == 5, "two accounts, three addresses"
    clock.move(1)
    await accounts.pruner.prune()
    assert await _number(database, "mail_counts") == 0
    clock.move(6 * DAY - 1)
    assert await accounts.pruner.prune() == 0
    clock.move(1)
    assert await accounts.pruner.prune() == 2, "an invitation and a link"
    await accounts.close()
