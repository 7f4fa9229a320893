"""The codes that somebody collects: in their order, none twice, in a text that a form carries back and forth. Pure."""

import re
from collections.abc import Iterable, Sequence

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import SEPARATORS
from registerwatch.register.identifiers import MAX_CODE_LENGTH
from registerwatch.watches.imports.import_text import MAX_LINES

MAX_CODES = MAX_LINES
"""As many as can be watched at once."""
FULL = f"The list has {MAX_CODES} codes, which is the most. Watch or download them, then start a new list."
DAMAGED = "The list of scanned codes did not come back as it was shown."

_SEPARATORS = re.compile("[{}]".format("".join(SEPARATORS)))


def one_line(code: str) -> str:
    """A code as it can stand in a page: separators as `<GS>` and alike, no other sign that cannot be seen."""
    tagged = _SEPARATORS.sub(lambda sign: SEPARATORS[sign.group()], code)
    return "".join(sign if sign.isprintable() else " " for sign in tagged).strip()[:MAX_CODE_LENGTH]


def with_more(codes: Sequence[str], more: Iterable[str]) -> list[str]:
    """The codes with those of `more` that are not among them yet. Raises `InvalidInput` where they become too many."""
    together = list(dict.fromkeys([*codes, *more]))
    if len(together) > MAX_CODES:
        raise InvalidInput(FULL)
    return together


def written_codes(codes: Sequence[str]) -> str:
    """Codes as the text of a field."""
    return "\n".join(codes)


def read_codes(text: str) -> list[str]:
    """The codes in such a text. Raises `InvalidInput` for what is none of ours."""
    lines = text.replace("\r\n", "\n").split("\n") if len(text) <= MAX_CODES * (MAX_CODE_LENGTH + 2) else None
    if lines is None or len(lines) > MAX_CODES:
        raise InvalidInput(DAMAGED)
    return list(dict.fromkeys(code for code in map(one_line, lines) if code))
