"""Passkeys, by an authenticator in software: adding and removing them, signing in by one, and everything forged."""

import json
from copy import deepcopy
from dataclasses import replace

import pytest
from sqlalchemy import text

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.second_factors.passkey_repository import CHALLENGE_SECONDS
from registerwatch.accounts.second_factors.passkeys import MAX_PASSKEYS, has_passkeys
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import InvalidInput, SecondFactorNeeded, WrongCode
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from tests.accounts.actions import EMAIL, PASSWORD, by_session, mails_settled, owner_of, prove_address
from tests.accounts.authenticator import USER_PRESENT, Authenticator
from tests.accounts.second_factors import app_of
from tests.support.fakes import SteppedClock


async def passkey_of(accounts: Accounts, caller: Caller, label: str = "Phone", *, counts: bool = True) -> Authenticator:
    """An authenticator with a passkey of the user."""
    authenticator = Authenticator(counts=counts)
    answer = authenticator.create(await accounts.passkeys.registration_options(caller))
    await accounts.passkeys.add(caller, label, answer)
    return authenticator


@pytest.mark.parametrize(
    ("address", "possible"),
    [
        ("https://watch.example", True),
        ("https://watch.example:8443/base", True),
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", False),
        ("https://[::1]", False),
        ("http://watch.example", False),
    ],
)
def test_browsers_have_passkeys_for_names_over_https(address: str, possible: bool) -> None:
    assert has_passkeys(address) is possible


async def test_a_passkey_signs_in_without_a_password_and_is_a_second_factor(
    accounts: Accounts, clock: SteppedClock
) -> None:
    caller = await owner_of(accounts)
    authenticator = Authenticator()
    options = await accounts.passkeys.registration_options(caller)
    asked = json.loads(options)
    assert (asked["rp"]["id"], asked["user"]["name"]) == ("localhost", EMAIL)
    assert asked["authenticatorSelection"]["userVerification"] == "required"
    assert EMAIL.encode() not in authenticator.user_handle

    codes = await accounts.passkeys.add(caller, "  My\nphone ", authenticator.create(options))
    assert len(codes) == 10
    clock.move(60)
    opened = await accounts.passkeys.sign_in(authenticator.get(await accounts.passkeys.sign_in_options()))

    assert (await by_session(accounts, opened.session)).name == EMAIL
    [passkey] = await accounts.passkeys.all(caller)
    assert (passkey.label, passkey.created_at, passkey.last_used_at) == (
        "My phone",
        int(clock.now()) - 60,
        int(clock.now()),
    )
    assert (await accounts.members.trail(caller))[0].subject.endswith("by passkey")
    with pytest.raises(SecondFactorNeeded):
        await accounts.sessions.login(EMAIL, PASSWORD)
    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=codes[0])).session
    await accounts.passkeys.rename(caller, passkey.id, "Key ring")
    assert (await accounts.passkeys.all(caller))[0].label == "Key ring"
    await accounts.passkeys.remove(caller, passkey.id)
    assert (await accounts.sessions.login(EMAIL, PASSWORD)).session, "and its recovery codes went with it"
    with pytest.raises(WrongCode, match="not known"):
        await accounts.passkeys.sign_in(authenticator.get(await accounts.passkeys.sign_in_options()))


async def test_within_a_step_the_users_own_passkeys_are_named_and_it_ends_by_one(accounts: Accounts) -> None:
    caller = await owner_of(accounts)
    authenticator = await passkey_of(accounts, caller, counts=False)
    step = await accounts.sessions.begin(EMAIL, PASSWORD)
    assert isinstance(step, NewStep)

    options = await accounts.passkeys.sign_in_options(step.token)

    assert len(json.loads(options)["allowCredentials"]) == 1
    assert json.loads(await accounts.passkeys.sign_in_options("no step"))["allowCredentials"] == []
    for _ in range(2):  # one that does not count always tells 0
        await accounts.passkeys.sign_in(authenticator.get(options))
        with pytest.raises(InvalidInput):
            await accounts.second_step.look(step.token)
        options = await accounts.passkeys.sign_in_options()


async def test_a_challenge_is_for_one_answer_of_one_kind_within_five_minutes(
    accounts: Accounts, clock: SteppedClock
) -> None:
    caller, other = await owner_of(accounts), await owner_of(accounts, "other@other.example")
    authenticator = await passkey_of(accounts, caller)
    options = await accounts.passkeys.sign_in_options()
    await accounts.passkeys.sign_in(authenticator.get(options))
    late, of_registration = (
        await accounts.passkeys.sign_in_options(),
        await accounts.passkeys.registration_options(caller),
    )
    for_other = Authenticator().create(await accounts.passkeys.registration_options(other))
    for_sign_in = json.loads(of_registration) | {
        "challenge": json.loads(await accounts.passkeys.sign_in_options())["challenge"]
    }

    for refused in (options, of_registration):
        with pytest.raises(WrongCode):
            await accounts.passkeys.sign_in(authenticator.get(refused))
    for answer in (for_other, Authenticator().create(json.dumps(for_sign_in))):
        with pytest.raises(InvalidInput, match="five minutes"):
            await accounts.passkeys.add(caller, "", answer)
    clock.move(CHALLENGE_SECONDS)
    with pytest.raises(WrongCode):
        await accounts.passkeys.sign_in(authenticator.get(late))
    with pytest.raises(InvalidInput):
        await accounts.passkeys.add(caller, "", Authenticator().create(of_registration))
    assert len(await accounts.passkeys.all(caller)) == 1


