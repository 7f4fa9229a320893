"""The shape of JSON answers: which keys an object has and which types a value, merged over several examples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

MAPS = {"mfStatus", "legislationStatusMap"}
"""Objects whose keys are values, such as SRNs."""


@dataclass
class Shape:
    """What examples show at one place. A place that was only ever null, or an empty list, may hold anything."""

    types: set[str] = field(default_factory=set)
    keys: set[frozenset[str]] = field(default_factory=set)
    fields: dict[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None

    def add(self, value: Any, name: str = "") -> None:
        """Merge an example into it; `name` is the key under which it stands."""
        self.types.add(_type(value))
        if isinstance(value, list):
            self.items = self.items or Shape()
            for each in value:
                self.items.add(each)
        elif isinstance(value, dict) and name in MAPS:
            self.items = self.items or Shape()
            for each in value.values():
                self.items.add(each)
        elif isinstance(value, dict):
            self.keys.add(frozenset(value))
            for key, each in value.items():
                self.fields.setdefault(key, Shape()).add(each, key)


def shape_of(examples: Iterable[Any], *, may_be_null: Iterable[str] = ()) -> Shape:
    """The shape of these examples; `may_be_null` has paths, such as `riskClass.code`, that were null elsewhere."""
    shape = Shape()
    for each in examples:
        shape.add(each)
    for path in may_be_null:
        place = shape
        for key in path.split("."):
            place = (place.items if place.items and not place.fields else place).fields[key]
        place.types.add("null")
    return shape


def differences(shape: Shape, value: Any, path: str = "", name: str = "") -> Iterator[str]:
    """Where a value is not of this shape, each with its path."""
    if shape.types <= {"null"}:
        return
    if _type(value) not in shape.types:
        yield f"{path or '.'}: {_type(value)} instead of {' or '.join(sorted(shape.types))}"
    elif isinstance(value, list) or name in MAPS:
        for each in [] if shape.items is None else value.values() if isinstance(value, dict) else value:
            yield from differences(shape.items or Shape(), each, f"{path}[]")
    elif isinstance(value, dict):
        if frozenset(value) not in shape.keys:
            nearest = min(shape.keys, key=lambda keys: len(keys ^ value.keys()))
            yield f"{path or '.'}: missing {sorted(nearest - value.keys())}, besides {sorted(value.keys() - nearest)}"
        for key, each in value.items():
            if key in shape.fields:
                yield from differences(shape.fields[key], each, f"{path}.{key}", key)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {dict: "object", list: "list", str: "text", int: "integer", float: "float"}
    return names[type(value)]
