"""Parameters that many operations share."""

import re
from typing import Annotated

from fastapi import Path

from registerwatch.errors import InvalidInput

MAX_ROW_ID = 2**63 - 1

RowId = Annotated[
    str, Path(description="Number of a row of the account.", json_schema_extra={"pattern": "^[0-9]+$"}, examples=["7"])
]

_NUMBER = re.compile(r"-?[0-9]{1,40}")


def row_id(text: str) -> int:
    """A number; one that no row can have becomes 0, which no row has. Raises `InvalidInput` for anything else."""
    if not _NUMBER.fullmatch(text):
        raise InvalidInput("The id is a whole number.")
    number = int(text)
    return number if 0 < number <= MAX_ROW_ID else 0
