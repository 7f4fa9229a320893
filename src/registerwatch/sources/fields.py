"""Values of a record, taken from what a source sends."""

from collections.abc import Mapping

from registerwatch.register.identifiers import can_be_stored

MAX_NUMBER = 2**31 - 1
"""Largest number that is believed and that both databases hold."""


def text(value: object) -> str:
    """A value as trimmed text, empty for None. NUL, which no database holds in a text, is left out."""
    return "" if value is None else str(value).replace("\x00", "").strip()


def key(value: str | None) -> str:
    """An identifier by which records are stored and found, empty for an impossible one."""
    trimmed = (value or "").strip()
    return trimmed if can_be_stored(trimmed) else ""


def preferred_name(names: Mapping[str, str]) -> str:
    """The name for all languages, else the English one, else the first. `names` are by language, `""` for all."""
    return names.get("") or names.get("en") or next(iter(names.values()), "")
