"""Pages of rows: one row more than a page holds is read, to see whether there are others."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

Row = TypeVar("Row")

MAX_ROW_ID = 2**63 - 1
"""The largest id that a row can have."""


def row_id_of(text: str) -> int | None:
    """The id that a text contains; None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ROW_ID))
    return int(text) if is_number and int(text) <= MAX_ROW_ID else None


class RowPage(msgspec.Struct, Generic[Row], frozen=True):
    """Some rows, and whether there are others after them in the order of the list."""

    rows: Sequence[Row]
    more: bool

    @classmethod
    def cut(cls, read: Sequence[Row], limit: int) -> "RowPage[Row]":
        """The page of the rows that were read: one more than its limit where there are more."""
        return cls(read[:limit], len(read) > limit)
