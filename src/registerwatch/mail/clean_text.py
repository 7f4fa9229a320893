"""Foreign texts as mails show them: on one line, in the order in which they were written, bounded."""

import re

_BREAKS = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""White space and control characters."""
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\uffff"
    "\U000e0000-\U000e007f]"
)
"""Invisible characters: marks that reverse the order of text, halves of characters, tags."""
_ADDRESS = re.compile(r"(?i)(?<=[a-z])://|\bwww\.")
_AT = re.compile(r"(?<=\S)@(?=\S)")
_DOMAIN = re.compile(r"(?<=\w)\.(?=[^\W\d_]{2,}(?!\w)|(?i:xn--))")
"""The point before what could be a top-level domain: two letters or more. Versions and numbers have none."""


def clean(text: str, most: int) -> str:
    """One line without hidden characters, of `most` characters at most; a last ellipsis shows that it was cut."""
    line = _HIDDEN.sub("", _BREAKS.sub(" ", text[: most * 4])).strip()
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def unlinked(line: str) -> str:
    """A line in which mail programs recognize no link.

    They turn `https://…`, `www.…`, `m@example.org` and `example.org` into links; each gets a space and stays readable.
    """
    return _DOMAIN.sub(" .", _AT.sub("@ ", _ADDRESS.sub(_apart, line)))


def _apart(found: re.Match[str]) -> str:
    return ": //" if found[0] == "://" else "www ."
