"""Escapes foreign texts in Markdown: they format, link and mention nothing."""

from string import punctuation

_LITERAL = str.maketrans({each: f"\\{each}" for each in punctuation} | {"@": "\\@\u200b"})
"""Every ASCII character that may have a meaning: a backslash before it removes it, also where it has none. A mention
does not begin with an `@` before an invisible character.
"""


def literal(text: str) -> str:
    """A text on one line that is shown literally."""
    return text.translate(_LITERAL)
