"""What people type about themselves: taken in one form that stays, or refused in words."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registerwatch.accounts.use_cases import Accounts
from registerwatch.accounts.validation import (
    MAX_EMAIL_LENGTH,
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    company_name,
    email_address,
    label,
    one_line,
)
from registerwatch.errors import InvalidInput
from tests.accounts.actions import EMAIL, PASSWORD, by_session, owner_of
from tests.register.builders import PROPERTY

SIXTY_FOUR = "x" * 64

TAKEN = {
    EMAIL: EMAIL,
    "  Owner@ACME.Example\n": EMAIL,
    "owner+register@acme.example": "owner+register@acme.example",
    "o'neill{1}/2@acme.example": "o'neill{1}/2@acme.example",
    "zürich@bücher.example": "zürich@bücher.example",
    "ZÜRICH@xn--bcher-kva.example": "zürich@bücher.example",
    "zu\u0308rich@BÜCHER.example": "zürich@bücher.example",
    "用户@例子.example": "用户@例子.example",
    "owner@acme。example": EMAIL,
    "owner@ＡＣＭＥ.example": EMAIL,
    "J\u030cana@acme.example": "ǰana@acme.example",
    f"{SIXTY_FOUR}@acme.example": f"{SIXTY_FOUR}@acme.example",
    f"a@{'.'.join(['y' * 60] * 4)}.example": f"a@{'.'.join(['y' * 60] * 4)}.example",
}
"""What is typed, and the form in which it is kept."""

REFUSED = [
    "",
    "@",
    "owner",
    "owner@",
    "@acme.example",
    "owner@acme",
    "owner@localhost",
    "owner@acme.example.",
    "owner@acme..example",
    "owner@.example",
    ".owner@acme.example",
    "owner.@acme.example",
    "own er@acme.example",
    '"own er"@acme.example',
    '"owner"@acme.example',
    "Owner <owner@acme.example>",
    "owner@other@acme.example",
    "owner@acme.example, other@acme.example",
    "owner@acme.example\r\nBcc: other@acme.example",
    "owner\r\n@acme.example",
    "owner@acme.example\0",
    "\0@acme.example",
    "owner@[127.0.0.1]",
    "owner@[IPv6:::1]",
    "owner\ud800@acme.example",
    "owner@ac\udfffme.example",
    "owner\u202e@acme.example",
    "owner@xn--a.example",
    "İ" * 200 + "@acme.example",
    "x" * 10_000,
    "x" * 10_000 + "@acme.example",
    f"owner@{'x' * 10_000}.example",
    "@" * 10_000,
]

TWISTED = 'İıJ\u030c\u0327\u0345ſKΣςẞßŉΐﬁ𐐀\u200d\ufeff\u202e\u2028\u00a0\ud800\udc00\0\r\n\t@."<>[]'
signs = st.characters() | st.sampled_from(TWISTED)
"""Every sign there is, halves of surrogate pairs among them, and often those that go wrong elsewhere."""
typed = st.text(signs, max_size=300)
addresses = typed | st.builds(
    "{}@{}.example".format, st.text(signs, min_size=1, max_size=70), st.text(signs, max_size=9)
)


@pytest.mark.parametrize(("text", "kept"), TAKEN.items())
def test_an_address_is_kept_in_one_form_however_it_is_typed(text: str, kept: str) -> None:
    assert email_address(text) == kept
    assert email_address(kept) == kept


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text)[:40])
def test_what_is_no_address_is_refused_in_words_that_can_be_sent(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        email_address(text)
    assert 20 < len(str(refused.value).encode()) < 500


@PROPERTY
@given(addresses)
def test_any_text_is_an_address_that_stays_as_it_is_or_is_refused(text: str) -> None:
    kept = _kept(text)
    if kept is None:
        return
    assert email_address(kept) == kept
    assert email_address(f" {kept} ") == kept
    assert kept.encode()
    assert kept.isprintable()
    assert kept.count("@") == 1
    assert len(kept) <= MAX_EMAIL_LENGTH


def test_every_capital_letter_is_one_address_with_its_small_one() -> None:
    """For each of Unicode's, alone and with an accent behind it, before the @ and after it."""
    capitals = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).lower() != chr(code)]
    assert len(capitals) > 1_400
    for letter in capitals:
        for text in (f"{letter}@acme.example", f"{letter}\u030c@acme.example", f"owner@x{letter}.example"):
            kept = _kept(text)
            assert kept is None or kept == email_address(kept) == _kept(text.lower()), ascii(text)


