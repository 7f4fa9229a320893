"""Any mixture of valid parts is read back, and no text whatever makes the reader fail or hang."""

import time
import tracemalloc
from collections.abc import Mapping
from datetime import date
from urllib.parse import clear_cache, quote  # type: ignore[attr-defined]  # no stub names the first

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.identifiers import ParsedCode, parse, read_code, udi_spellings
from registerwatch.register.identifiers.check_digits import character_pair, gs1_digit, hibc_character, ifa_digits
from registerwatch.register.identifiers.parse import MAX_CODE_LENGTH
from tests.register.builders import PROPERTY
from tests.register.identifiers.published_codes import PUBLISHED

YEAR = 2026
GS = "\x1d"
DIGITS = "0123456789"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

days = st.dates(date(2010, 1, 1), date(2070, 12, 31))
gtins = st.text(DIGITS, min_size=13, max_size=13).map(lambda digits: digits + gs1_digit(digits))
values = st.text(DIGITS + CAPITALS + "abcxyz-_.", min_size=1, max_size=20)
capital_values = st.text(DIGITS + CAPITALS, min_size=1, max_size=18)
srns = st.from_regex(r"[A-Z]{2}-(MF|PR|AR|IM)-[0-9]{9}", fullmatch=True)
primaries = st.builds(
    lambda letter, rest, product, unit: letter + rest + product + unit,
    st.sampled_from(CAPITALS),
    st.text(DIGITS + CAPITALS, min_size=3, max_size=3),
    st.text(DIGITS + CAPITALS, min_size=1, max_size=18),
    st.sampled_from(DIGITS),
)
gs1_fields = st.fixed_dictionaries({}, optional={"10": values, "21": values, "17": days, "11": days})
NAMES = {"10": "lot", "21": "serial", "17": "expiry", "11": "production-date"}


def read(text: str) -> tuple[str | None, dict[str, str | None]]:
    parsed = parse(text, YEAR)
    return parsed.subject, {each.name: each.value for each in parsed.parts}


def written(value: str | date) -> str:
    return value if isinstance(value, str) else value.strftime("%y%m%d")


def told(fields: Mapping[str, str | date]) -> dict[str, str]:
    return {NAMES[ai]: value if isinstance(value, str) else value.isoformat() for ai, value in fields.items()}


@PROPERTY
@given(gtins, gs1_fields, st.randoms(use_true_random=False), st.sampled_from(["", "^", GS, "]C1", "]d2", "]Q3", "]e0"]))
def test_gs1_messages_are_read_back_however_they_are_written(
    gtin: str, fields: dict[str, str | date], order: object, prefix: str
) -> None:
    elements = [("01", gtin), *((ai, written(value)) for ai, value in fields.items())]
    order.shuffle(elements)  # type: ignore[attr-defined]
    bracketed = "".join(f"({ai}){value}" for ai, value in elements)
    scanned = "".join(f"{ai}{value}{GS if ai in {'10', '21'} else ''}" for ai, value in elements)
    query = "&".join(f"{ai}={quote(written(value), safe='')}" for ai, value in fields.items())

    expected = (gtin, told(fields))
    assert read(bracketed) == expected
    assert read(bracketed.replace(")", ") ")) == expected
    assert read(f"https://example.com/shop/01/{gtin}?{query}") == expected
    if prefix or scanned.startswith("01") or GS in scanned.rstrip(GS):
        assert read(prefix + scanned) == expected
        assert read(prefix + scanned.replace(GS, "<GS>")) == expected


@PROPERTY
@given(gtins, st.lists(st.sampled_from(["", " ", "-", "\u00a0", "–"]), min_size=14, max_size=14))
def test_a_gtin_is_read_with_any_spaces_and_dashes(gtin: str, between: list[str]) -> None:
    spaced = "".join(digit + sign for digit, sign in zip(gtin, ["", *between[1:13], ""], strict=False)) + gtin[14:]

    assert gtin in udi_spellings(spaced)
    assert any(each.value == gtin for each in read_code(spaced).devices)


@PROPERTY
@given(
    srns,
    st.sampled_from(["-", " ", "", " - ", "–", "- "]),
    st.sampled_from(["-", " ", "", " - ", "—"]),
    st.integers(1, 8),
)
def test_an_srn_is_read_with_any_spacing(srn: str, first: str, second: str, place: int) -> None:
    country, role, digits = srn.split("-")
    text = f" {country}{first}{role}{second}{digits[:place]} {digits[place:]}"

    assert parse(text, YEAR).subject == srn
    assert parse(text.lower(), YEAR).subject == srn


