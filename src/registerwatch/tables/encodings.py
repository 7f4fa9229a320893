"""From the bytes of a text to its characters."""

from collections.abc import Mapping, Sequence

from registerwatch.errors import InvalidInput

UTF_8, UTF_16, WINDOWS_1252 = "utf-8", "utf-16", "windows-1252"
ENCODINGS: Mapping[str, str] = {
    UTF_8: "utf-8",
    UTF_16: "utf-16",
    WINDOWS_1252: "cp1252",
    "windows-1250": "cp1250",
    "iso-8859-15": "iso8859-15",
    "mac-roman": "mac-roman",
    "cp850": "cp850",
    "cp437": "cp437",
}
"""The encodings that can be chosen, and what Python calls them."""

_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decoded(content: bytes) -> tuple[str, str, bool]:
    """The text of a file, its encoding, and whether that was guessed: UTF-8, UTF-16, else Windows-1252."""
    if content.startswith(_UTF_16_MARKS):
        return content.decode("utf-16", "replace"), UTF_16, False
    for charset in _utf_16_without_mark(content):
        return content.decode(charset, "replace"), UTF_16, False
    try:
        return content.decode("utf-8-sig"), UTF_8, False
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), WINDOWS_1252, True


def decoded_as(content: bytes, encoding: str) -> str:
    """The text of a file in one of `ENCODINGS`. Raises `InvalidInput` where it cannot be read so."""
    if encoding not in ENCODINGS:
        raise InvalidInput(f"The encoding is none of {', '.join(ENCODINGS)}.")
    codec = ENCODINGS[encoding]
    if encoding == UTF_16 and not content.startswith(_UTF_16_MARKS):
        codec = next(iter(_utf_16_without_mark(content)), "utf-16-le")
    try:
        return content.decode("utf-8-sig" if encoding == UTF_8 else codec)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The file cannot be read as {encoding}: its byte {error.start + 1:,} does not fit. Choose another "
            "encoding, or leave it to be recognised."
        ) from None


def _utf_16_without_mark(content: bytes) -> Sequence[str]:
    """UTF-16 of Western signs has a NUL in every second place."""
    start = content[:200]
    if len(start) >= 4 and start.count(0) * 3 >= len(start):
        return ("utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be",)
    return ()
