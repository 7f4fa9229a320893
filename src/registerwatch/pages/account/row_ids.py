"""Ids in addresses of pages."""

from typing import Annotated

from fastapi import Path

from registerwatch.db.row_pages import MAX_ROW_ID

RowId = Annotated[int, Path(ge=0, le=MAX_ROW_ID)]
"""A number that can be the id of a row; any other number is a bad request."""
