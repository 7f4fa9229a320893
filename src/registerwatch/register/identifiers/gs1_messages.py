"""Reads GS1 element strings: with brackets, from scanners with FNC1 or GS between fields, and as Digital Link URIs.

Sources: GS1 General Specifications 7.8 (FNC1), 3 (application identifiers); GS1 Digital Link Standard: URI Syntax.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from registerwatch.register.identifiers.check_digits import is_number
from registerwatch.register.identifiers.gs1_fields import FieldRule, field_rule, leading_rule, part_of
from registerwatch.register.identifiers.gs1_numbers import GTIN_LENGTHS, gtin, individualised_device, model_number
from registerwatch.register.identifiers.parsed_code import Candidate, ParsedCode, Part, in_order

GS = "\x1d"
NO_SEPARATOR = "A separator may be missing"

_BRACKETED = re.compile(r"[(\[]([0-9]{2,4})[)\]]")
_KEYS = {"gtin": "01", "lot": "10", "ser": "21", "exp": "17", "cpv": "22", "sscc": "00", "itip": "8006", "gmn": "8013"}
_PRIMARY = {
    "01",
    "8006",
    "8013",
    "00",
    "414",
    "253",
    "8003",
    "8004",
    "8010",
    "417",
    "8017",
    "8018",
    "255",
    "401",
    "402",
}
_RUN_TOGETHER = ("17", "11", "21", "10")
"""Fields that are searched for within a field that no separator ends."""
_MAX_RUN = 60
_MAX_PAIRS = 50
"""Fields of a Digital Link; shops add some of their own to those of GS1."""


class _Element(msgspec.Struct, frozen=True):
    """One field of a message. `rule` is None where the application identifier is unknown."""

    identifier: str
    value: str
    rule: FieldRule | None
    warning: str = ""


def bracketed(text: str, this_year: int) -> ParsedCode:
    """Read a message with its application identifiers in brackets, as printed."""
    bare = "".join(text.split())
    marks = list(_BRACKETED.finditer(bare))
    ends = [mark.start() for mark in marks[1:]] + [len(bare)]
    return _parsed(
        [_checked(mark.group(1), bare[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)], this_year
    )


def is_bracketed(text: str) -> bool:
    """Whether a text begins with an application identifier in brackets."""
    return bool(_BRACKETED.match(text))


def scanned(text: str, this_year: int) -> ParsedCode:
    """Read a message from a scanner: fields one after the other, GS after those of variable length."""
    has_separators = GS in text.strip(GS)
    elements: list[_Element] = []
    for segment in text.split(GS):
        elements += _elements(segment.strip(), is_exact=has_separators)
    return _parsed(elements, this_year)


def digital_link(address: str, this_year: int) -> ParsedCode:
    """Read a GS1 Digital Link URI; the result is empty where the address is not one."""
    try:
        parts = urlsplit(address)
        query = parse_qsl(parts.query, separator=";" if ";" in parts.query else "&")
    except ValueError:
        return ParsedCode(warnings=("This address cannot be read.",))
    path = [unquote(each) for each in parts.path.split("/")]
    keys = [_KEYS.get(each, each) for each in path]
    start = next((start for start, key in enumerate(keys[:-1]) if key in _PRIMARY), None)
    if start is None:
        return ParsedCode(warnings=("This is the address of a web page, and no GS1 Digital Link that can be read.",))
    pairs = [*zip(keys[start::2], path[start + 1 :: 2], strict=False), *query]
    if len(pairs) > _MAX_PAIRS:
        return ParsedCode(warnings=("This address has more fields than a GS1 Digital Link needs.",))
    named = [(_KEYS.get(key, key), value) for key, value in pairs]
    return _parsed([_checked(key, _padded(key, value)) for key, value in named if field_rule(key)], this_year)


def _padded(key: str, value: str) -> str:
    """The key of a device with its leading zeros, which Digital Link URIs may leave out."""
    return value.zfill(14) if key == "01" and len(value) in GTIN_LENGTHS and is_number(value) else value


def _checked(identifier: str, value: str) -> _Element:
    rule = field_rule(identifier)
    if rule is None:
        return _Element(identifier, value, None, f"({identifier}) is no application identifier of GS1.")
    return _Element(identifier, value, rule, "" if rule.whole(value) else _misfit(rule, value))


def _misfit(rule: FieldRule, value: str) -> str:
    return f"“{value}” is no value that may follow ({rule.identifier}), {rule.title}."


def _elements(rest: str, *, is_exact: bool) -> Iterator[_Element]:
    """The fields of a part of a message without a separator."""
    found: list[str] = []
    while rest:
        rule = leading_rule(rest)
        if rule is None:
            yield _Element("", rest, None, f"“{rest}” begins with no application identifier of GS1.")
            return
        found.append(rule.identifier)
        rest = rest[len(rule.identifier) :]
        if rule.is_variable:
            yield _variable(rule, rest, found, is_exact=is_exact)
            return
        match = rule.pattern.match(rest)
        if match is None or not rest.isascii():
            yield _Element(rule.identifier, rest, rule, _misfit(rule, rest))
            return
        yield _Element(rule.identifier, match.group(), rule)
        rest = rest[match.end() :]


def _variable(rule: FieldRule, value: str, found: Sequence[str], *, is_exact: bool) -> _Element:
    """A field that goes on to the next separator, with a warning where another field may be in it."""
    if not rule.whole(value):
        warning = _misfit(rule, value)
    elif is_exact:
        return _Element(rule.identifier, value, rule)
    else:
        warning = ""
    split = _run_together(value, frozenset(found))
    if split is not None:
        own, others = split
        shown = " ".join(f"({identifier}) {text}" for identifier, text in ((rule.identifier, own), *others))
        warning = f"{NO_SEPARATOR} in “{value}”: it may be {shown}."
    return _Element(rule.identifier, value, rule, warning)


_Fields = tuple[tuple[str, str], ...]


def _run_together(value: str, found: frozenset[str]) -> tuple[str, _Fields] | None:
    """A value and the fields that follow in it, where a separator may be missing."""
    for end in range(1, min(len(value), _MAX_RUN)):
        others = _following(value[end:], found)
        if others:
            return value[:end], others
    return None


def _following(text: str, found: frozenset[str]) -> _Fields | None:
    """The fields of a text, if it can be read as some that are not yet found."""
    identifier = text[:2]
    rule = field_rule(identifier) if identifier in _RUN_TOGETHER and identifier not in found else None
    if rule is None:
        return None
    rest = text[2:]
    if rule.is_variable:
        return ((identifier, rest),) if rule.whole(rest) else None
    match = rule.pattern.match(rest)
    if match is None or part_of(rule, match.group(), this_year=2000).value is None:
        return None
    if match.end() == len(rest):
        return ((identifier, match.group()),)
    others = _following(rest[match.end() :], found | {identifier})
    return ((identifier, match.group()), *others) if others else None


def _parsed(elements: Sequence[_Element], this_year: int) -> ParsedCode:
    candidates = [each for element in elements if (each := _candidate(element, elements)) is not None]
    parts = [
        _part(each, this_year) for each in elements if each.identifier not in {"01", "8013", "8014"} or not each.rule
    ]
    warnings = [each.warning for each in elements if each.warning]
    warnings += [f"“{part.written}” is no date ({part.label})." for part in parts if part.value is None]
    if any(each.identifier == "00" for each in elements) and not candidates:
        warnings.append("This numbers a shipping unit (SSCC); no device can be told by it.")
    return ParsedCode(in_order(candidates), tuple(parts), tuple(warnings), is_marked=True)


def _part(element: _Element, this_year: int) -> Part:
    if element.rule is None or not element.rule.whole(element.value):
        title = element.rule.title if element.rule else ""
        return Part("other", element.value, element.value, element.identifier, title)
    return part_of(element.rule, element.value, this_year)


def _candidate(element: _Element, elements: Sequence[_Element]) -> Candidate | None:
    """The identifier that a field holds; that of contained items where the message has no other."""
    value = element.value
    is_contained = element.identifier == "02" and not any(each.identifier == "01" for each in elements)
    if element.identifier == "01" or is_contained:
        if not is_number(value) or len(value) not in GTIN_LENGTHS:
            return None
        return gtin(value, is_marked=True, note="The items inside of a shipping unit have it." if is_contained else "")
    if element.identifier == "8006" and element.rule and element.rule.whole(value):
        return gtin(value[:14], is_marked=True, note="The code is that of one piece of it.")
    if element.identifier == "8013":
        return model_number(value, is_marked=True)
    return individualised_device(value) if element.identifier == "8014" and element.rule else None
