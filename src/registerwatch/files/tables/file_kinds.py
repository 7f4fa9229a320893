"""Checks of an uploaded file's kind: a workbook, a text, or another kind that is refused by name."""

import re
from collections.abc import Sequence

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.encodings import beginning_of

ZIP = b"PK\x03\x04"
NO_LIST = "Upload a list as CSV or as a workbook (.xlsx, .xlsb or .ods), or paste it."
OTHER_FILES: Sequence[tuple[bytes, str]] = (
    (b"\xd0\xcf\x11\xe0", "This is an old Excel file (.xls), or one with a password. Save it as .xlsx without one."),
    (b"%PDF", f"This is a PDF. {NO_LIST}"),
    (b"\x89PNG", f"This is an image. {NO_LIST}"),
    (b"\xff\xd8\xff", f"This is an image. {NO_LIST}"),
    (b"GIF8", f"This is an image. {NO_LIST}"),
    (b"\x1f\x8b", f"This file is packed (gzip). {NO_LIST}"),
    (b"7z\xbc\xaf", f"This file is packed (7z). {NO_LIST}"),
    (b"Rar!", f"This file is packed (rar). {NO_LIST}"),
    (b"PK\x05\x06", f"This file is packed, and empty. {NO_LIST}"),
    (b"{\\rtf", f"This is a text document (RTF). {NO_LIST}"),
)
"""First bytes of files that are not lists, with the messages that refuse them."""
WEB_PAGE = "This is a web page that is named like a spreadsheet. Open it, and save it as .xlsx or CSV."
NO_SIGNS = frozenset(map(chr, (*range(4), *range(5, 9), *range(14, 26), 27, 28, 31)))
"""Control characters that a text cannot have. It can have separators of scanned codes."""
NO_TEXT = f"This file is no text: it holds signs that no list has. {NO_LIST}"

_MARKUP = re.compile(r"\s*<(!doctype html|html|head|body|meta|style|table|\?xml)\b", re.IGNORECASE)


def is_workbook(content: bytes) -> bool:
    """Whether a file is packed as workbooks are."""
    return content.startswith(ZIP)


def check_beginning(content: bytes, encoding: str) -> None:
    """Raises `InvalidInput` for a file that begins neither as a workbook nor as a text in an encoding, recognised where
    that is empty. Readable files pass, and so do many unreadable ones. It takes a millisecond at most.
    """
    if is_workbook(content):
        return
    for beginning, message in OTHER_FILES:
        if content.startswith(beginning):
            raise InvalidInput(message)
    check_is_text(beginning_of(content, encoding))


def check_is_text(text: str) -> None:
    """Raises `InvalidInput` for a text with any of `NO_SIGNS`."""
    if any(sign in text for sign in NO_SIGNS):  # a search for each takes a twentieth of a look at every character
        raise InvalidInput(NO_TEXT)


def check_is_no_page(text: str) -> None:
    """Raises `InvalidInput` for markup."""
    if _MARKUP.match(text):
        raise InvalidInput(WEB_PAGE)
