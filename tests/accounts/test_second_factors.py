"""Authenticator apps and recovery codes: turning them on and off, signing in with them, guessing."""

import asyncio
import base64
from collections import Counter
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import text

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewSession
from registerwatch.accounts.passwords.password_reset import EndedAccess
from registerwatch.accounts.second_factors import recovery_codes, second_factor_repository, totp
from registerwatch.accounts.second_factors.code_check import MAILED_AT
from registerwatch.accounts.second_factors.guessed_codes import MAX_ELSEWHERE, MAX_OF_NETWORK
from registerwatch.accounts.sessions.clients import Client
from registerwatch.accounts.sessions.sign_in_steps import MAX_TRIES, NewStep
from registerwatch.accounts.sessions.sign_in_steps import STEP_SECONDS as SECONDS_OF_A_STEP
from registerwatch.accounts.tables import SEALED, owner_of_app_secret
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import (
    ConfigurationError,
    InvalidInput,
    RateLimited,
    SecondFactorNeeded,
    SecretUnreadable,
    SignInStepOver,
    WrongCode,
    WrongPassword,
)
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.sealed_columns import reseal
from registerwatch.platform.secret_cipher import SecretCipher, key_id_of
from tests.accounts.actions import (
    EMAIL,
    PASSWORD,
    by_key,
    by_session,
    mails_settled,
    owner_of,
    prove_address,
    signed_up,
)
from tests.accounts.second_factors import RECOVERY_CODE, app_of
from tests.support.fakes import SteppedClock

DAY = 24 * 3600
WRONG = "000000"


async def actions_of(accounts: Accounts, caller: Caller) -> list[str]:
    """What the account's trail says was done, newest first."""
    await accounts.sessions.failures.settled()
    return [entry.action for entry in await accounts.members.trail(caller)]


async def begun(accounts: Accounts) -> str:
    """The token of a sign-in whose password was right."""
    step = await accounts.sessions.begin(EMAIL, PASSWORD)
    assert isinstance(step, NewStep)
    return step.token


def test_a_code_is_right_one_step_before_and_after_and_works_once() -> None:
    """The secret and the codes of RFC 6238, appendix B, in six digits."""
    secret = base64.b32encode(b"12345678901234567890").decode()

    for now, code in ((1234567890, "005924"), (1111111109, "081804"), (20000000000, "353130")):
        step = now // totp.STEP_SECONDS
        for drift in (-30, 0, 30):
            assert totp.step_of(secret, code, now + drift, after=step - 1) == step
            assert totp.step_of(secret, code, now + drift, after=step) is None
        for drift in (-60, 60):
            assert totp.step_of(secret, code, now + drift, after=0) is None


@pytest.mark.parametrize(
    "typed", ["ABCD-efgh-2345-wxyz", " abcd efgh 2345 wxyz ", "ａｂｃｄefgh２３４５wxyz", "abcd–efgh‐2345wxyz"]
)
def test_a_recovery_code_is_right_however_it_is_typed(typed: str) -> None:
    assert recovery_codes.digest_of_code(7, typed) == recovery_codes.digest_of_code(7, "abcd-efgh-2345-wxyz")
    assert recovery_codes.digest_of_code(8, typed) != recovery_codes.digest_of_code(7, typed)


def test_recovery_codes_are_ten_and_look_like_what_they_are() -> None:
    codes = recovery_codes.new_codes()
    assert len(set(codes)) == recovery_codes.CODES
    assert all(RECOVERY_CODE.fullmatch(code) for code in codes)


async def test_an_app_counts_from_its_first_code_on(accounts: Accounts, clock: SteppedClock) -> None:
    caller = await owner_of(accounts)
    enrolment = await accounts.second_factors.begin_totp(caller)
    asked = parse_qs(urlsplit(enrolment.uri).query)
    assert (asked["secret"], asked["issuer"]) == ([enrolment.secret], ["Registerwatch"])
    assert await accounts.second_factors.enrolment(caller) == enrolment
    with pytest.raises(InvalidInput, match="not the code"):
        await accounts.second_factors.confirm_totp(caller, WRONG)
    assert not (await accounts.sessions.login(EMAIL, PASSWORD)).api_key, "nothing is asked for yet"

    app = await app_of(accounts, caller, clock)

    assert len(app.recovery_codes) == recovery_codes.CODES
    assert app.secret != enrolment.secret, "the first secret went with the first try"
    assert await accounts.second_factors.enrolment(caller) is None
    for again in (accounts.second_factors.begin_totp(caller), accounts.second_factors.confirm_totp(caller, app.code())):
        with pytest.raises(InvalidInput):
            await again
    factors = await accounts.second_factors.of(caller)
    assert (factors.totp_since, factors.recovery_codes, factors.names) == (int(clock.now()), 10, ["authenticator app"])


