"""Keys, sessions and tokens: their forms, what is shown of them, and which one a request carries."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.accounts.models import NewKey, NewSession, Scope
from registerwatch.accounts.sessions.credentials import (
    MAX_SECRET_LENGTH,
    Credential,
    credential_of,
    digest_of,
    is_same,
    masked,
    new_key,
    new_session,
    new_token,
)
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import Unauthenticated
from tests.accounts.actions import by_key, by_session, signed_up
from tests.register.builders import PROPERTY

KEY = "rw_ab" + "c" * 37 + "wxyz"
SESSION = "us_" + "s" * 43


def test_keys_sessions_and_tokens_have_their_forms_and_none_comes_twice() -> None:
    made = [(new_key(), new_session(), new_token()) for _ in range(500)]

    for key, session, token in made:
        assert re.fullmatch(r"rw_[A-Za-z0-9_-]{43}", key)
        assert re.fullmatch(r"us_[A-Za-z0-9_-]{43}", session)
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert len({secret[-43:] for each in made for secret in each}) == 1_500


def test_a_key_is_shown_by_its_first_two_and_last_four_characters() -> None:
    assert masked(KEY) == "rw_ab…wxyz"


@PROPERTY
@given(st.builds(new_key))
def test_at_most_six_characters_of_a_key_are_ever_shown(key: str) -> None:
    shown = masked(key)

    assert re.fullmatch(r"rw_[A-Za-z0-9_-]{2}…[A-Za-z0-9_-]{4}", shown)
    assert len(shown.removeprefix("rw_").replace("…", "")) == 6
    assert (key[:5], key[-4:]) == tuple(shown.split("…"))


def test_the_digest_is_that_of_sha_256() -> None:
    assert digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert is_same(digest_of("abc"), digest_of("abc"))
    assert not is_same(digest_of("abc"), digest_of("abd"))


@pytest.mark.parametrize(
    ("api_key", "bearer", "kind", "secret"),
    [
        (KEY, None, "key", KEY),
        (None, KEY, "key", KEY),
        (None, SESSION, "session", SESSION),
        (SESSION, None, "key", SESSION),
        (KEY, SESSION, "key", KEY),
        (SESSION, KEY, "key", SESSION),
        ("", SESSION, "session", SESSION),
        (f"  {KEY}\t", None, "key", KEY),
        (None, f" {SESSION} ", "session", SESSION),
        (None, "us_", "session", "us_"),
        (None, "US_" + "s" * 43, "key", "US_" + "s" * 43),
        (None, "x" * MAX_SECRET_LENGTH, "key", "x" * MAX_SECRET_LENGTH),
        ("schlüssel 🦷", None, "key", "schlüssel 🦷"),
        ("\ud800", None, "key", "\ud800"),
        ("\0", None, "key", "\0"),
    ],
    ids=ascii,
)
def test_the_key_header_wins_and_a_session_comes_as_a_bearer_alone(
    api_key: str | None, bearer: str | None, kind: str, secret: str
) -> None:
    credential = credential_of(api_key, bearer)

    assert credential is not None
    assert (credential.kind, credential.digest) == (kind, digest_of(secret))


@pytest.mark.parametrize(
    ("api_key", "bearer"),
    [
        (None, None),
        ("", ""),
        (" \t ", None),
        (None, "\u00a0\r\n"),
        ("x" * (MAX_SECRET_LENGTH + 1), None),
        (None, "us_" + "x" * MAX_SECRET_LENGTH),
        (None, "x" * 1_000_000),
        ("x" * (MAX_SECRET_LENGTH + 1), SESSION),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_nothing_and_what_is_longer_than_any_secret_is_no_credential(api_key: str | None, bearer: str | None) -> None:
    assert credential_of(api_key, bearer) is None


@PROPERTY
@given(st.none() | st.text(st.characters()), st.none() | st.text(st.characters()))
def test_any_headers_give_a_credential_that_does_not_show_them(api_key: str | None, bearer: str | None) -> None:
    credential = credential_of(api_key, bearer)

    assert credential is None or repr(credential) in ("Credential(kind='key')", "Credential(kind='session')")
    assert (credential is None) is not (0 < len((api_key or bearer or "").strip()) <= MAX_SECRET_LENGTH)


@PROPERTY
@given(st.builds(new_key), st.builds(new_session))
def test_nothing_that_carries_a_secret_shows_it(key: str, session: str) -> None:
    carriers = (
        Credential("session", digest_of(session)),
        NewKey(1, "ERP", Scope.READ, None, key),
        NewSession(None, False, session, key),  # type: ignore[arg-type]  # the words are looked at
    )
    for words in (f"{carriers!r} {carriers!s}", *(f"{each}" for each in carriers)):
        for secret in (key, key[3:], session, session[3:], digest_of(session)):
            assert secret not in words


@pytest.mark.parametrize(
    "wrong",
    ["rw_" + "a" * 43, "us_" + "a" * 43, "\0", "\ud800", "🦷", "' OR 1=1 --", "%", "x" * 10_000, ""],
    ids=lambda value: ascii(value)[:20],
)
async def test_a_secret_of_nobody_opens_nothing_and_breaks_nothing(accounts: Accounts, wrong: str) -> None:
    await signed_up(accounts)
    for asked in (by_key(accounts, wrong), by_session(accounts, wrong)):
        with pytest.raises(Unauthenticated):
            await asked


async def test_what_is_stored_or_shown_of_a_secret_does_not_open_what_it_opens(accounts: Accounts) -> None:
    """Neither a digest, as somebody who has read the database has it, nor a mask, nor a part, nor another spelling."""
    opened = await signed_up(accounts)
    key, session = opened.api_key or "", opened.session
    near = [digest_of(key), masked(key), key[:-1], key + "a", key[3:], key.swapcase(), session, f"rw_{session[3:]}"]
    for wrong in (*near, digest_of(session), session[:-1], session[3:], session.swapcase()):
        with pytest.raises(Unauthenticated):
            await by_key(accounts, wrong)
    for wrong in (digest_of(session), f"us_{key[3:]}", f"us_{digest_of(session)}", session[:-1], session + "a"):
        with pytest.raises(Unauthenticated):
            await by_session(accounts, wrong)


async def test_a_caller_shows_neither_session_nor_key(accounts: Accounts) -> None:
    opened = await signed_up(accounts)
    for caller in (await by_session(accounts, opened.session), await by_key(accounts, opened.api_key)):
        for secret in (
            opened.session,
            opened.api_key or "",
            digest_of(opened.session),
            digest_of(opened.api_key or ""),
        ):
            assert secret not in repr(caller)
