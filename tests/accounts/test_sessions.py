"""Opening accounts, signing in and out, and whom credentials stand for."""

import asyncio

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text

from registerwatch.accounts.models import NewSession
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import Unauthenticated, WrongPassword
from registerwatch.platform.db.engine import Database
from tests.accounts.actions import EMAIL, PASSWORD, by_key, by_session, signed_up
from tests.support.harness import ServiceStarter

DAY = 24 * 3600


async def test_a_new_service_has_no_account_and_nobody_gets_in(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        rows = harness.all_rows()
        assert {name: rows[name] for name in ("accounts", "users", "api_keys", "sessions")} == {
            "accounts": [],
            "users": [],
            "api_keys": [],
            "sessions": [],
        }
        for name in ("admin", "root", "demo"):
            fields = {"email": f"{name}@example.org", "password": name * 2}
            assert (await harness.client.post("/v1/login", json=fields)).status_code == 401


async def test_a_trial_with_a_known_address_signs_in_without_a_new_key(accounts: Accounts) -> None:
    first = await signed_up(accounts)
    again = await accounts.sessions.trial("Other", f" {EMAIL.upper()} ", PASSWORD)

    assert again.existing
    assert again.api_key is None
    assert again.session != first.session
    assert again.profile.account.name == "Acme"
    assert len(again.profile.keys) == 1


async def test_of_many_simultaneous_trials_with_one_address_one_opens_an_account(
    accounts: Accounts, database: Database
) -> None:
    opened = await asyncio.gather(*(signed_up(accounts) for _ in range(8)))

    assert sorted(each.existing for each in opened) == [False] + [True] * 7
    assert len({each.profile.account.id for each in opened}) == 1
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM accounts"))).scalar_one() == 1


async def test_a_user_without_a_password_cannot_sign_in_with_any(accounts: Accounts, database: Database) -> None:
    await signed_up(accounts)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = NULL"))
    for password in ("", PASSWORD):
        with pytest.raises(WrongPassword):
            await accounts.sessions.login(EMAIL, password)


async def test_signing_out_ends_that_session_alone(accounts: Accounts) -> None:
    first, second = await signed_up(accounts), await signed_up(accounts)

    await accounts.sessions.logout(credential_of(None, first.session))
    await accounts.sessions.logout(credential_of(first.api_key, None))
    await accounts.sessions.logout(None)

    with pytest.raises(Unauthenticated):
        await by_session(accounts, first.session)
    await by_session(accounts, second.session)
    await by_key(accounts, first.api_key)


async def test_signing_in_stores_the_password_anew_when_the_parameters_have_changed(
    accounts: Accounts, database: Database
) -> None:
    await signed_up(accounts)
    older = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(PASSWORD)
    await _store_hash(database, older)

    await accounts.sessions.login(EMAIL, PASSWORD)

    stored = await _stored_hash(database)
    assert stored != older
    assert not accounts.passwords.is_outdated(stored)
    await accounts.sessions.login(EMAIL, PASSWORD)
    assert await _stored_hash(database) == stored


async def test_a_login_that_a_new_password_overtakes_is_refused(accounts: Accounts, database: Database) -> None:
    """The session of an old password must not come to life after a new one has ended all sessions."""
    await signed_up(accounts)

    class Overtaken(type(accounts.passwords)):  # type: ignore[misc]  # the class of a fixture's part
        async def is_right(self, password: str, stored: str | None) -> bool:
            right = await accounts.passwords.is_right(password, stored)
            await _store_hash(database, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("a new one"))
            return right

    accounts.sessions._passwords = Overtaken()
    with pytest.raises(WrongPassword):
        await accounts.sessions.login(EMAIL, PASSWORD)


def test_nothing_secret_is_in_the_words_of_what_was_opened() -> None:
    opened = NewSession(None, False, "us_secret", "rw_secret")  # type: ignore[arg-type]  # the words are looked at
    assert "secret" not in repr(opened)


async def _store_hash(database: Database, password_hash: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE users SET password_hash = :value"), {"value": password_hash})


async def _stored_hash(database: Database) -> str:
    async with database.reading() as connection:
        return str((await connection.execute(text("SELECT password_hash FROM users"))).scalar_one())