async def test_a_login_asks_for_the_code_where_the_password_is_right_and_takes_it_once(
    accounts: Accounts, clock: SteppedClock
) -> None:
    opened = await signed_up(accounts)
    caller = await by_session(accounts, opened.session)
    app = await app_of(accounts, caller, clock)

    with pytest.raises(WrongPassword):
        await accounts.sessions.login(EMAIL, "wrong password", code=app.next_code())
    for attempt in (accounts.sessions.login, lambda *given: accounts.sessions.trial("", *given)):
        with pytest.raises(SecondFactorNeeded):
            await attempt(EMAIL, PASSWORD)
    with pytest.raises(WrongCode):
        await accounts.sessions.login(EMAIL, PASSWORD, code=WRONG)
    await accounts.sessions.failures.settled()
    code = app.code()
    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=f"{code[:3]} {code[3:]}")).session
    for used in (code, app.code(-1)):
        with pytest.raises(WrongCode):
            await accounts.sessions.login(EMAIL, PASSWORD, code=used)
    await accounts.sessions.failures.settled()
    assert (await accounts.sessions.trial("", EMAIL, PASSWORD, code=app.next_code())).existing
    assert (await by_key(accounts, opened.api_key)).user_id is None, "keys go on"
    assert (await actions_of(accounts, caller))[:4] == [
        Action.SIGNED_IN,
        Action.SIGN_IN_FAILED,
        Action.SIGN_IN_FAILED,
        Action.SIGNED_IN,
    ]


async def test_one_code_opens_one_session_however_many_sign_in_at_once(accounts: Accounts, clock: SteppedClock) -> None:
    app = await app_of(accounts, await owner_of(accounts), clock)
    code = app.next_code()

    tries = [accounts.sessions.login(EMAIL, PASSWORD, code=code) for _ in range(5)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)

    assert Counter(map(type, outcomes)) == {NewSession: 1, WrongCode: 4}


async def test_a_recovery_code_works_once_and_its_use_is_told(
    accounts: Accounts, clock: SteppedClock, mail: MemoryMailer
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    app = await app_of(accounts, caller, clock)
    await mails_settled(accounts)
    mail.mails.clear()

    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=app.recovery_codes[3].upper())).session
    with pytest.raises(WrongCode):
        await accounts.sessions.login(EMAIL, PASSWORD, code=app.recovery_codes[3])

    await mails_settled(accounts)
    assert ["recovery code; 9 are left" in each.text for each in mail.mails] == [True]
    assert Action.RECOVERY_CODE_USED in await actions_of(accounts, caller)
    anew = await accounts.second_factors.make_recovery_codes(caller)
    with pytest.raises(WrongCode):
        await accounts.sessions.login(EMAIL, PASSWORD, code=app.recovery_codes[4])
    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=anew[0])).session


async def test_a_step_ends_with_its_session_after_five_wrong_codes_and_after_ten_minutes(
    accounts: Accounts, clock: SteppedClock
) -> None:
    caller = await owner_of(accounts)
    assert isinstance(await accounts.sessions.begin(EMAIL, PASSWORD), NewSession), "nothing is asked of others"
    app = await app_of(accounts, caller, clock)

    token = await begun(accounts)
    assert (await accounts.second_step.look(token)).email == EMAIL
    assert (
        await by_session(accounts, (await accounts.second_step.finish(token, app.next_code())).session)
    ).name == EMAIL
    wrong = await begun(accounts)
    for _ in range(MAX_TRIES):
        with pytest.raises(WrongCode):
            await accounts.second_step.finish(wrong, WRONG)
    slow = await begun(accounts)
    clock.move(SECONDS_OF_A_STEP)

    for over in (token, wrong, slow, "", "another"):
        with pytest.raises(SignInStepOver):
            await accounts.second_step.finish(over, app.code())
        with pytest.raises(SignInStepOver):
            await accounts.second_step.look(over)


async def test_a_new_password_ends_steps_that_the_old_one_began(accounts: Accounts, clock: SteppedClock) -> None:
    caller = await owner_of(accounts)
    app = await app_of(accounts, caller, clock)
    token = await begun(accounts)

    await accounts.password_reset.change(caller, "another password")

    with pytest.raises(SignInStepOver):
        await accounts.second_step.finish(token, app.next_code())


