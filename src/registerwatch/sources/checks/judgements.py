"""Judges answers of sources: pages, totals, codes, times, envelopes. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from registerwatch.sources.checks.outcomes import CheckResult, Outcome, Unanswered, found

MAX_NEW_CODES = 10
MIN_TOTAL, MAX_TOTAL = 0.8, 1.5
"""Bounds of a plausible total, as parts of the last one; for differences above `SMALL_TOTAL` only."""
SMALL_TOTAL = 1_000
NEARLY_ALL = 0.9
"""A filter that finds this part of the total has filtered nothing."""
CODE = re.compile(r"[0-9A-Za-z._-]{1,100}")
TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,3})?)?")
ZONED = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)")

NOTHING_LISTED = "It lists nothing, so there was nothing to look at."
_ENVELOPE = {
    "content": list,
    "totalElements": int,
    "totalPages": int,
    "first": bool,
    "last": bool,
    "number": int,
    "size": int,
    "numberOfElements": int,
}


def judge_page(rows: int, total: int, size: int) -> CheckResult:
    """Whether the first page of a list has the requested size."""
    if rows > size or (rows < size and rows < total):
        return CheckResult(False, f"It sends {rows} rows a page where {size} were asked for.")
    return CheckResult(True)


def judge_total(total: int, last: int | None) -> CheckResult:
    """Whether a total is plausible beside the last one. The result gives the total."""
    is_plausible = last is None or last * MIN_TOTAL <= total <= last * MAX_TOTAL or abs(total - last) <= SMALL_TOTAL
    return CheckResult(is_plausible, str(total))


def judge_codes(seen: Collection[str], known: Collection[str]) -> Outcome:
    """Whether every code has a label. The result names those without one."""
    if not seen:
        return Unanswered("No record that was looked at has such a code.")
    new = sorted(code if CODE.fullmatch(code) else "a code of an unexpected form" for code in {*seen} - {*known})
    more = f" and {len(new) - MAX_NEW_CODES} more" if len(new) > MAX_NEW_CODES else ""
    return found(not new, ", ".join(new[:MAX_NEW_CODES]) + more)


def judge_rows(rows: int, total: int, expected: int) -> CheckResult:
    """Whether an answer has the expected number of rows for this request."""
    if rows == min(expected, total):
        return CheckResult(True)
    return CheckResult(False, f"It sends {rows:,} rows where {min(expected, total):,} were sent before.")


def judge_next_page(first: Sequence[str], second: Sequence[str], size: int) -> Outcome:
    """Whether page 1 of `size` rows goes on where page 0 ends. `first` are the keys of rows from the start on.

    New registrations may shift rows by some positions between the two requests.
    """
    expected = first[size:]
    if not expected:
        return CheckResult(not second, "" if not second else "There are rows behind the last page.")
    if not second:
        return CheckResult(False, "Page 1 is empty, though there are more rows than page 0 has.")
    if list(second) == list(first[: len(second)]):
        return CheckResult(False, "Pages 0 and 1 are the same: pages are not counted from 0.")
    if 2 * len(set(second) & set(expected)) < len(second):
        return CheckResult(False, "Page 1 does not go on where page 0 ends.")
    return CheckResult(True)


def judge_envelope(page: Mapping[str, Any]) -> CheckResult:
    """Whether the fields around the rows of a page have the known names and types, and agree with the page."""
    odd = [name for name, kind in _ENVELOPE.items() if type(page.get(name)) is not kind]
    if odd:
        return found(False, " ".join(f"{name} is {_kind(page, name)}." for name in odd))
    rows = len(page["content"])
    is_true = page["number"] == 0 and page["first"] and page["numberOfElements"] == rows
    if not is_true or page["last"] is not (rows >= page["totalElements"]):
        return CheckResult(False, "number, first, last or numberOfElements contradict the rows of the first page.")
    return CheckResult(True)


def _kind(page: Mapping[str, Any], name: str) -> str:
    if name not in page:
        return "missing"
    value = page[name]
    kinds = {
        type(None): "null",
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
    }
    return kinds.get(type(value), "an object")


def judge_times(times: Mapping[str, object]) -> Outcome:
    """Whether instants, given by field name, are written as before: without a zone, with at most three digits of a
    fraction. Empty ones prove nothing.
    """
    filled = {name: value for name, value in times.items() if value not in (None, "")}
    if not filled:
        return Unanswered("No record that was looked at has a date or an instant.")
    zoned = sorted(name for name, value in filled.items() if isinstance(value, str) and ZONED.fullmatch(value))
    odd = sorted(
        name
        for name, value in filled.items()
        if name not in zoned and not (isinstance(value, str) and TIME.fullmatch(value))
    )
    sentences = [f"With a zone: {', '.join(zoned)}."] if zoned else []
    sentences += [f"Not a date or an instant of a known form: {', '.join(odd)}."] if odd else []
    return found(not sentences, " ".join(sentences))


def judge_shared(one: object, other: object) -> CheckResult:
    """Whether the records of two devices of one Basic UDI-DI are the same."""
    if one == other:
        return CheckResult(True)
    if not isinstance(one, dict) or not isinstance(other, dict):
        return CheckResult(False, "One of the two answers is not an object.")
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return found(False, f"Two devices of one Basic UDI-DI show different values of {', '.join(names)}.")


def judge_unused(rows: Iterable[Mapping[str, Any]], used: Collection[str]) -> CheckResult:
    """Whether the fields that were always empty still are. The result names the others."""
    new = sorted({name for row in rows for name, value in row.items() if value not in (None, 0) and name not in used})
    shown = [name if CODE.fullmatch(name) else "a field of an unexpected name" for name in new]
    return found(not new, f"Now with values: {', '.join(shown)}." if new else "")
