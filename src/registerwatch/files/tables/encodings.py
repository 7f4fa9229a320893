"""From the bytes of a text to its characters."""

import codecs
from collections.abc import Mapping

from registerwatch.errors import InvalidInput

UTF_8, UTF_16, WINDOWS_1252 = "utf-8", "utf-16", "windows-1252"
ENCODINGS: Mapping[str, str] = {
    UTF_8: "utf-8-sig",
    UTF_16: "utf-16-le",
    WINDOWS_1252: "cp1252",
    "windows-1250": "cp1250",
    "iso-8859-15": "iso8859-15",
    "mac-roman": "mac-roman",
    "cp850": "cp850",
    "cp437": "cp437",
}
"""The encodings that can be chosen, and what Python calls them."""


def load_encodings() -> None:
    """Load what decodes each of them: a process that can open no file cannot do so when it meets one.

    Names in an archive are in one of them, too.
    """
    for name in (*ENCODINGS.values(), "utf-16", "utf-16-be"):
        codecs.lookup(name)


def decoded(content: bytes) -> tuple[str, str, bool]:
    """The text of a file, its encoding, and whether that was guessed: UTF-8, UTF-16, else Windows-1252."""
    if utf_16 := _form_of_utf_16(content):
        return content.decode(utf_16, "replace"), UTF_16, False
    try:
        return content.decode("utf-8-sig"), UTF_8, False
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), WINDOWS_1252, True


def decoded_as(content: bytes, encoding: str) -> str:
    """The text of a file in one of `ENCODINGS`. Raises `InvalidInput` where it cannot be read so.

    What `decoded` recognises or guesses can be chosen too: few bytes that do not fit are replaced there.
    """
    if encoding not in ENCODINGS:
        raise InvalidInput(f"The encoding is none of {', '.join(ENCODINGS)}.")
    utf_16 = _form_of_utf_16(content) if encoding == UTF_16 else ""
    try:
        if utf_16 or encoding == WINDOWS_1252:
            return content.decode(utf_16 or "cp1252", "replace")
        return content.decode(ENCODINGS[encoding])
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The file cannot be read as {encoding}: its byte {error.start + 1:,} does not fit. Choose another "
            "encoding, or leave it to be recognised."
        ) from None


def _form_of_utf_16(content: bytes) -> str:
    """Which form of UTF-16 a text is certainly in, empty for any other: it has a mark, or, as that of Western signs, a
    NUL in every second place.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = content[:200]
    if len(start) >= 4 and start.count(0) * 3 >= len(start):
        return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    return ""
