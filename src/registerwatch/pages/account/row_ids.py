"""Ids of rows in addresses of pages."""

from typing import Annotated

from pydantic import AfterValidator

from registerwatch.platform.db.row_pages import MAX_ROW_ID


def _bounded(number: int) -> int:
    return min(number, MAX_ROW_ID)


RowId = Annotated[int, AfterValidator(_bounded)]
"""A number in the range of every database. Numbers beyond it become one that no row has."""
