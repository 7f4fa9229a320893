"""Shapes of records: the fields that are read of each kind, and those that normally have a value. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from registerwatch.sources.checks.judgements import NOTHING_LISTED
from registerwatch.sources.checks.outcomes import Outcome, Unanswered, found
from registerwatch.sources.wire import RecordReader, described

TOLERATED = 0.1
"""The part of a page's rows that may be unreadable: readers leave single rows out."""


class Shape(msgspec.Struct, frozen=True):
    """The fields that are read of one kind of record, as paths such as `riskClass.code`.

    `reader` reads it: some of the records have to have each of its fields, except `optional` ones. `filled` fields have
    to have a value in some records, `keys` in nearly all. `usual` fields mostly have a value in some records, but not
    where one manufacturer registered all of them, such as legacy devices without a Basic UDI-DI.
    """

    reader: RecordReader[Any]
    keys: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    usual: frozenset[str] = frozenset()


def judge_shape(shape: Shape, records: Sequence[object]) -> Outcome:
    """Whether records have the fields that are read, with values of the right types."""
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
    return found(not sentences, " ".join(sentences))


def judge_values(shape: Shape, records: Sequence[object]) -> Outcome:
    """Whether each field that usually has a value has one in some record."""
    if not records:
        return Unanswered(NOTHING_LISTED)
    fields = _named_values(shape, records)
    empty = [path for path in shape.usual if not any(map(_is_filled, fields.get(path, [])))]
    return found(not empty, f"Empty in every record: {', '.join(sorted(empty))}." if empty else "")


def _type_problem(shape: Shape, records: Sequence[object]) -> Iterator[str]:
    """Parts unreadable in many records: whole records, then single fields."""
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
    """The path of each field that is read, with the values that objects name. Fields within one that no object has are
    left out: nothing is known of them.
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
