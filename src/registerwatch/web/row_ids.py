"""Ids of rows as they stand in an address."""

import re

from registerwatch.errors import InvalidInput

_NUMBER = re.compile(r"-?[0-9]{1,40}")
MAX_ROW_ID = 2**63 - 1


def row_id(text: str) -> int:
    """A number; one that no row can have becomes 0, which no row has. Raises `InvalidInput` for anything else."""
    if not _NUMBER.fullmatch(text):
        raise InvalidInput("The id is a whole number.")
    number = int(text)
    return number if 0 < number <= MAX_ROW_ID else 0
