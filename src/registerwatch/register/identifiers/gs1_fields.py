"""Fields of GS1 element strings, by their application identifiers, from the library biip.

biip is imported by `load_fields`, or with the first element string that is read: it takes 16 MB and a tenth of a
second. A server process loads it in a thread once it has started.
"""

import re
from functools import lru_cache

import msgspec

from registerwatch.register.identifiers.code_dates import DateForm, read_date
from registerwatch.register.identifiers.parsed_code import Part, PartName

MAX_IDENTIFIER_LENGTH = 4

_IDENTIFIER = re.compile(f"[0-9]{{2,{MAX_IDENTIFIER_LENGTH}}}")
_NAMES: dict[str, PartName] = {
    "10": "lot",
    "21": "serial",
    "17": "expiry",
    "7003": "expiry",
    "11": "production-date",
    "8008": "production-date",
    "30": "quantity",
    "37": "quantity",
}
_DATES: dict[str, DateForm] = {
    **dict.fromkeys(("11", "12", "13", "15", "16", "17"), "YYMMDD"),
}


class FieldRule(msgspec.Struct, frozen=True):
    """The rule for the value after an application identifier."""

    identifier: str
    title: str
    pattern: re.Pattern[str]
    """Matches the value at its beginning; a value of fixed length ends with the match."""
    is_variable: bool
    """Whether a separator has to end it before another field."""

    def whole(self, value: str) -> bool:
        """Whether this is a value of the field."""
        return value.isascii() and bool(self.pattern.fullmatch(value))


def load_fields() -> None:
    """Load the library now: a process without free file handles could not do so later, and a server would keep others
    waiting.
    """
    import biip.gs1_application_identifiers  # noqa: F401  # what it needs is in memory then


def field_rule(identifier: str) -> FieldRule | None:
    """The rule of an application identifier, None where it is not one."""
    return _rule_of_digits(identifier) if _IDENTIFIER.fullmatch(identifier) else None


@lru_cache(maxsize=2_048)  # there are 541; a caller who makes up others costs some memory and 30 microseconds each
def _rule_of_digits(identifier: str) -> FieldRule | None:
    from biip import ParseError
    from biip.gs1_application_identifiers import GS1ApplicationIdentifier

    try:
        found = GS1ApplicationIdentifier.extract(identifier)
    except ParseError:
        return None
    if found.ai != identifier:
        return None
    pattern = re.compile(found.pattern.removeprefix(f"^{identifier}").removesuffix("$"))
    return FieldRule(identifier, found.data_title, pattern, found.separator_required)


def leading_rule(text: str) -> FieldRule | None:
    """The rule of the application identifier that a text begins with."""
    rules = (field_rule(text[:length]) for length in range(2, MAX_IDENTIFIER_LENGTH + 1))
    return next((rule for rule in rules if rule), None)


def part_of(rule: FieldRule, value: str, this_year: int) -> Part:
    """The part that a field states."""
    form = _DATES.get(rule.identifier)
    read: str | None = value
    if form:
        read = read_date(value, form, this_year)
    elif rule.identifier in {"7003", "8008"}:
        read = _time(value, this_year)
    name = _NAMES.get(rule.identifier, "other")
    return Part(name, value, read, rule.identifier, rule.title)


def _time(value: str, this_year: int) -> str | None:
    """A date with an hour, and with minutes and seconds if given."""
    day = read_date(value[:8], "YYMMDDHH", this_year)
    rest = "".join(f":{value[start : start + 2]}" for start in range(8, len(value), 2))
    return f"{day}{rest}" if day else None
