"""What is judged of an answer: fields that are missing or empty, pages, totals, codes."""

from typing import Any

import msgspec
import pytest

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.judgements import (
    NOTHING_LISTED,
    judge_codes,
    judge_envelope,
    judge_next_page,
    judge_page,
    judge_rows,
    judge_shared,
    judge_times,
    judge_total,
    judge_unused,
)
from registerwatch.sources.checks.outcomes import CheckResult, Unanswered, outcome_of
from registerwatch.sources.checks.shapes import Shape, judge_shape, judge_values
from registerwatch.sources.wire import RecordReader, WireRecord


class Coded(msgspec.Struct, rename="camel"):
    code: str | None = None


class Inner(msgspec.Struct, rename="camel"):
    kind: Coded | None = None


class Record(WireRecord, frozen=True, rename="camel"):
    uuid: str | None = None
    risk_class: Coded | None = None
    reference: str | None = None
    list_of: list[Inner] | None = None
    sometimes: str | None = None


SHAPE = Shape(
    RecordReader(Record, "record", keys={"uuid"}),
    keys=frozenset({"uuid"}),
    filled=frozenset({"riskClass.code"}),
    optional=frozenset({"sometimes"}),
    usual=frozenset({"reference", "sometimes"}),
)


def a_record(**fields: Any) -> dict[str, Any]:
    full = {"uuid": "u", "riskClass": {"code": "r"}, "reference": None, "listOf": [{"kind": {"code": "k"}}], "more": 1}
    return {name: value for name, value in {**full, **fields}.items() if value != "left out"}


def test_records_with_all_that_is_read_are_as_relied_on() -> None:
    assert judge_shape(SHAPE, [a_record(), a_record(listOf=[], riskClass=None)]) == CheckResult(True)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"reference": "left out"}, "Missing: reference."),
        ({"uuid": "left out"}, "Missing: uuid."),
        ({"riskClass": {"id": "r"}}, "Missing: riskClass.code."),
        ({"listOf": [{"type": {"code": "k"}}]}, "Missing: listOf.kind."),
        ({"riskClass": {"code": ""}}, "Empty in every record: riskClass.code."),
        ({"uuid": None}, "Empty in every record: uuid."),
        ({"riskClass": []}, "riskClass cannot be read in 1 of 1 (a list of 0)."),
        ({"uuid": 5}, "1 of 1 cannot be read (Expected a text in `uuid`, got 5)."),
    ],
)
def test_a_field_that_is_missing_empty_or_of_another_type_is_named(fields: dict[str, Any], found: str) -> None:
    outcome = judge_shape(SHAPE, [a_record(**fields)])

    assert isinstance(outcome, CheckResult)
    assert not outcome.is_ok
    assert found in outcome.found


def test_a_value_is_never_told() -> None:
    secret = "somebody@example.org"

    assert secret not in str(judge_shape(SHAPE, [a_record(uuid={"mail": secret}, riskClass=secret), secret]))


def test_a_key_that_many_records_lack_is_named_and_a_single_odd_record_is_not() -> None:
    many, odd = [a_record() for _ in range(20)], a_record(uuid=None)

    assert judge_shape(SHAPE, [*many, odd, a_record(reference=4)]) == CheckResult(True)
    assert judge_shape(SHAPE, [*many, *[odd] * 10]) == CheckResult(False, "Missing in some records: uuid.")


def test_a_list_without_records_proves_nothing() -> None:
    assert judge_shape(SHAPE, []) == Unanswered(NOTHING_LISTED)


def test_a_value_that_is_usual_is_missed_where_no_record_has_it() -> None:
    assert judge_values(SHAPE, [a_record(reference="R"), a_record(sometimes="S")]) == CheckResult(True)
    assert judge_values(SHAPE, [a_record(), a_record(sometimes="S")]) == CheckResult(
        False, "Empty in every record: reference."
    )
    assert judge_values(SHAPE, []) == Unanswered(NOTHING_LISTED)


@pytest.mark.parametrize(
    ("rows", "total", "is_ok"), [(300, 4_000, True), (20, 20, True), (20, 4_000, False), (500, 4_000, False)]
)
def test_a_page_has_the_size_that_was_asked_for(rows: int, total: int, is_ok: bool) -> None:
    assert judge_page(rows, total, 300).is_ok is is_ok


@pytest.mark.parametrize(
    ("total", "last", "is_ok"),
    [
        (5, None, True),
        (3_210_000, 3_200_000, True),
        (900_000, 3_200_000, False),
        (9_000_000, 3_200_000, False),
        (0, 290, True),
    ],
)
def test_a_total_is_compared_with_the_last_one(total: int, last: int | None, is_ok: bool) -> None:
    assert judge_total(total, last) == CheckResult(is_ok, str(total))


