"""Decodes the bytes of texts."""

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
"""The encodings that can be chosen, with Python's names."""
BEGINNING_BYTES = 4 * 1024
"""Bytes that are checked before a text is decoded: 0.6 ms at most, a hundredth of that for most."""
_CHARACTERS_OF_WINDOWS_1252 = bytes(range(256)).decode("cp1252", "replace")
"""Indexed by byte. Five bytes have none: Python's decoder takes two seconds for 10 MiB of those."""


def load_encodings() -> None:
    """Load the decoders of all encodings, for a process that can open no file later.

    Names in an archive have one of them, too.
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
        return _of_windows_1252(content), WINDOWS_1252, True


def decoded_as(content: bytes, encoding: str) -> str:
    """The text of a file in one of `ENCODINGS`. Raises `InvalidInput` for bytes that do not fit.

    In Windows-1252 and in UTF-16 that `decoded` recognises, such bytes are replaced.
    """
    if encoding not in ENCODINGS:
        raise InvalidInput(f"The encoding is none of {', '.join(ENCODINGS)}.")
    utf_16 = _form_of_utf_16(content) if encoding == UTF_16 else ""
    try:
        if utf_16:
            return content.decode(utf_16, "replace")
        if encoding == WINDOWS_1252:
            return _of_windows_1252(content)
        return content.decode(ENCODINGS[encoding])
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The file cannot be read as {encoding}: its byte {error.start + 1:,} does not fit. Choose another "
            "encoding, or leave it to be recognised."
        ) from None


def beginning_of(content: bytes, encoding: str) -> str:
    """The first characters of a text in an encoding, which is recognised where it is empty. Control characters are
    right, since all encodings but UTF-16 have them from ASCII; others may be wrong.
    """
    start = content[:BEGINNING_BYTES]
    utf_16 = _form_of_utf_16(start) if encoding in ("", UTF_16) else ""
    if utf_16 or encoding == UTF_16:
        return start.decode(utf_16 or ENCODINGS[UTF_16], "replace")
    return start.decode("latin-1")


def _of_windows_1252(content: bytes) -> str:
    return codecs.charmap_decode(content, "strict", _CHARACTERS_OF_WINDOWS_1252)[0]


def _form_of_utf_16(content: bytes) -> str:
    """The form of UTF-16 of a text, empty where that is not certain: it has a byte order mark, or many NULs as Western
    text has.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = content[:200]
    if len(start) >= 4 and start.count(0) * 3 >= len(start):
        return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    return ""
