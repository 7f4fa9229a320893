"""UDI-DIs and SRNs as people type and scanners send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.register.identifiers import (
    MAX_LENGTH,
    has_gs1_check_digit,
    is_actor_of_devices,
    kind,
    looks_like_udi,
    subject,
    udi_spellings,
)
from registerwatch_standins.register.generated import GeneratedWorld
from tests.register.builders import PROPERTY

DIGITS = "0123456789"
white_space = st.text(" \t\n\r\u00a0\u2003", max_size=3)
udi_texts = st.text(DIGITS + "ABCXYZabcxyz+-./", min_size=1, max_size=30).filter(lambda text: text.isascii())
srns = st.from_regex(r"[A-Z]{2}-[A-Z]{2}-[0-9]{1,12}", fullmatch=True)


@PROPERTY
@given(st.lists(st.tuples(white_space, st.sampled_from(DIGITS + "ABCabc-+")), min_size=1, max_size=30))
def test_white_space_is_no_part_of_an_identifier_wherever_it_stands(parts: list[tuple[str, str]]) -> None:
    bare = "".join(character for _, character in parts)
    if not any(character.isalnum() for character in bare):
        return
    assert subject("".join(space + character for space, character in parts) + "\n") == subject(bare)


@PROPERTY
@given(srns)
def test_an_srn_is_understood_in_any_case(srn: str) -> None:
    assert subject(srn.lower()) == subject(srn) == srn
    assert kind(subject(srn.lower())) == "srn"


@PROPERTY
@given(udi_texts)
def test_a_udi_keeps_its_case_because_some_differ_by_it(text: str) -> None:
    if any(character.isalnum() for character in text) and kind(text.upper()) == "udi":
        assert subject(text) == text
        assert kind(subject(text)) == "udi"


@pytest.mark.parametrize("text", ["DE-MF-", "DE-MF-1234567890123", "D-MF-1", "DE-MF-000006413-1", "DE MF 1", "DE-MF-١"])
def test_what_only_resembles_an_srn_is_none(text: str) -> None:
    assert kind(text) == "udi"


@pytest.mark.parametrize("text", ["", " ", "\u00a0\t\n", "---", "+/()", "🩺", "جهاز"])
def test_a_text_without_letter_or_digit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="04012345678901"):
        subject(text)


def test_an_identifier_longer_than_any_real_one_is_refused_with_both_lengths() -> None:
    assert subject("1" * MAX_LENGTH) == "1" * MAX_LENGTH
    with pytest.raises(InvalidInput, match=r"121 characters.*120"):
        subject("1" * (MAX_LENGTH + 1))


@PROPERTY
@given(st.text(DIGITS, min_size=7, max_size=13))
def test_exactly_one_check_digit_is_right(digits: str) -> None:
    assert sum(has_gs1_check_digit(digits + last) for last in DIGITS) == 1


@PROPERTY
@given(st.text(DIGITS, min_size=13, max_size=13), st.integers(0, 13), st.integers(1, 9))
def test_a_mistyped_digit_is_noticed(digits: str, place: int, shift: int) -> None:
    right = next(digits + last for last in DIGITS if has_gs1_check_digit(digits + last))
    wrong = right[:place] + str((int(right[place]) + shift) % 10) + right[place + 1 :]
    assert not has_gs1_check_digit(wrong)


@pytest.mark.parametrize("gtin", ["04006381333931", "4006381333931", "96385074", "036000291452"])
def test_published_gtins_have_right_check_digits(gtin: str) -> None:
    assert has_gs1_check_digit(gtin)


def test_every_identifier_of_the_stand_in_register_looks_like_a_udi() -> None:
    records = GeneratedWorld(4_500, seed=7).newest(0, 4_500)
    identifiers = {
        record.primary_di
        for record in records
        # A labeller code of letters alone begins ordinary words too; none has been assigned.
        if record.issuing_agency != "hibcc" or any(character.isdigit() for character in record.primary_di[:4])
    }
    assert {identifier.isdigit() for identifier in identifiers} == {True, False}
    assert [identifier for identifier in identifiers if not looks_like_udi(identifier)] == []


@pytest.mark.parametrize(
    "text",
    [
        "04012345678901",
        "(01)04012345678901(17)280101(10)LOT",
        "4006381333931",
        "E4947660611",
        "+E4947660611",
        "e4947660611",
        "++E494ZIRKON5F5",
        "A9999XYZ100T0944",
    ],
)
def test_what_a_label_carries_looks_like_a_udi(text: str) -> None:
    assert looks_like_udi(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "titanium",
        "titanium screw",
        "ceramill zolid 98",
        "4006381333930",
        "123",
        "04012345678901234",
        "E494 766",
        "٤",
    ],
)
def test_words_and_mistyped_numbers_do_not_look_like_a_udi(text: str) -> None:
    assert not looks_like_udi(text)


@PROPERTY
@given(st.text(max_size=40))
def test_spellings_differ_and_begin_with_what_was_typed(text: str) -> None:
    spellings = udi_spellings(text)
    bare = "".join(text.split())

    assert len(set(spellings)) == len(spellings)
    assert all(spellings)
    if bare and not bare.startswith("(01)"):
        assert spellings[0] == bare


@PROPERTY
@given(st.text(DIGITS, min_size=14, max_size=14), st.sampled_from(["", "(17)280101", "(10)A1(21)9"]))
def test_a_gs1_element_string_means_its_fourteen_digits(digits: str, rest: str) -> None:
    assert udi_spellings(f"(01){digits}{rest}") == (digits,)


@PROPERTY
@given(st.text(DIGITS, min_size=8, max_size=13))
def test_a_shorter_gtin_is_also_looked_up_with_its_leading_zeros(digits: str) -> None:
    assert udi_spellings(digits) == (digits, digits.rjust(14, "0"))


def test_a_hibcc_bar_code_is_looked_up_without_its_plus_and_in_capitals() -> None:
    assert udi_spellings("+e4947660611") == ("+e4947660611", "+E4947660611", "E4947660611")


@pytest.mark.parametrize(
    ("srn", "is_one"), [("DE-MF-1", True), ("AT-PR-1", True), ("DE-AR-1", False), ("FR-IM-1", False)]
)
def test_rows_of_devices_name_manufacturers_and_procedure_pack_producers_alone(srn: str, is_one: bool) -> None:
    assert is_actor_of_devices(srn) is is_one
