"""Guarding cells of written files, so that no program reads them as formulas, and undoing that when they are read.

In CSV, which has no types, a cell that could be a formula gets an apostrophe.
"""

import re

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_FORMULA_BEHIND_SEPARATOR = re.compile(r"([;|][\s\"']*)(?=[=+\-@＝＋－＠])")
"""In countries with decimal commas, Excel ends a cell at a semicolon, even within quotation marks."""
_GUARD_BEHIND_SEPARATOR = re.compile(r"([;|][\s\"']*)'(?=[=+\-@＝＋－＠])")
_LINE_BREAKS = re.compile(r"[\t\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def guarded(text: str) -> str:
    """A text in one line that no program reads as a formula."""
    text = _LINE_BREAKS.sub(" ", NOT_IN_XML.sub("", text))
    text = _FORMULA_BEHIND_SEPARATOR.sub(r"\1'", text)
    return f"'{text}" if FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text before `guarded`, except for white space."""
    if "'" not in text:
        return text
    if text.startswith("'") and FORMULA.match(text, 1):
        text = text[1:]
    return _GUARD_BEHIND_SEPARATOR.sub(r"\1", text)
