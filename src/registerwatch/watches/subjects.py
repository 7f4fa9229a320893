"""What can be watched."""

from registerwatch.errors import InvalidInput
from registerwatch.register import identifiers


def subject(text: str) -> str:
    """The identifier in a text, as it is watched. Raises `InvalidInput` for none, and for one that no record can have.

    Signs that cannot be seen are in no identifier, and no database holds all of them.
    """
    return watchable(identifiers.subject(text))


def watchable(subject: str) -> str:
    """The subject, if a record can have it. Raises `InvalidInput`."""
    if not subject.isprintable():
        raise InvalidInput("The identifier holds signs that cannot be seen. Type it anew.")
    return subject
