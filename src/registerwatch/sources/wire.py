"""Reads records of a source field by field: a field that cannot be read is unknown, and the others are kept.

A struct declares the wanted fields of a record. Its types say what a value means, not how it is written:

| declared | taken |
|---|---|
| `int` | `3`, `3.0`, `"3"`, `true` |
| `bool` | `true`, `1`, `1.0`, `"1"`, `"yes"`, and the same for false |
| `str` | a text, or of a text in languages the preferred one |
| `str` or `int` | a text, or a number as a text |
| `Date`, `Instant` | the date or the time of Brussels in a text; read as `2030-09-16` and `2021-10-08T10:42:27Z` |
| `dict[str, str]` | a text in languages: as the register sends it, `{"en": …}`, JSON of it in a text, a text for all |
| a struct | an object; where the struct has a `code`, the code alone, too |
| a list | a list, without the entries that cannot be read |
| `Any` | any value, as it comes |

null, a missing field and an empty text mean that the source has no value. Only an unreadable key costs the record,
which cannot be identified without it; a key is a text, as a number has lost its leading zeros.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from registerwatch.register.times import date_of, utc_from_brussels
from registerwatch.sources.fields import preferred_name

MAX_EXAMPLE = 100
"""Characters of an unread value that are shown."""

MAX_FLOAT = 2.0**53
"""Up to this size a float holds whole numbers exactly."""

Date = Annotated[str, msgspec.Meta(extra={"form": "date"})]
Instant = Annotated[str, msgspec.Meta(extra={"form": "instant"})]

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
_FLAGS = {"1": True, "true": True, "yes": True, "y": True, "0": False, "false": False, "no": False, "n": False}
_json = msgspec.json.Decoder()


class UnreadField(msgspec.Struct, frozen=True):
    """A field that could not be read: its path, such as `riskClass.code` or `texts[]` for an entry, and its value.

    An object or a list is only described, since it may contain anything.
    """

    path: str
    example: str


class WireRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Base of records as a source sends them."""

    unread: tuple[UnreadField, ...] = ()
    """The fields of this record, and of records in it, that could not be read, each path once."""


Record = TypeVar("Record", bound=WireRecord)

Unread = list[UnreadField]
_Convert = Callable[[Any, str, Unread], Any]


class _Field(msgspec.Struct, frozen=True):
    """A field of a struct: its name here and in the source, and how its values are read.

    A field of type `Any` keeps values unchanged; one of type text keeps texts unchanged.
    """

    name: str
    wire_name: str
    convert: _Convert
    is_any: bool
    is_text: bool
    is_nullable: bool
    is_required: bool
    is_key: bool


