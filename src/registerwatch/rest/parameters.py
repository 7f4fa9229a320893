"""Parameters that many operations share."""

from typing import Annotated

from fastapi import Path

RowId = Annotated[
    str, Path(description="Number of a row of the account.", json_schema_extra={"pattern": "^[0-9]+$"}, examples=["7"])
]