secondaries = st.one_of(
    st.builds(lambda lot: (f"${lot}", {"lot": lot}), capital_values.filter(lambda text: not text.startswith("+"))),
    st.builds(lambda number: (f"$+{number}", {"serial": number}), capital_values),
    st.builds(lambda lot: (f"$$7{lot}", {"lot": lot}), capital_values),
    st.builds(
        lambda day, lot: (f"$$3{day:%y%m%d}{lot}", {"expiry": day.isoformat(), "lot": lot}), days, capital_values
    ),
    st.builds(lambda day, lot: (f"$$5{day:%y%j}{lot}", {"expiry": day.isoformat(), "lot": lot}), days, capital_values),
    st.builds(
        lambda day, number: (f"$$+2{day:%m%d%y}{number}", {"expiry": day.isoformat(), "serial": number}),
        days,
        capital_values,
    ),
    st.builds(lambda day, lot: (f"$${day:%m%y}{lot}", {"expiry": f"{day:%Y-%m}", "lot": lot}), days, capital_values),
    st.builds(
        lambda count, lot: (f"$$8{count:02}7{lot}", {"quantity": str(count), "lot": lot}),
        st.integers(1, 99),
        capital_values,
    ),
)


def checked(body: str) -> str:
    return f"{body}{hibc_character(body)}"


@PROPERTY
@given(primaries, secondaries, st.none() | days, st.none() | st.integers(1, 99_999))
def test_hibc_codes_are_read_back_in_one_and_in_two(
    primary: str, secondary: tuple[str, dict[str, str]], made: date | None, count: int | None
) -> None:
    written, parts = secondary
    if made:
        written, parts = f"{written}/16D{made:%Y%m%d}", {**parts, "production-date": made.isoformat()}
    one = checked(f"+{primary}/{written}")
    if count and "quantity" not in parts:
        one = checked(f"+{primary}/{written}/Q{count}")
        assert read(one) == (primary, {**parts, "quantity": str(count)})
    else:
        assert read(one) == (primary, parts)
        assert read(f"*{one}*") == read(f"]d1{one}") == (primary, parts)
    assert read(checked(f"+{primary}"))[0] == primary


@PROPERTY
@given(primaries, secondaries)
def test_hibc_codes_scanned_one_after_the_other_are_read_together(
    primary: str, secondary: tuple[str, dict[str, str]]
) -> None:
    first = checked(f"+{primary}")
    second = checked(f"+{secondary[0]}{first[-1]}")

    assert read(second)[1] == secondary[1]
    subject, parts = read(first + second)
    assert (subject, {**secondary[1], **parts}) == (primary, parts)


ifa_fields = st.fixed_dictionaries({}, optional={"1T": values, "S": values, "D": days, "16D": days, "Q": st.just("12")})
IFA_NAMES = {"1T": "lot", "S": "serial", "D": "expiry", "16D": "production-date", "Q": "quantity"}
ifa_codes = st.one_of(
    st.text(DIGITS, min_size=8, max_size=8).map(lambda number: f"11{number}"),
    st.from_regex(r"13[0-9]{5}[0-9A-Z.-]{1,18}[0-8]", fullmatch=True),
    st.from_regex(r"MA[0-9]{5}[0-9A-Z.-]{1,19}", fullmatch=True),
).map(lambda body: body + ifa_digits(body))


@PROPERTY
@given(ifa_codes, ifa_fields)
def test_ifa_messages_are_read_back_in_each_form(code: str, fields: dict[str, str | date]) -> None:
    form = {"D": "%y%m%d", "16D": "%Y%m%d"}
    shown = {di: value if isinstance(value, str) else value.strftime(form[di]) for di, value in fields.items()}
    elements = [("9N", code), *shown.items()]
    expected = {IFA_NAMES[di]: value if isinstance(value, str) else value.isoformat() for di, value in fields.items()}

    for text in (
        "".join(f"({di}){value}" for di, value in elements),
        f"[)>\x1e06{GS}{GS.join(di + value for di, value in elements)}\x1e\x04",
        "." + "^".join(di + value for di, value in elements),
    ):
        assert read(text) == (code, expected), text


@PROPERTY
@given(
    st.from_regex(r"[A-NP-Z][0-9]{4}[A-Z0-9]{6}[A-Z][0-9]{4}", fullmatch=True),
    st.fixed_dictionaries(
        {},
        optional={
            "=,": st.text(DIGITS, min_size=6, max_size=6),
            "=>": days,
            "=}": days,
            "&,1": st.text(DIGITS + CAPITALS, min_size=18, max_size=18),
        },
    ),
)
def test_isbt_128_messages_are_read_back(device: str, fields: dict[str, str | date]) -> None:
    names = {"=,": "serial", "=>": "expiry", "=}": "production-date", "&,1": "lot"}
    text = "".join(f"{mark}{value if isinstance(value, str) else f'0{value:%y%j}'}" for mark, value in fields.items())
    expected = {names[mark]: value if isinstance(value, str) else value.isoformat() for mark, value in fields.items()}

    assert read(f"=/{device}{text}") == (device, expected)
    assert read(f"=+{len(fields) + 1:02}000=/{device}{text}") == (device, expected)


