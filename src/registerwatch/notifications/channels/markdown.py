"""Texts of others in Markdown, shown as they are: they format, link and mention nothing."""

from string import punctuation

_LITERAL = str.maketrans({each: f"\\{each}" for each in punctuation} | {"@": "\\@\u200b"})
"""Every ASCII character that may mean something: a backslash before it takes that from it, also where it has none. No
mention begins with an `@` that something stands behind which nobody sees.
"""


def literal(text: str) -> str:
    """A text on one line that is shown as it is."""
    return text.translate(_LITERAL)