async def test_what_is_forged_signs_nobody_in(accounts: Accounts) -> None:
    caller = await owner_of(accounts)
    authenticator = await passkey_of(accounts, caller)
    forged = {
        "another site": replace(authenticator, origin="https://evil.example"),
        "another service": replace(authenticator, relying_party="evil.example"),
        "another key": replace(authenticator, key=Authenticator().key),
        "nobody verified": replace(authenticator, flags=USER_PRESENT),
        "nobody present": replace(authenticator, flags=0),
        "another passkey": Authenticator(relying_party="localhost"),
    }

    for why, each in forged.items():
        with pytest.raises(WrongCode):
            pytest.fail(
                f"{why}: {await accounts.passkeys.sign_in(each.get(await accounts.passkeys.sign_in_options()))}"
            )
    assert accounts.sessions.failures.total == len(forged)
    options = await accounts.passkeys.registration_options(caller)
    for why, each in (("another site", Authenticator("https://evil.example")), ("nobody", Authenticator(flags=1))):
        with pytest.raises(WrongCode):
            pytest.fail(f"{why}: {await accounts.passkeys.add(caller, '', each.create(options))}")

    assert (await accounts.passkeys.sign_in(authenticator.get(await accounts.passkeys.sign_in_options()))).session


async def test_no_answer_is_an_error_of_the_service(accounts: Accounts) -> None:
    caller = await owner_of(accounts)
    authenticator = await passkey_of(accounts, caller)
    right = json.loads(authenticator.get(await accounts.passkeys.sign_in_options()))
    broken = ["", "{", "null", "[]", "{}", "[" * 5_000, '"\ud800"', json.dumps({**right, "id": 7})]
    values: list[object] = ["", "!", "AAAA", None, 7, {}, "e30"]
    for name in right["response"]:
        for value in values:
            if (name, value) == ("userHandle", None):
                continue  # an authenticator need not say it
            answer = deepcopy(right)
            answer["response"][name] = value
            broken.append(json.dumps(answer))

    for answer in broken:
        with pytest.raises((WrongCode, InvalidInput)):
            await accounts.passkeys.sign_in(answer)
        with pytest.raises((WrongCode, InvalidInput)):
            await accounts.passkeys.add(caller, "", answer)


async def test_a_passkey_whose_count_went_back_is_refused_and_told(accounts: Accounts, mail: MemoryMailer) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    authenticator = await passkey_of(accounts, caller, "Key <b>")
    copy = replace(authenticator)
    for _ in range(2):
        await accounts.passkeys.sign_in(authenticator.get(await accounts.passkeys.sign_in_options()))
    await mails_settled(accounts)
    mail.mails.clear()

    with pytest.raises(WrongCode, match="copied"):
        await accounts.passkeys.sign_in(copy.get(await accounts.passkeys.sign_in_options()))

    await mails_settled(accounts)
    await accounts.sessions.failures.settled()
    assert ["Key <b>" in each.text for each in mail.mails] == [True]
    assert Action.PASSKEY_COPIED in [entry.action for entry in await accounts.members.trail(caller)]
    await accounts.passkeys.sign_in(authenticator.get(await accounts.passkeys.sign_in_options()))


async def test_a_user_has_so_many_passkeys_and_touches_those_of_nobody_else(
    accounts: Accounts, clock: SteppedClock, database: Database
) -> None:
    caller, other = await owner_of(accounts), await owner_of(accounts, "other@other.example")
    app = await app_of(accounts, caller, clock)
    for _ in range(MAX_PASSKEYS):
        authenticator = await passkey_of(accounts, caller)
    with pytest.raises(InvalidInput, match="20 passkeys"):
        await accounts.passkeys.registration_options(caller)
    [first, *_] = await accounts.passkeys.all(caller)

    await accounts.passkeys.rename(other, first.id, "taken")
    await accounts.passkeys.remove(other, first.id)
    with pytest.raises(InvalidInput, match="here already"):
        await accounts.passkeys.add(
            other, "", authenticator.create(await accounts.passkeys.registration_options(other))
        )

    assert first in await accounts.passkeys.all(caller)
    await accounts.passkeys.remove(caller, first.id)
    with pytest.raises(SecondFactorNeeded):
        await accounts.sessions.login(EMAIL, PASSWORD)
    assert (await accounts.sessions.login(EMAIL, PASSWORD, code=app.next_code())).session
    await accounts.second_factors.reset(EMAIL)
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM passkeys"))).scalar_one() == 0
