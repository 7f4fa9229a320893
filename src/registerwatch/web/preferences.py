"""A client's preferences for its request (RFC 7240): to wait for a fuller answer."""

import re
from collections.abc import Iterable

_WAIT = re.compile(r'\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:;.*)?', re.IGNORECASE)


def wait_seconds(headers: Iterable[str], most: int) -> int:
    """The seconds of the first `wait=…` in `Prefer` headers, at most `most`; 0 where there is none."""
    for preference in (each for header in headers for each in header.split(",")):
        if found := _WAIT.fullmatch(preference):
            return min(int(found[1]), most)
    return 0
