"""Whether a source still answers in the way that its reader relies on: what is checked, and the judgement. Pure.

A check has one of three outcomes: it was looked at and is as relied on, it was looked at and is not, or the source did
not answer.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import msgspec
from msgspec import inspect

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.register.sources.wire import RecordReader, described

MAX_FOUND = 500
"""Characters of what a check found."""
MAX_NEW_CODES = 10
TOLERATED = 0.1
"""The part of a page's rows that may be unreadable: readers leave single odd rows out."""
MIN_TOTAL, MAX_TOTAL = 0.8, 1.5
"""A plausible total, as parts of the last one; beyond `SMALL_TOTAL` records of difference alone."""
SMALL_TOTAL = 1_000

NOTHING_LISTED = "It lists nothing, so there was nothing to look at."
NO_SUBJECT = "There was no record to look at."

_CODE = re.compile(r"[0-9A-Za-z._-]{1,100}")


class CheckName(StrEnum):
    """Everything that is checked, by the name in the table `register_checks` and in metrics."""

    BUILD = "build"
    FILTER_PRIMARY_DI = "filter primaryDi"
    FILTER_SRN = "filter srn"
    FILTER_ACTOR_SRN = "filter eos srn"
    FILTER_BASIC_UDI = "filter basicUdi"
    LIST_DEVICES = "list devices"
    LIST_CERTIFICATES = "list certificates"
    LIST_REFUSALS = "list refusals"
    DEVICE_ROW = "shape device row"
    DEVICE_DETAIL = "shape device detail"
    BASIC_UDI_RECORD = "shape basic udi record"
    ACTOR_ROW = "shape actor row"
    ACTOR_DETAIL = "shape actor detail"
    CERTIFICATE_ROW = "shape certificate row"
    CERTIFICATE_DETAIL = "shape certificate detail"
    REFUSAL_ROW = "shape refusal row"
    NOTIFIED_BODY = "shape notified body"
    DATA_LAKE_ROW = "shape data lake row"
    DEVICE_VALUES = "values device row"
    DATA_LAKE_VALUES = "values data lake row"
    TOTAL_DEVICES = "total devices"
    TOTAL_CERTIFICATES = "total certificates"
    STATUS_CODES = "codes device status"
    RISK_CODES = "codes risk class"
    LEGISLATION_CODES = "codes legislation"
    CERTIFICATE_STATUS_CODES = "codes certificate status"
    ACTOR_STATUS_CODES = "codes actor status"

    @property
    def is_of_codes(self) -> bool:
        """Whether it compares codes with those that have a label."""
        return self.value.startswith("codes ")

    @property
    def is_of_total(self) -> bool:
        """Whether it compares a total with the last one."""
        return self.value.startswith("total ")


class CheckResult(msgspec.Struct, frozen=True):
    """What a look found: whether it is as relied on, and a sentence or a value."""

    is_ok: bool
    found: str = ""


class Unanswered(msgspec.Struct, frozen=True):
    """The source did not answer, or showed nothing that could be looked at; it proves nothing."""

    reason: str


Outcome = CheckResult | Unanswered


@dataclass(slots=True)
class Looked:
    """What a look at a source brought: outcomes, the codes that its records have, and how many records it counts."""

    outcomes: dict[CheckName, Outcome] = field(default_factory=dict)
    codes: dict[CheckName, set[str]] = field(default_factory=dict)
    totals: dict[CheckName, int] = field(default_factory=dict)

    def see(self, name: CheckName, codes: Iterable[object]) -> None:
        """Note the codes of records; what is no text is left to the checks of shapes."""
        self.codes.setdefault(name, set()).update(code for code in codes if isinstance(code, str) and code)


class SourceChecks(Protocol):
    """The checks of one source."""

    @property
    def names(self) -> frozenset[CheckName]:
        """What it can look at."""

    async def look(self, due: Collection[CheckName], certified: str = "") -> Looked:
        """Look at these, and at what the same requests show. A source that does not answer is an outcome, no error.

        `certified` is the uuid of a device record that lists certificates, if one is known.
        """


class Shape(msgspec.Struct, frozen=True):
    """The fields that are read of one kind of record.

    `reader` is what reads it: each of its fields has to be named by some of the records, except `optional`
    ones. `filled` ones have to have a value in some of them, `keys` in nearly all. `usual` ones mostly have a value in
    some of them: not where one manufacturer registered all, such as legacy devices without a Basic UDI-DI. Paths are
    such as `riskClass.code`.
    """

    reader: RecordReader[Any]
    keys: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    usual: frozenset[str] = frozenset()


def outcome_of(failure: RegisterFailure) -> Outcome:
    """What a request that failed says of a check: a refusal is another answer than before, silence is none."""
    did_answer = failure.is_asked and not failure.transient
    return CheckResult(False, failure.reason[:MAX_FOUND]) if did_answer else Unanswered(failure.reason[:MAX_FOUND])


