"""Identifiers that can be watched."""

from registerwatch.errors import InvalidInput
from registerwatch.register import identifiers


def subject(text: str) -> str:
    """The identifier in a text, as it is watched. Raises `InvalidInput` without one, or if no record can have it.

    Invisible characters are never in identifiers, and not every database can store them.
    """
    return watchable(identifiers.subject(text))


def watchable(subject: str) -> str:
    """The subject. Raises `InvalidInput` if no record can have it."""
    if not subject.isprintable():
        raise InvalidInput("The identifier holds signs that cannot be seen. Type it anew.")
    return subject