HOME, THIEF = Client("192.0.2.1", "192.0.2.1"), Client("203.0.113.9", "203.0.113.9")


async def guess(accounts: Accounts, client: Client, times: int) -> None:
    """Give wrong codes after the right password, on both ways."""
    for number in range(times):
        with pytest.raises(WrongCode):
            if number % 2:
                await accounts.second_step.finish(await begun(accounts), WRONG, client)
            else:
                await accounts.sessions.login(EMAIL, PASSWORD, client, WRONG)


async def test_guessing_codes_ends_for_a_day_where_it_comes_from_and_is_told(
    accounts: Accounts, clock: SteppedClock, mail: MemoryMailer
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    app = await app_of(accounts, caller, clock)
    await mails_settled(accounts)
    mail.mails.clear()

    for number in range(MAX_OF_NETWORK):
        await guess(accounts, THIEF, 1)
        await mails_settled(accounts)
        assert len(mail.mails) == (number + 1 >= MAILED_AT) + (number + 1 == MAX_OF_NETWORK)
    assert "20 wrong codes from 203.0.113.9, and codes are not taken from there until" in mail.mails[-1].text
    clock.move(DAY - 1)
    with pytest.raises(RateLimited, match="recovery code"):
        await accounts.sessions.login(EMAIL, PASSWORD, THIEF, app.code())
    with pytest.raises(RateLimited):
        await accounts.second_step.finish(await begun(accounts), app.code(), THIEF)
    assert (await accounts.sessions.login(EMAIL, PASSWORD, THIEF, app.recovery_codes[0])).session
    assert (await accounts.sessions.login(EMAIL, PASSWORD, HOME, app.code())).session, "nobody guessed from there"
    clock.move(2)

    assert (await accounts.sessions.login(EMAIL, PASSWORD, THIEF, app.next_code())).session


async def test_guesses_from_many_networks_end_codes_but_where_the_user_signed_in(
    accounts: Accounts, clock: SteppedClock
) -> None:
    app = await app_of(accounts, await owner_of(accounts), clock)
    assert (await accounts.sessions.login(EMAIL, PASSWORD, HOME, app.next_code())).session
    thieves = [Client(f"203.0.113.{number}", f"203.0.113.{number}") for number in range(MAX_ELSEWHERE + 1)]
    for thief in thieves[:-1]:
        await guess(accounts, thief, 1)

    with pytest.raises(RateLimited):
        await accounts.sessions.login(EMAIL, PASSWORD, thieves[-1], app.next_code())
    assert (await accounts.sessions.login(EMAIL, PASSWORD, HOME, app.next_code())).session
    await guess(accounts, HOME, MAX_OF_NETWORK)
    with pytest.raises(RateLimited):
        await accounts.sessions.login(EMAIL, PASSWORD, HOME, app.next_code())


async def test_a_mailed_link_lets_codes_count_anew_once_a_day(accounts: Accounts, clock: SteppedClock) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    app = await app_of(accounts, caller, clock)
    for is_first in (True, False):
        await guess(accounts, THIEF, MAX_OF_NETWORK)
        token = (await accounts.password_reset.link(EMAIL)).rpartition("=")[2]
        await accounts.password_reset.reset(token, PASSWORD, THIEF)
        if is_first:
            assert (await accounts.sessions.login(EMAIL, PASSWORD, Client("198.51.100.1", ""), app.next_code())).session
            continue
        with pytest.raises(RateLimited):
            await accounts.sessions.login(EMAIL, PASSWORD, THIEF, app.next_code())
    with pytest.raises(WrongCode):
        await accounts.sessions.login(EMAIL, PASSWORD, HOME, WRONG)
    assert (await accounts.sessions.login(EMAIL, PASSWORD, HOME, app.next_code())).session


async def test_the_last_factor_takes_its_recovery_codes_along(accounts: Accounts, clock: SteppedClock) -> None:
    caller = await owner_of(accounts)
    app = await app_of(accounts, caller, clock)

    await accounts.second_factors.remove_totp(caller)

    assert not (await accounts.second_factors.of(caller)).recovery_codes
    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=app.recovery_codes[0])).session, "no code is asked for"
    with pytest.raises(InvalidInput, match="first"):
        await accounts.second_factors.make_recovery_codes(caller)
    await accounts.second_factors.remove_totp(caller)
    assert (await actions_of(accounts, caller)).count(Action.SECOND_FACTOR_REMOVED) == 1