class RecordReader(Generic[Record]):
    """Reads records of one kind. `name` is the name of the kind in counts of unread fields.

    `keys` are the fields, by their names in the source, without which a record is not read.
    """

    def __init__(self, kind: type[Record], name: str, *, keys: Collection[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self._fields = _fields_of(kind, keys)
        columns = [(each.wire_name, Any, msgspec.UNSET) for each in self._fields]
        # Only the fields that are wanted are ever decoded, which keeps personal data out.
        self._decoder = msgspec.json.Decoder(msgspec.defstruct(kind.__name__, columns))

    def decode(self, content: bytes | msgspec.Raw) -> Record:
        """The record in JSON. Raises `msgspec.DecodeError` where it is not an object, or lacks a key."""
        return self._record(msgspec.structs.astuple(self._decoder.decode(content)))

    def read(self, found: Mapping[str, Any]) -> Record:
        """The record in an object. Raises `msgspec.ValidationError` where it lacks a key."""
        return self._record(_found(self._fields, found))

    def _record(self, found: Sequence[Any]) -> Record:
        """The record from the values found for each field."""
        unread: Unread = []
        try:
            values = _values(self._fields, found, "", unread)
        except _KeyLost as error:
            raise msgspec.ValidationError(str(error)) from None
        first_of_path: dict[str, UnreadField] = {}
        for each in unread:
            first_of_path.setdefault(each.path, each)
        return self.kind(**values, unread=tuple(first_of_path.values()))

    def unread_of(self, record: Record) -> Sequence[UnreadField]:
        """The fields of a record that could not be read."""
        return record.unread


class _KeyLost(ValueError):
    """A key is missing or cannot be read, which costs the record, or the part of one, that it belongs to."""


def _fields_of(kind: type[msgspec.Struct], keys: Collection[str] = ()) -> list[_Field]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return [_field_of(each, each.encode_name in keys) for each in info.fields if each.name != "unread"]


def _field_of(field: inspect.Field, is_key: bool) -> _Field:
    declared = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
    types = declared.types if isinstance(declared, inspect.UnionType) else (field.type,)
    wanted = tuple(each for each in types if not isinstance(each, inspect.NoneType))
    is_any = any(isinstance(each, inspect.AnyType) for each in wanted)
    return _Field(
        name=field.name,
        wire_name=field.encode_name,
        convert=_as_it_comes if is_any else _conversion(wanted),
        is_any=is_any,
        is_text=any(isinstance(each, inspect.StrType) for each in wanted),
        is_nullable=len(wanted) < len(types),
        is_required=field.required,
        is_key=is_key,
    )


def _conversion(wanted: tuple[inspect.Type, ...]) -> _Convert:
    """How a value becomes one of a declared type."""
    if len(wanted) > 1:
        return _text_or_number
    declared, form = wanted[0], None
    if isinstance(declared, inspect.Metadata):
        form = (declared.extra or {}).get("form")
        declared = declared.type
    if form == "date":
        return _parsed(date_of)
    if form == "instant":
        return _parsed(utc_from_brussels)
    match declared:
        case inspect.IntType(ge=low, le=high):
            return lambda value, at, unread: _bounded(whole_number(value), low, high)
        case inspect.BoolType():
            return lambda value, at, unread: flag(value)
        case inspect.StrType():
            return _text
        case inspect.LiteralType(values=values):
            return _one_of(values)
        case inspect.DictType():
            return names_by_language
        case inspect.ListType(item_type=entry):
            return _list_of(_conversion((entry,)))
        case inspect.StructType(cls=kind):
            return _struct_of(kind)
    raise TypeError(f"No conversion to {declared}")


def _found(fields: list[_Field], found: Mapping[str, Any]) -> list[Any]:
    """An object's value for each field, `UNSET` where it has none."""
    return [found.get(each.wire_name, msgspec.UNSET) for each in fields]


def _values(fields: list[_Field], found: Sequence[Any], at: str, unread: Unread) -> dict[str, Any]:
    """The values of an object's fields, from those found for each. A field that is left out has its default."""
    values: dict[str, Any] = {}
    for field, value in zip(fields, found, strict=True):
        if value is msgspec.UNSET or ((value is None or value == "") and not field.is_any):
            if field.is_required:
                raise _KeyLost(f"Object missing required field `{at}{field.wire_name}`")
            if value is not msgspec.UNSET and field.is_nullable:
                values[field.name] = None
            continue
        if field.is_text and type(value) is str:
            values[field.name] = value
            continue
        path = at + field.wire_name
        if field.is_key and not isinstance(value, str):
            raise _KeyLost(f"Expected a text in `{path}`, got {described(value)}")
        try:
            values[field.name] = field.convert(value, path, unread)
        except ValueError:
            if field.is_required:
                raise _KeyLost(f"Required field `{path}` cannot be read") from None
            unread.append(UnreadField(path, described(value)))
    return values


def _struct_of(kind: type[msgspec.Struct]) -> _Convert:
    fields = _fields_of(kind)
    has_code = any(each.wire_name == "code" for each in fields)

    def convert(value: Any, at: str, unread: Unread) -> msgspec.Struct:
        if has_code and isinstance(value, str):
            value = {"code": value}
        if not isinstance(value, dict):
            raise ValueError
        return kind(**_values(fields, _found(fields, value), f"{at}.", unread))

    return convert


def _list_of(convert_entry: _Convert) -> _Convert:
    def convert(value: Any, at: str, unread: Unread) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError
        entries = []
        for each in value:
            if each is None or each == "":
                continue
            try:
                entries.append(convert_entry(each, at, unread))
            except ValueError:
                unread.append(UnreadField(f"{at}[]", described(each)))
        return entries

    return convert


def _one_of(values: Collection[Any]) -> _Convert:
    def convert(value: Any, _at: str, _unread: Unread) -> Any:
        if value not in values:
            raise ValueError
        return value

    return convert


def _as_it_comes(value: Any, _at: str, _unread: Unread) -> Any:
    return value


def _text(value: Any, at: str, unread: Unread) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError
    return preferred_name(names_by_language(value, at, unread))


def _text_or_number(value: Any, at: str, unread: Unread) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if float(value).is_integer() else str(value)
    return _text(value, at, unread)


def _parsed(parse: Callable[[str], str | None]) -> _Convert:
    def convert(value: Any, _at: str, _unread: Unread) -> str:
        parsed = parse(value.strip()) if isinstance(value, str) else None
        if parsed is None:
            raise ValueError
        return parsed

    return convert


def whole_number(value: object) -> int:
    """The whole number in a value of any form. Raises `ValueError`."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) <= MAX_FLOAT):
        return int(value)
    raise ValueError


def flag(value: object) -> bool:
    """Whether a value of any form means yes. Raises `ValueError`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | int | str):
        found = _FLAGS.get(str(value).strip().lower().removesuffix(".0"))
        if found is not None:
            return found
    raise ValueError


def names_by_language(value: object, at: str, unread: Unread) -> dict[str, str]:
    """A text in languages, by language code; `""` stands for all languages. Raises `ValueError`."""
    if isinstance(value, str):
        within = _object_in(value)
        if within is None:
            return {"": value}
        value = within
    if not isinstance(value, dict):
        raise ValueError
    texts = value["texts"] or [] if "texts" in value else _texts_of(value)
    if not isinstance(texts, list):
        raise ValueError
    names: dict[str, str] = {}
    for each in texts:
        text = each.get("text") if isinstance(each, dict) else each
        if isinstance(text, str):
            if text.strip():
                names.setdefault(_language_of(each), text.strip())
        elif text is not None:
            unread.append(UnreadField(f"{at}.texts[]", described(text)))
    return names


def _texts_of(by_language: dict[str, Any]) -> list[dict[str, Any]]:
    """Texts given by language, in the register's own form. Raises `ValueError` where a value is not a text."""
    if not all(each is None or isinstance(each, str) for each in by_language.values()):
        raise ValueError
    return [{"language": language, "text": text} for language, text in by_language.items()]


def _language_of(entry: Any) -> str:
    """The language of a text, empty for all and for one that is not named."""
    language = entry.get("language") if isinstance(entry, dict) else None
    code = language.get("isoCode") if isinstance(language, dict) else language
    return code.strip() if isinstance(code, str) else ""


def _object_in(text: str) -> dict[str, Any] | None:
    """The object in a JSON text, None for another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = _json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _bounded(number: int, low: int | None, high: int | None) -> int:
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError
    return number


def described(value: object) -> str:
    """A value for people, shortened: of objects the names of their first fields, of lists and of possible addresses
    their length.
    """
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(map(str, value))[:5])}"[:MAX_EXAMPLE] if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str) and "@" in value:
        return f"a text of {len(value)} characters"
    return msgspec.json.encode(value).decode()[:MAX_EXAMPLE]