@PROPERTY
@given(typed)
@example("e\u202a\u0301")
@example("\u1100\ufeff\u1161")
def test_any_text_becomes_one_line_that_stays_as_it_is(text: str) -> None:
    line = one_line(text)

    assert one_line(line) == line
    assert line == unicodedata.normalize("NFC", line)
    assert line.encode().decode() == line
    assert not {unicodedata.category(sign) for sign in line} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    assert "  " not in line
    assert line == line.strip()


@PROPERTY
@given(st.text(signs, max_size=MAX_NAME_LENGTH + 100))
def test_any_text_becomes_a_label_and_a_name_of_bounded_length(text: str) -> None:
    short, name = label(text), company_name(text, EMAIL)

    assert len(short) <= MAX_LABEL_LENGTH
    assert label(short) == short
    assert 1 <= len(name) <= MAX_NAME_LENGTH
    assert company_name(name, EMAIL) == name


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ERP\0system", "ERP system"),
        ("  two \t\r\n lines\u2028or three  ", "two lines or three"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\u202eevil\u202c \u2066twin\u2069", "evil twin"),
        ("שלום ABC", "שלום ABC"),
        ("e\u0301te\u0301", "été"),
        ("👩‍⚕️ ward", "👩‍⚕️ ward"),
        ("\ud83d half", "half"),
        ("\0\r\n\u202e", ""),
    ],
)
def test_a_line_keeps_what_is_seen_of_a_text(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize("text", ["x" * 10_000, "🦷" * 10_000, "x" * 79 + " y", "\u0301" * 10_000, " " * 10_000])
def test_a_long_text_is_cut_without_a_space_at_its_end(text: str) -> None:
    for cut in (label(text), company_name(text, EMAIL)):
        assert len(cut) <= MAX_NAME_LENGTH
        assert cut == cut.strip()


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "\u202e\r\n"])
def test_a_company_of_which_nothing_is_seen_has_the_name_of_its_domain(text: str) -> None:
    assert company_name(text, EMAIL) == "acme.example"


async def test_every_address_and_name_that_is_taken_can_be_stored_and_found(accounts: Accounts) -> None:
    for number, text in enumerate(TAKEN):
        if _kept(text) in map(_kept, list(TAKEN)[:number]):
            continue
        opened = await accounts.sessions.trial(f"{text}\0\ud800{TWISTED}🦷", text, PASSWORD)
        again = await accounts.sessions.login(TAKEN[text], PASSWORD)
        assert again.profile == opened.profile
        assert again.profile.users[0].email == TAKEN[text]


async def test_every_label_can_be_stored_and_comes_back_as_it_was_told(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    for text in ("", "🦷" * 10_000, TWISTED, "\0", "\uffff\ufffe", "x" * 10_000, "'; DROP TABLE users; --"):
        made = await accounts.api_keys.create(owner, text)
        profile = await accounts.members.profile(owner)
        assert profile.keys[-1].label == made.label == label(text)
        await accounts.api_keys.revoke(owner, profile.keys[-1].id)


async def test_an_odd_address_never_breaks_signing_up_signing_in_or_a_link(accounts: Accounts) -> None:
    owner = await owner_of(accounts)
    for text in REFUSED:
        for refused in (
            accounts.sessions.trial("Acme", text, PASSWORD),
            accounts.members.add_user(owner, text, PASSWORD),
            accounts.password_reset.link(text),
            accounts.admin.profile(text),
        ):
            with pytest.raises(InvalidInput):
                await refused
        with pytest.raises(InvalidInput):
            accounts.password_reset.send_link(text)
    opened = await accounts.sessions.login(EMAIL, PASSWORD)
    assert (await by_session(accounts, opened.session)).name == EMAIL


def _kept(text: str) -> str | None:
    """The form in which an address is kept, None for what is refused, which says so in words that can be sent."""
    try:
        return email_address(text)
    except InvalidInput as refused:
        str(refused).encode()
        return None
