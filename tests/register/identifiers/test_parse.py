"""What codes say: published examples, mixtures of valid parts, and garbage."""

import pytest

from registerwatch.register.identifiers import Candidate, ParsedCode, parse
from tests.register.identifiers.published_codes import GS, PUBLISHED, PublishedCode

YEAR = 2026


def _first(parsed: ParsedCode, kind: str) -> str:
    return next((each.value for each in parsed.candidates if each.kind == kind), "")


def _parts(parsed: ParsedCode) -> dict[str, str]:
    return {each.title if each.name == "other" else each.name: each.value or "" for each in parsed.parts}


@pytest.mark.parametrize("code", PUBLISHED, ids=lambda code: f"{code.source}: {code.text!a}")
def test_published_examples_mean_what_their_documents_say(code: PublishedCode) -> None:
    parsed = parse(code.text, YEAR)
    read: list[Candidate] = [each for each in parsed.candidates if each.kind != "certificate"]

    found = [_first(parsed, kind) for kind in ("udi-di", "basic-udi-di", "srn")]
    assert found == [code.udi, code.basic, code.srn]
    assert {name: _parts(parsed).get(name) for name in code.parts} == code.parts
    if read:
        assert (read[0].check.verdict, read[0].check.expected if code.expected else "") == (code.check, code.expected)
    assert any(code.warned in warning for warning in parsed.warnings) or not code.warned


def test_there_are_hundreds_of_published_examples_of_every_agency() -> None:
    agencies = {each.agency for code in PUBLISHED for each in parse(code.text, YEAR).candidates}

    assert len(PUBLISHED) >= 200
    assert agencies >= {"gs1", "hibcc", "iccbba", "ifa", "eudamed"}
    assert all(code.source for code in PUBLISHED)


@pytest.mark.parametrize("lot", ["EAN:55", "UDI=7", "SRN: 1", "GTIN:7"])
def test_a_label_is_left_out_at_the_beginning_alone(lot: str) -> None:
    assert _parts(parse(f"(01)04012345678901(10){lot}", YEAR))["lot"] == lot.replace(" ", "")
    assert parse("UDI-DI: 04012345678901", YEAR).subject == "04012345678901"
    assert parse(" GTIN-13: 4012345678901", YEAR).subject == "04012345678901"


# What is ambiguous is shown


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("02345673", {("udi-di", "00000002345673"), ("udi-di", "00023456000073")}),
        ("732045102349", {("udi-di", "00732045102349"), ("basic-udi-di", "732045102349")}),
        ("(9N)111234567842(9N)MA12345MAX1900", {("udi-di", "111234567842"), ("udi-di", "MA12345MAX1900")}),
        (
            f"[)>\x1e06{GS}9N110375286414{GS}8P04150123456782",
            {("udi-di", "110375286414"), ("udi-di", "04150123456782")},
        ),
    ],
    ids=["GTIN-8 or UPC-E", "GTIN-12 or GMN", "PPN and Master UDI-DI", "PPN and NTIN"],
)
def test_a_code_with_two_readings_shows_both_and_chooses_none(text: str, kinds: set[tuple[str, str]]) -> None:
    parsed = parse(text, YEAR)

    assert {(each.kind, each.value) for each in parsed.candidates} == kinds
    assert parsed.subject is None
    assert parsed.says_more


def test_one_reading_with_right_check_digits_wins_over_one_with_wrong_ones() -> None:
    assert parse("111234567842", YEAR).subject == "111234567842"
    assert parse("14252611", YEAR).subject == "00142100005261"


def test_a_eudamed_di_stands_for_the_udi_di_of_its_device() -> None:
    assert parse("B-06947145553906", YEAR).subject == "06947145553906"
    assert parse("B-CR023368", YEAR).subject == "D-CR023368"
    assert parse("B-CR023369", YEAR).subject is None


@pytest.mark.parametrize(
    "text",
    [
        "1987654Ad4X4bL5ttr2310c2K",
        "++A999MODELIDENTIFIER11S8",
        "PP12345ABCD.12345678.9004",
        "(8013)1987654Ad4X4bL5ttr2310c2K",
    ],
)
def test_a_basic_udi_di_is_no_subject(text: str) -> None:
    assert parse(text, YEAR).subject is None


# What is wrong is told, and hides nothing


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5901234123458", "The last digit should be 7"),
        ("(01)05901234123458(10)A", "The last digit should be 7"),
        ("+A123BJC5D6E71J", "The last character should be G"),
        ("(9N)110375286415", "The last two digits should be 14"),
        ("1987654Ad4X4bL5ttr2310c2X", "The last two characters should be 2K"),
    ],
)
def test_wrong_check_digits_are_told_with_the_right_ones(text: str, told: str) -> None:
    first = parse(text, YEAR).candidates[0]

    assert told in first.explanation
    assert first.check.verdict == "wrong"


def test_a_marked_code_means_its_identifier_whatever_its_check_digit_says() -> None:
    assert parse("(01)05901234123458", YEAR).subject == "05901234123458"
    assert parse("5901234123458", YEAR).subject is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("010703206980498810LOT17251231", "(10) LOT (17) 251231"),
        ("010703206980498810ABC21XYZ", "(10) ABC (21) XYZ"),
        ("010703206980498821123451028SEP11", "(21) 12345 (10) 28SEP11"),
        ("0107032069804988172512311012345678901234567890211234", "(10) 12345678901234567890 (21) 1234"),
    ],
)
def test_a_field_that_may_hold_another_one_is_warned_about(text: str, shown: str) -> None:
    warnings = " ".join(parse(text, YEAR).warnings)

    assert "A separator may be missing" in warnings
    assert shown in warnings


@pytest.mark.parametrize(
    "text",
    [
        f"010703206980498810LOT17251231{GS}21A",
        "(01)07032069804988(10)LOT17251231",
        "https://id.gs1.org/01/07032069804988/10/LOT17251231",
        "010703206980498817251231",
        "0107032069804988172512311012345",
    ],
)
def test_nothing_is_said_to_be_missing_where_separators_are_written_or_not_needed(text: str) -> None:
    assert parse(text, YEAR).warnings == ()


@pytest.mark.parametrize("text", ["(17)990231", "+A99912345/$$5203671X37", "=>014367", "(9N)110375286414(D)251301"])
def test_what_is_no_date_is_told_and_shown_as_it_is(text: str) -> None:
    parsed = parse(text, YEAR)

    assert "is no date (Expiry date)" in " ".join(parsed.warnings)
    assert next(each for each in parsed.parts if each.name == "expiry").value is None


@pytest.mark.parametrize("digits", ["1234567", "123456789", "12345678901", "123456789012345"])
def test_a_number_of_another_length_is_told_how_long_a_gtin_is(digits: str) -> None:
    assert f"This has {len(digits)} digits" in parse(digits, YEAR).warnings[0]


@pytest.mark.parametrize("text", ["G1 094490 0008 Rev. 00", "41377454-01", "CE 668821", "2025-MDR/QS-018", "1826/MDD"])
def test_a_text_with_a_digit_may_be_the_number_of_a_certificate(text: str) -> None:
    assert [(each.kind, each.value) for each in parse(text, YEAR).candidates][-1] == ("certificate", text)


@pytest.mark.parametrize(
    "text", ["titanium", "titanium screw", "", " ", "---", "جهاز", "🩺", "\x00", "(", "http", "]C1", "+", "="]
)
def test_words_mean_no_identifier(text: str) -> None:
    assert parse(text, YEAR).candidates == ()
