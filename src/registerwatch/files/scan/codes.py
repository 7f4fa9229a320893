"""A list of scanned codes: ordered, without duplicates, as a text that a form sends back and forth. Pure."""

import re
from collections.abc import Iterable, Sequence

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import SEPARATORS
from registerwatch.register.identifiers import MAX_CODE_LENGTH
from registerwatch.watches.imports.import_text import MAX_LINES

MAX_CODES = MAX_LINES
"""As many as one import can watch."""
FULL = f"The list has {MAX_CODES} codes, which is the most. Watch or download them, then start a new list."
DAMAGED = "The list of scanned codes did not come back as it was shown."

_SEPARATORS = re.compile("[{}]".format("".join(SEPARATORS)))


def one_line(code: str) -> str:
    """A code for a page: separators as `<GS>` and the like, without other invisible characters."""
    tagged = _SEPARATORS.sub(lambda sign: SEPARATORS[sign.group()], code)
    return "".join(sign if sign.isprintable() else " " for sign in tagged).strip()[:MAX_CODE_LENGTH]


def with_more(codes: Sequence[str], more: Iterable[str]) -> list[str]:
    """The codes with the new ones of `more`. Raises `InvalidInput` if they become too many."""
    together = list(dict.fromkeys([*codes, *more]))
    if len(together) > MAX_CODES:
        raise InvalidInput(FULL)
    return together


def written_codes(codes: Sequence[str]) -> str:
    """Codes as the text of a form field."""
    return "\n".join(codes)


def read_codes(text: str) -> list[str]:
    """The codes in a text of `written_codes`. Raises `InvalidInput` for another text."""
    lines = text.replace("\r\n", "\n").split("\n") if len(text) <= MAX_CODES * (MAX_CODE_LENGTH + 2) else None
    if lines is None or len(lines) > MAX_CODES:
        raise InvalidInput(DAMAGED)
    return list(dict.fromkeys(code for code in map(one_line, lines) if code))
