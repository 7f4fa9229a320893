"""The envelope sender that says whose mail came back: no server and no stranger makes another target of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.notifications.bounces.bounce_address import (
    MAX_LOCAL_PART,
    bounce_token,
    envelope_sender,
    is_token_of,
    target_id_in,
    token_in,
)
from registerwatch.notifications.models import Target
from registerwatch.settings import MAX_BOUNCE_LOCAL_PART

NOW = 1_800_000_000
BOUNCES = "bounces@example.org"


def a_target(target_id: int = 7, *, user_email: str = "ann@acme.example", secret: str = "a secret") -> Target:
    return Target(
        id=target_id,
        account_id=1,
        channel="email",
        url="",
        secret=secret,
        old_secret=None,
        old_secret_until=None,
        is_first=False,
        created_at=0,
        last_at=None,
        last_ok=None,
        last_error=None,
        user_id=1,
        user_email=user_email,
    )


@given(st.integers(1, 2**40 - 1), st.text(), st.text(min_size=1))
def test_a_mail_that_comes_back_tells_its_target_whatever_case_its_address_has(
    target_id: int, user_email: str, secret: str
) -> None:
    target = a_target(target_id, user_email=user_email, secret=secret)
    address = envelope_sender(BOUNCES, target)
    assert address is not None
    for as_returned in (address, address.upper(), f"<{address}>"):
        token = token_in(as_returned)
        assert token is not None
        assert target_id_in(token) == target_id
        assert is_token_of(token, target, NOW)


def test_the_longest_address_that_the_setting_may_have_fits() -> None:
    longest = "b" * MAX_BOUNCE_LOCAL_PART + "@example.org"
    address = envelope_sender(longest, a_target(2**40 - 1))

    assert address is not None
    assert len(address.partition("@")[0]) == MAX_LOCAL_PART


def test_a_token_is_of_one_target_one_address_and_one_secret() -> None:
    token = bounce_token(a_target())
    others = [a_target(8), a_target(user_email="ann@other.example"), a_target(secret="another")]

    assert not any(is_token_of(token, each, NOW) for each in others)
    renewed = replace(a_target(secret="new"), old_secret="a secret", old_secret_until=NOW + 1)
    assert is_token_of(token, renewed, NOW)
    assert not is_token_of(token, renewed, NOW + 1)


def test_without_the_setting_there_is_no_address_of_its_own() -> None:
    assert envelope_sender("", a_target()) is None


def test_nobody_signs_for_a_target_without_a_secret() -> None:
    target = a_target(secret="")

    assert envelope_sender(BOUNCES, target) is None
    assert not is_token_of(bounce_token(target), target, NOW)


@pytest.mark.parametrize(
    "address",
    ["", "@", "bounces@example.org", "bounces+@example.org", "bounces+short@example.org", "bounces+" + "1" * 32 + "@e"],
)
def test_an_address_without_a_token_has_none(address: str) -> None:
    assert token_in(address) is None


@given(st.text(max_size=80))
def test_no_text_of_a_stranger_is_a_token_of_a_target(text: str) -> None:
    token = token_in(f"bounces+{text}@example.org")

    assert token is None or not is_token_of(token, a_target(target_id_in(token) or 0), NOW)