def test_codes_that_nobody_knows_are_named_and_hostile_ones_are_not_repeated() -> None:
    assert judge_codes({"a.b"}, {"a.b", "a.c"}) == CheckResult(True, "")
    assert judge_codes({"a.b", "a.new"}, {"a.b"}) == CheckResult(False, "a.new")
    assert "<" not in str(judge_codes({"<script>"}, {"a.b"}))
    assert len(str(judge_codes({f"a.{'x' * 90}{n}" for n in range(500)}, set()))) < 600
    assert isinstance(judge_codes(set(), {"a.b"}), Unanswered)


def test_a_refusal_is_another_answer_and_silence_is_none() -> None:
    assert outcome_of(RegisterFailure("refused")) == CheckResult(False, "refused")
    assert outcome_of(RegisterFailure("down", transient=True)) == Unanswered("down")
    assert outcome_of(RegisterFailure("no place", is_asked=False)) == Unanswered("no place")
    assert outcome_of(RegisterFailure("shut out", is_unreachable=True)) == Unanswered("shut out")


@pytest.mark.parametrize(("rows", "total", "is_ok"), [(20, 4_000, True), (7, 7, True), (50, 4_000, False)])
def test_an_answer_has_as_many_rows_as_it_had_before(rows: int, total: int, is_ok: bool) -> None:
    assert judge_rows(rows, total, 20).is_ok is is_ok


FIRST = [f"u-{number}" for number in range(300)]


@pytest.mark.parametrize(
    ("second", "found"),
    [
        (FIRST[25:50], ""),
        (["new", *FIRST[24:48]], ""),
        (FIRST[:25], "Pages 0 and 1 are the same: pages are not counted from 0."),
        ([], "Page 1 is empty, though there are more rows than page 0 has."),
        ([f"x-{number}" for number in range(25)], "Page 1 does not go on where page 0 ends."),
    ],
)
def test_the_next_page_goes_on_where_one_ends(second: list[str], found: str) -> None:
    assert judge_next_page(FIRST, second, 25) == CheckResult(not found, found)


def test_a_list_of_one_page_has_no_next_one() -> None:
    assert judge_next_page(FIRST[:9], [], 25) == CheckResult(True)
    assert judge_next_page(FIRST[:9], ["x"], 25) == CheckResult(False, "There are rows behind the last page.")


def an_envelope(**fields: Any) -> dict[str, Any]:
    page = {"content": [{}, {}], "totalElements": 9, "totalPages": 5, "first": True, "last": False, "number": 0}
    return {**page, "size": 2, "numberOfElements": 2, "sort": None, **fields}


def test_what_stands_around_rows_is_of_the_known_types_and_true() -> None:
    assert judge_envelope(an_envelope()) == CheckResult(True)
    assert judge_envelope(an_envelope(totalElements="9", last=None)).found == "totalElements is a text. last is null."
    assert judge_envelope({}).found.startswith("content is missing.")
    assert not judge_envelope(an_envelope(number=1)).is_ok
    assert not judge_envelope(an_envelope(last=True)).is_ok
    assert not judge_envelope(an_envelope(numberOfElements=3)).is_ok


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("2021-10-08T12:42:27.657", ""),
        ("2025-07-04T09:28:59.11", ""),
        ("2024-03-01T10:00:00", ""),
        ("2025-02-10", ""),
        ("2024-03-01T10:00:00+02:00", "With a zone: lastUpdated."),
        ("2024-03-01T10:00:00Z", "With a zone: lastUpdated."),
        ("2024-03-01T10:00:00.123456", "Not a date or an instant of a known form: lastUpdated."),
        ("01/03/2024", "Not a date or an instant of a known form: lastUpdated."),
        (1_709_283_600_000, "Not a date or an instant of a known form: lastUpdated."),
    ],
)
def test_instants_have_no_zone_and_a_short_fraction(value: object, found: str) -> None:
    assert judge_times({"lastUpdated": value, "expiryDate": None}) == CheckResult(not found, found)


def test_records_without_any_instant_prove_nothing() -> None:
    assert isinstance(judge_times({"lastUpdated": None}), Unanswered)


def test_records_that_are_shared_are_the_same_in_all_fields() -> None:
    assert judge_shared({"a": 1}, {"a": 1}) == CheckResult(True)
    assert judge_shared({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == CheckResult(
        False, "Two devices of one Basic UDI-DI show different values of b, c."
    )


def test_a_field_that_was_always_empty_and_has_a_value_now_is_named() -> None:
    rows: list[dict[str, Any]] = [
        {"uuid": "u", "sterile": None, "containerPackageCount": 0},
        {"uuid": "v", "sterile": True},
    ]

    assert judge_unused(rows, {"uuid"}) == CheckResult(False, "Now with values: sterile.")
    assert judge_unused(rows[:1], {"uuid"}) == CheckResult(True)