async def test_the_operator_removes_what_a_user_has_lost(accounts: Accounts, clock: SteppedClock) -> None:
    caller = await owner_of(accounts)
    await app_of(accounts, caller, clock)

    await accounts.second_factors.reset(f" {EMAIL.upper()}")

    assert (await accounts.sessions.login(EMAIL, PASSWORD)).session
    newest = (await accounts.members.trail(caller))[1]
    assert (newest.actor, newest.action) == ("operator", Action.SECOND_FACTOR_REMOVED)
    with pytest.raises(InvalidInput, match="no second factor"):
        await accounts.second_factors.reset(EMAIL)


async def test_who_reads_the_mailbox_alone_gets_no_further_than_the_code(
    accounts: Accounts, clock: SteppedClock
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    await app_of(accounts, caller, clock)

    for ends in (None, *EndedAccess):
        token = (await accounts.password_reset.link(EMAIL)).rpartition("=")[2]
        await accounts.password_reset.reset(token, "a new password", ends=ends)
        with pytest.raises(SecondFactorNeeded):
            await accounts.sessions.login(EMAIL, "a new password")
        clock.move(3600)


@pytest.mark.parametrize("role", ["owner", "member"])
async def test_what_a_stranger_set_up_goes_when_the_address_is_proven(
    role: str, accounts: Accounts, clock: SteppedClock
) -> None:
    email = EMAIL
    caller = await owner_of(accounts)
    if role == "member":
        email = "member@acme.example"
        await accounts.members.add_user(caller, email, PASSWORD)
        caller = await by_session(accounts, (await accounts.sessions.login(email, PASSWORD)).session)
    await app_of(accounts, caller, clock)

    token = (await accounts.password_reset.link(email)).rpartition("=")[2]
    await accounts.password_reset.reset(token, "a new password")

    assert (await accounts.sessions.login(email, "a new password")).session


async def test_only_users_have_second_factors(accounts: Accounts) -> None:
    key = await by_key(accounts, (await signed_up(accounts)).api_key)
    with pytest.raises(InvalidInput, match="signed in"):
        await accounts.second_factors.begin_totp(key)


async def test_who_has_what_is_told_for_each_user_of_the_account_alone(
    accounts: Accounts, clock: SteppedClock, database: Database
) -> None:
    owner = await owner_of(accounts)
    added = await accounts.members.add_user(owner, "member@acme.example", PASSWORD)
    await app_of(accounts, owner, clock)
    await app_of(accounts, await owner_of(accounts, "other@other.example"), clock)

    async with database.reading() as connection:
        told = await second_factor_repository.second_factors_of(connection, owner.account.id)

    assert {user: factors.is_on for user, factors in told.items()} == {
        added.users[0].id: True,
        added.users[1].id: False,
    }


async def test_what_is_over_is_deleted(accounts: Accounts, clock: SteppedClock, database: Database) -> None:
    owner = await owner_of(accounts)
    await app_of(accounts, owner, clock)
    other = await owner_of(accounts, "other@other.example")
    await accounts.second_factors.begin_totp(other)
    with pytest.raises(WrongCode):
        await accounts.second_step.finish(await begun(accounts), WRONG)
    clock.move(DAY)

    await accounts.pruner.prune()

    async with database.reading() as connection:
        for table, rows in (("sign_in_steps", 0), ("guessed_codes", 0), ("totp_factors", 1), ("recovery_codes", 10)):
            counted = (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()
            assert counted == rows, table


async def test_secrets_of_apps_are_encrypted_under_the_present_key_when_the_service_starts(
    accounts: Accounts, clock: SteppedClock, database: Database
) -> None:
    caller = await owner_of(accounts)
    app = await app_of(accounts, caller, clock)
    old, new = b"o" * 32, b"n" * 32

    async def stored() -> str:
        async with database.reading() as connection:
            return str((await connection.execute(text("SELECT secret FROM totp_factors"))).scalar_one())

    assert await stored() == app.secret
    for keys in ((), (old,), (new, old), (new,)):
        cipher = SecretCipher(keys)
        await reseal(database, cipher, SEALED)
        secret = await stored()
        assert key_id_of(secret) == cipher.current
        assert cipher.opened(secret, owner_of_app_secret(caller.user_id or 0)) == app.secret
    with pytest.raises(ConfigurationError, match="authenticator apps"):
        await reseal(database, SecretCipher((old,)), SEALED)
    with pytest.raises(SecretUnreadable):
        await accounts.sessions.login(EMAIL, PASSWORD, code=app.next_code())