def judge_shape(shape: Shape, records: Sequence[object]) -> Outcome:
    """Whether records have the fields that are read of them, with values of the right types."""
    if not records:
        return Unanswered(NOTHING_LISTED)
    sentences = [*_type_problem(shape, records)]
    fields = _named_values(shape, records)
    unnamed = [path for path, values in fields.items() if not values and path not in shape.optional]
    empty = [path for path in shape.filled | shape.keys if fields.get(path) and not any(map(_is_filled, fields[path]))]
    rare = [path for path in shape.keys if path not in (*unnamed, *empty) and _is_rare(fields.get(path, []), records)]
    for words, paths in (("Missing", unnamed), ("Empty in every record", empty), ("Missing in some records", rare)):
        if paths:
            sentences.append(f"{words}: {', '.join(sorted(paths))}.")
    return CheckResult(not sentences, " ".join(sentences)[:MAX_FOUND])


def judge_values(shape: Shape, records: Sequence[object]) -> Outcome:
    """Whether the fields of records that usually have a value have one in some record."""
    if not records:
        return Unanswered(NOTHING_LISTED)
    fields = _named_values(shape, records)
    empty = [path for path in shape.usual if not any(map(_is_filled, fields.get(path, [])))]
    return CheckResult(not empty, f"Empty in every record: {', '.join(sorted(empty))}."[:MAX_FOUND] if empty else "")


def judge_page(rows: int, total: int, size: int) -> CheckResult:
    """Whether the first page of a list has the size that was asked for."""
    if rows > size or (rows < size and rows < total):
        return CheckResult(False, f"It sends {rows} rows a page where {size} were asked for.")
    return CheckResult(True)


def judge_total(total: int, last: int | None) -> CheckResult:
    """Whether a total is plausible beside the last one. What was found is the total."""
    is_plausible = last is None or last * MIN_TOTAL <= total <= last * MAX_TOTAL or abs(total - last) <= SMALL_TOTAL
    return CheckResult(is_plausible, str(total))


def judge_codes(seen: Collection[str], known: Collection[str]) -> Outcome:
    """Whether every code has a label. What was found are the new ones."""
    if not seen:
        return Unanswered("No record that was looked at has such a code.")
    new = sorted(code if _CODE.fullmatch(code) else "a code of an unexpected form" for code in {*seen} - {*known})
    more = f" and {len(new) - MAX_NEW_CODES} more" if len(new) > MAX_NEW_CODES else ""
    return CheckResult(not new, (", ".join(new[:MAX_NEW_CODES]) + more)[:MAX_FOUND])


def _type_problem(shape: Shape, records: Sequence[object]) -> Iterator[str]:
    """What of many records cannot be read: whole records, then single fields."""
    reasons, unread = _unread(shape, records)
    if len(reasons) > TOLERATED * len(records):
        yield f"{len(reasons)} of {len(records)} cannot be read ({reasons[0]})."
    for path, examples in unread.items():
        if len(examples) > TOLERATED * len(records):
            yield f"{path} cannot be read in {len(examples)} of {len(records)} ({examples[0]})."


def _unread(shape: Shape, records: Sequence[object]) -> tuple[list[str], dict[str, list[str]]]:
    """Why whole records cannot be read, and by path the values of fields that cannot."""
    reasons: list[str] = []
    unread: dict[str, list[str]] = {}
    for record in records:
        if not isinstance(record, dict):
            reasons.append(f"it is {described(record)}")
            continue
        try:
            found = shape.reader.read(record)
        except msgspec.ValidationError as error:
            reasons.append(str(error))
            continue
        for each in found.unread:
            unread.setdefault(each.path, []).append(each.example)
    return reasons, unread


def _named_values(shape: Shape, records: Sequence[object]) -> dict[str, list[Any]]:
    objects = [record for record in records if isinstance(record, dict)]
    return dict(_fields(inspect.type_info(shape.reader.kind), objects, ""))


def _fields(info: inspect.Type, objects: Sequence[Mapping[str, Any]], at: str) -> Iterator[tuple[str, list[Any]]]:
    """The path of each field that is read, with the values that objects name. A field of what no object has is left
    out: nothing is known of it.
    """
    assert isinstance(info, inspect.StructType)
    for each in info.fields:
        if each.name == "unread":
            continue
        values = [found[each.encode_name] for found in objects if each.encode_name in found]
        yield at + each.encode_name, values
        inner = _record_in(each.type)
        within = [item for value in values for item in (value if isinstance(value, list) else [value])]
        children = [item for item in within if isinstance(item, dict)]
        if inner is not None and children:
            yield from _fields(inner, children, f"{at}{each.encode_name}.")


def _record_in(info: inspect.Type) -> inspect.StructType | None:
    """The kind of record that a field holds, itself or in a list; None for plain values."""
    for each in info.types if isinstance(info, inspect.UnionType) else (info,):
        inner = each.item_type if isinstance(each, inspect.ListType) else each
        if isinstance(inner, inspect.StructType):
            return inner
    return None


def _is_filled(value: object) -> bool:
    return value is not None and value not in ("", [], {})


def _is_rare(values: Sequence[object], records: Sequence[object]) -> bool:
    return sum(map(_is_filled, values)) < (1 - TOLERATED) * len(records)