@PROPERTY
@given(st.from_regex(r"[0-9]{6}[0-9A-Za-z]{1,17}", fullmatch=True))
def test_a_basic_udi_di_of_gs1_is_known_by_its_check_characters(model: str) -> None:
    pair = character_pair(model)

    assert any(each.kind == "basic-udi-di" for each in parse(f"{model}{pair}", YEAR).candidates)


MARKS = "(01) 01 10 17 (17) ( ) + ++ / $ $$ $$8 = =/ =) &,1 & ^ <GS> ]C1 ] 9N 1T D https://id.gs1.org/01/ % %2F ? B- D-"
ODD_DIGITS = "²٣６"
"""Digits for `str.isdigit`, the last two for `int` too; in no code is one of them."""
SAMPLES = "04012345678901 A123BJC5D6E71 251231 999999 é * . ² ٣ ６ ²²²²²²²² (9N)111234567842(8P) =A1234151234561"
PIECES = st.sampled_from([*MARKS.split(), *SAMPLES.split(), GS, "[)>\x1e06", "\ud800", "\x00", "\u200b", " "])


@PROPERTY
@given(
    st.text(max_size=80)
    | st.lists(PIECES, max_size=25).map("".join)
    | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1"))
)
def test_no_text_makes_the_reader_fail(text: str) -> None:
    parsed: ParsedCode = parse(text, YEAR)

    assert all(each.value and each.explanation for each in parsed.candidates)
    assert parsed.subject is None or parsed.subject in {each.value for each in parsed.candidates}
    assert all(part.label for part in parsed.parts)
    udi_spellings(text)


@pytest.mark.parametrize("odd", ODD_DIGITS)
def test_no_digit_of_another_script_makes_the_reader_of_a_code_fail(odd: str) -> None:
    texts = {code.text for code in PUBLISHED} | {"(9N)111234567842(8P)04150123456782"}
    mistyped = {f"{text[:at]}{odd}{text[at + 1 :]}" for text in texts for at, sign in enumerate(text) if sign in DIGITS}

    for text in mistyped:
        parse(text, YEAR)
        udi_spellings(text)


@pytest.mark.parametrize(
    "piece",
    [
        "0",
        "1",
        "10",
        "21",
        "17251231",
        "1021",
        "(01)",
        "(",
        "+",
        "+$",
        "$$8",
        "/S",
        "=",
        "=A",
        "&,1",
        "9N",
        "D",
        "^",
        GS,
        "A1",
        "a ",
        "-",
        "%2",
        "http://",
    ],
)
@pytest.mark.parametrize(
    "start", ["", "01040123456789011021", "+A123BJC5D6E71/", "=/", "[)>\x1e06\x1d", "https://a/01/", "(10)"]
)
def test_long_texts_take_a_bounded_time(piece: str, start: str) -> None:
    text = (start + piece * MAX_CODE_LENGTH)[:MAX_CODE_LENGTH]
    parse("(01)04012345678901", YEAR)  # loads what is loaded once
    began = time.process_time()

    parse(text, YEAR)

    assert time.process_time() - began < 0.5


def test_made_up_fields_of_links_are_neither_remembered_nor_dear() -> None:
    links = [
        "https://a/01/1?" + "&".join(f"{key:x}=1" for key in range(number * 80, number * 80 + 80))
        for number in range(1_000, 1_050)
    ]
    parse(links.pop(), YEAR)  # loads what is loaded once
    tracemalloc.start(10)
    try:
        began = time.thread_time()
        for link in links:
            parse(link[:MAX_CODE_LENGTH], YEAR)
        taken = time.thread_time() - began
        clear_cache()  # the standard library remembers the last 128 addresses
        readers = tracemalloc.Filter(inclusive=True, filename_pattern="*/register/identifiers/*", all_frames=True)
        kept = tracemalloc.take_snapshot().filter_traces([readers]).statistics("filename")
    finally:
        tracemalloc.stop()

    assert sum(each.size for each in kept) < 64 * 1024, (
        "by these readers; other threads of this process keep something too"
    )
    assert taken / len(links) < 0.01


def test_a_link_with_more_fields_than_there_are_uses_for_is_not_read() -> None:
    parsed = parse("https://a/01/04012345678901?" + "&".join(["10=A"] * 70), YEAR)

    assert (parsed.candidates, parsed.parts) == ((), ())
    assert "more fields" in parsed.warnings[0]


def test_a_text_that_is_too_long_is_not_looked_at() -> None:
    parsed = parse("0" * 10_000_000, YEAR)

    assert (parsed.candidates, parsed.parts) == ((), ())
    assert "10000000 characters" in parsed.warnings[0]
