"""When the register is looked at, what a look changes, and what may be stored after it."""

import pytest

from registerwatch.ingest.checks.check_rules import (
    DAY_SECONDS,
    GATES,
    HOUR_SECONDS,
    KNOWN_CODES,
    RETRY_SECONDS,
    CheckedList,
    RegisterCheck,
    after,
    due_checks,
    is_new_build,
    known_before,
    problem_of,
)
from registerwatch.register import codes
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, KnownBefore, Unanswered

NOW = 1_800_000_000
FINE = RegisterCheck(CheckName.FILTER_SRN, NOW, NOW, True)
FAILED = RegisterCheck(CheckName.FILTER_SRN, NOW, NOW, False, "ignored", NOW)
SILENT = RegisterCheck(CheckName.FILTER_SRN, NOW, None, unanswered_since=NOW, reason="down")


def is_due_after(check: RegisterCheck, seconds: int) -> bool:
    return bool(due_checks({check.name: check}, [check.name], NOW + seconds))


def test_a_check_that_was_never_made_is_due_and_codes_and_totals_come_with_their_lists() -> None:
    assert due_checks({}, CheckName, NOW) == {
        name for name in CheckName if not name.is_of_codes and not name.is_of_total
    }


@pytest.mark.parametrize(
    ("check", "seconds"),
    [
        (FINE, DAY_SECONDS),
        (RegisterCheck(CheckName.BUILD, NOW, NOW, True, "1.2"), HOUR_SECONDS),
        (FAILED, RETRY_SECONDS),
        (RegisterCheck(CheckName.ACTOR_DETAIL, NOW, NOW, False), HOUR_SECONDS),
        (SILENT, RETRY_SECONDS),
        (RegisterCheck(CheckName.ACTOR_ROW, NOW, None, unanswered_since=NOW - DAY_SECONDS), HOUR_SECONDS),
        (RegisterCheck(CheckName.FILTER_SRN, NOW, NOW, False, unanswered_since=NOW - DAY_SECONDS), RETRY_SECONDS),
    ],
)
def test_the_time_to_the_next_look_depends_on_what_the_last_one_found(check: RegisterCheck, seconds: int) -> None:
    assert not is_due_after(check, seconds - 1)
    assert is_due_after(check, seconds)


def test_a_look_that_lies_ahead_is_of_before_the_clock_was_put_back() -> None:
    assert is_due_after(FINE, -2 * DAY_SECONDS)


def test_a_look_without_an_answer_takes_nothing_back() -> None:
    silent = after(FAILED, Unanswered("down"), NOW + 60)

    assert (silent.is_ok, silent.found, silent.checked_at) == (False, "ignored", NOW)
    assert (silent.unanswered_since, silent.reason) == (NOW + 60, "down")
    assert after(silent, Unanswered("still down"), NOW + 120).unanswered_since == NOW + 60
    assert problem_of(CheckedList.DEVICES_OF_MANUFACTURER, {silent.name: silent})
    assert after(silent, CheckResult(True), NOW + 180) == RegisterCheck(
        CheckName.FILTER_SRN, NOW + 180, NOW + 180, True, "", changed_at=NOW + 180
    )


def test_the_first_look_is_no_change_and_another_finding_is_one() -> None:
    first = after(RegisterCheck(CheckName.BUILD), CheckResult(True, "1"), NOW)
    assert first.changed_at is None
    assert after(first, CheckResult(True, "1"), NOW + 9).changed_at is None
    assert after(first, CheckResult(True, "2"), NOW + 9).changed_at == NOW + 9
    total = RegisterCheck(CheckName.TOTAL_DEVICES, NOW, NOW, True, "100")
    assert after(total, CheckResult(True, "101"), NOW + 9).changed_at is None


def test_a_build_is_new_where_another_was_known() -> None:
    known = {CheckName.BUILD: RegisterCheck(CheckName.BUILD, NOW, NOW, True, "1")}

    assert is_new_build(known, CheckResult(True, "2"))
    assert not is_new_build(known, CheckResult(True, "1"))
    assert not is_new_build(known, Unanswered("down"))
    assert not is_new_build({}, CheckResult(True, "1"))


def test_a_failed_check_closes_the_lists_that_rely_on_it_alone() -> None:
    known = {FAILED.name: FAILED}

    closed = {listing for listing in CheckedList if problem_of(listing, known)}

    assert closed == {CheckedList.DEVICES_OF_MANUFACTURER}
    assert not any(problem_of(listing, {SILENT.name: SILENT}) for listing in CheckedList)
    assert not any(problem_of(listing, {}) for listing in CheckedList)


def test_a_look_compares_with_stored_codes_with_labels_and_with_the_last_totals() -> None:
    stored = {CheckName.RISK_CODES: {"refdata.risk-class.class-x"}}
    known = {
        name: RegisterCheck(name, NOW, NOW, True, found)
        for name, found in (
            (CheckName.TOTAL_DEVICES, "3200000"),
            (CheckName.TOTAL_CERTIFICATES, ""),
            (CheckName.BUILD, "3"),
        )
    }

    assert known_before(known, stored, "u-1") == KnownBefore(
        KNOWN_CODES, stored, {CheckName.TOTAL_DEVICES: 3_200_000}, "u-1"
    )


def test_every_code_with_a_label_of_its_own_is_known() -> None:
    known = frozenset[str]().union(*KNOWN_CODES.values())

    labelled = {code for code in codes._LABELS if code.startswith(tuple(_prefixes()))}
    assert labelled <= known


def _prefixes() -> set[str]:
    return {code.rpartition(".")[0] + "." for known in KNOWN_CODES.values() for code in known}


def test_every_list_relies_on_a_check_that_is_looked_at_again_soon() -> None:
    assert all(problem_of(each, {name: RegisterCheck(name, is_ok=False) for name in GATES}) for each in CheckedList)
