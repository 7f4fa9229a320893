"""Texts of others on one line of a mail."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.mail.clean_text import clean, unlinked


@given(st.text(st.characters(), max_size=300), st.integers(1, 80))
def test_whatever_a_text_holds_its_line_is_bounded_and_holds_no_control_character(text: str, most: int) -> None:
    line = clean(text, most)

    assert len(line) <= most
    assert not {unicodedata.category(each) for each in line} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(each) for each in line} & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"}
    line.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\r\nBcc: eve@example.org", "two Bcc: eve@example.org"),
        ("exe.\u202egpj\u202c", "exe.gpj"),
        ("  many\u00a0\t spaces\u2028 ", "many spaces"),
        ("قسطرة", "قسطرة"),
        ("abcdef", "abcd…"),
    ],
)
def test_a_line_reads_as_it_was_written(text: str, line: str) -> None:
    assert clean(text, 5 if text == "abcdef" else 100) == line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("see https://evil.example", "see https: //evil .example"),
        ("WWW.evil.example", "www .evil .example"),
        ("www.1.2", "www .1.2"),
        ("login-eudamed.com/verify", "login-eudamed .com/verify"),
        ("LOGIN.163.COM, (a.co.uk).", "LOGIN.163 .COM, (a .co .uk)."),
        ("evil.com-x evil.com.1 evil.xn--p1ai", "evil .com-x evil .com.1 evil .xn--p1ai"),
        ("почта.рф", "почта .рф"),
        ("m@evil.example", "m@ evil .example"),
        ('"m"@[192.0.2.1]', '"m"@ [192.0.2.1]'),
    ],
)
def test_mail_programs_find_no_addresses_in_the_texts_of_others(line: str, shown: str) -> None:
    assert unlinked(line) == shown
    assert unlinked(shown) == shown


@pytest.mark.parametrize(
    "line",
    ["a", "version 1.2.3", "v2.0b1", "1.5mm, 3.14 Fr.", "e.g. S.p.A. and Co. KG", "12.11.2026", "5 @ 3 mm", "…"],
)
def test_numbers_versions_and_abbreviations_stay_as_they_are(line: str) -> None:
    assert unlinked(line) == line
