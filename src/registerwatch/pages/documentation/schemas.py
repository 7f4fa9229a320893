"""JSON schemas of `/openapi.json` for people: the name of a type, its fields, an example."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from registerwatch.pages.documentation.curl import PLACEHOLDER

Schema = Mapping[str, Any]

REFERENCE = "#/components/schemas/"
EXAMPLES_BY_FORMAT = {"password": "correct horse battery staple"}
MAX_DEPTH = 6
"""The depth of examples: no answer is deeper."""


class TypeName(msgspec.Struct, frozen=True):
    """The name of a type: words around at most one object with fields."""

    before: str
    object_name: str = ""
    after: str = ""


class Field(msgspec.Struct, frozen=True):
    """A field of an object, or a parameter. `values` are all possible ones, if they are few."""

    name: str
    type: TypeName
    required: bool
    text: str
    values: tuple[str, ...] = ()
    bounds: str = ""
    default: str = ""
    example: str = ""


class Schemas:
    """The named schemas of a description."""

    def __init__(self, description: Schema) -> None:
        self._by_name: Mapping[str, Schema] = description["components"]["schemas"]

    def named(self, name: str) -> Schema:
        """The schema with a name."""
        return self._by_name[name]

    def resolved(self, schema: Schema) -> Schema:
        """The schema, or the one that it refers to."""
        return self._by_name[_name_of(schema)] if "$ref" in schema else schema

    def fields(self, schema: Schema) -> list[Field]:
        """The fields of an object; of several alternatives those of the first."""
        resolved = self.resolved(schema)
        if alternatives := resolved.get("oneOf"):
            return self.fields(alternatives[0])
        required = resolved.get("required", ())
        return [
            self.field(name, about, required=name in required) for name, about in resolved.get("properties", {}).items()
        ]

    def field(self, name: str, about: Schema, *, required: bool, text: str = "", example: object = None) -> Field:
        """A field or a parameter. `text` and `example` come from outside its schema."""
        inner = self._inner(about)
        default = about.get("default")
        examples = about.get("examples") or [example]
        return Field(
            name,
            self.type_name(about),
            required,
            text or about.get("description", ""),
            values=tuple(str(value) for value in inner.get("enum", ()) if value is not None),
            bounds=_bounds(inner),
            default="" if default in (None, "", []) else _json(default),
            example="" if examples[0] is None else _shown(examples[0]),
        )

    def type_name(self, schema: Schema) -> TypeName:
        """`text or null`, `list of WatchObject`."""
        if "$ref" in schema:
            name = _name_of(schema)
            return TypeName("", name) if self.is_object(name) else self.type_name(self._by_name[name])
        if alternatives := schema.get("anyOf") or schema.get("oneOf"):
            return self._type_of_alternatives(alternatives)
        kind: Any = schema.get("type", "any value")
        if isinstance(kind, list):
            return TypeName(" or ".join(_TYPE_NAMES.get(each, each) for each in kind))
        if kind == "array":
            item = self.type_name(schema.get("items", {}))
            return TypeName(f"list of {item.before}", item.object_name, item.after)
        return TypeName(_FORMAT_NAMES.get(schema.get("format", "")) or _TYPE_NAMES.get(kind, kind))

    def _type_of_alternatives(self, alternatives: list[Schema]) -> TypeName:
        names = [self.type_name(each) for each in alternatives]
        first = names[0]
        rest = "".join(f" or {each.before}{each.object_name}{each.after}" for each in names[1:])
        return TypeName(first.before, first.object_name, first.after + rest)

    def is_object(self, name: str) -> bool:
        """Whether a named schema has fields, and so its own section."""
        return "properties" in self._by_name[name]

    def objects_of(self, schema: Schema) -> Iterator[str]:
        """Names of the objects in a schema, each once, however deep."""
        found: dict[str, None] = {}
        pending: list[object] = [schema]
        while pending:
            each = pending.pop(0)
            if isinstance(each, Mapping):
                if isinstance(each.get("$ref"), str) and (name := _name_of(each)) not in found:
                    found[name] = None
                    pending.append(self._by_name[name])
                pending.extend(each.values())
            elif isinstance(each, list):
                pending.extend(each)
        return (name for name in found if self.is_object(name))

    def example(self, schema: Schema, depth: int = 0) -> Any:
        """An example of a schema, from the examples of its fields."""
        if schema.get("examples"):
            return schema["examples"][0]
        resolved = self.resolved(schema)
        if "example" in resolved:
            return resolved["example"]
        if depth > MAX_DEPTH:
            return None
        if "properties" in resolved:
            return self._object_example(resolved, depth)
        if alternatives := resolved.get("anyOf") or resolved.get("oneOf"):
            return self.example(alternatives[0], depth + 1)
        return self._plain_example(resolved, depth)

    def _object_example(self, schema: Schema, depth: int) -> dict[str, Any]:
        """An example of a successful answer. Optional objects exclude each other, so it has only the first."""
        fields: dict[str, Any] = {}
        has_optional_object = False
        for name, about in schema["properties"].items():
            if _reports_failure(name, about):
                fields[name] = "" if about.get("type") == "string" else None
                continue
            if name not in schema.get("required", ()) and any(self.objects_of(about)):
                if has_optional_object:
                    continue
                has_optional_object = True
            fields[name] = self.example(about, depth + 1)
        return fields

    def _plain_example(self, schema: Schema, depth: int) -> Any:
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        if schema.get("type") == "array":
            return [self.example(schema.get("items", {}), depth + 1)]
        if schema.get("type") == "string":
            return EXAMPLES_BY_FORMAT.get(schema.get("format", ""), PLACEHOLDER)
        return {"object": {}, "integer": 1, "number": 1, "boolean": True}.get(schema.get("type", ""))

    def _inner(self, schema: Schema) -> Schema:
        """The schema with the values and bounds: the items' for a list, the other one if it may be null."""
        resolved = self.resolved(schema)
        if resolved.get("type") == "array":
            return self._inner(resolved.get("items", {}))
        for alternative in resolved.get("anyOf", ()):
            if alternative.get("type") != "null":
                return {**self._inner(alternative), **_own_bounds(resolved)}
        return resolved


_TYPE_NAMES: Mapping[str, str] = {
    "string": "text",
    "integer": "number",
    "boolean": "true or false",
    "number": "number",
    "object": "object",
}
_FORMAT_NAMES: Mapping[str, str] = {
    "date-time": "time",
    "date": "date",
    "password": "text",
    "email": "e-mail address",
    "uri": "address",
}
_BOUNDS = {
    "minimum": "from {}",
    "maximum": "to {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {}",
}
_NO_BOUND = 2**53
"""Larger bounds are limits of the database, which are not shown."""


def _own_bounds(schema: Schema) -> Schema:
    return {name: schema[name] for name in _BOUNDS if name in schema}


def _bounds(schema: Schema) -> str:
    """`from 1 to 1000`."""
    bounds = [
        words.format(f"{schema[name]:,}") for name, words in _BOUNDS.items() if schema.get(name, _NO_BOUND) < _NO_BOUND
    ]
    return " ".join(each for each in bounds if each != "at least 1 characters")


def _reports_failure(name: str, about: Schema) -> bool:
    """Whether a field is null or empty in a success."""
    return name == "last_error" or (name == "error" and {"type": "null"} in about.get("anyOf", ()))


def _name_of(schema: Schema) -> str:
    return str(schema["$ref"]).removeprefix(REFERENCE)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
