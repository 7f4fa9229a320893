"""Rows of a page, read one by one: a row that cannot be read does not cost the others."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.wire import RecordReader, UnreadField, WireRecord

Row = TypeVar("Row", bound=WireRecord)

NO_KEY = "no possible key"
MIN_JUDGED = 10
"""Fewer rows prove nothing: a field that most of them have lost may be missing in a few odd records."""
WHOLE_ROW = "whole row"
"""The name of an unread row among unread fields."""


class UnreadRow(msgspec.Struct, frozen=True):
    """A row that cannot be read, and why."""

    content: msgspec.Raw
    reason: str


class RowPage(msgspec.Struct, Generic[Row], frozen=True, kw_only=True):
    """A page of a list: the rows that can be read, and those that cannot."""

    content: list[Row]
    unread: tuple[UnreadRow, ...] = ()

    @property
    def sent(self) -> int:
        """The number of rows that were sent, including unread ones."""
        return len(self.content) + len(self.unread)


class RowReader(Generic[Row]):
    """Base of readers that read pages row by row. `is_keyed` says whether a row can be identified."""

    def __init__(self, reader: RecordReader[Row], is_keyed: Callable[[Row], bool] = lambda _row: True) -> None:
        self.name = reader.name
        self._reader = reader
        self._is_keyed = is_keyed

    def rows_of(self, content: Iterable[msgspec.Raw]) -> tuple[list[Row], tuple[UnreadRow, ...]]:
        """The rows that can be read and have a key, and the others."""
        rows: list[Row] = []
        unread: list[UnreadRow] = []
        for each in content:
            try:
                row = self._reader.decode(each)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                unread.append(UnreadRow(each, str(error)))
                continue
            if self._is_keyed(row):
                rows.append(row)
            else:
                unread.append(UnreadRow(each, NO_KEY))
        return rows, tuple(unread)

    def unread_of(self, page: RowPage[Row]) -> Sequence[UnreadField]:
        """The parts of a page that could not be read."""
        fields = [each for row in page.content for each in row.unread]
        return fields + [UnreadField(WHOLE_ROW, each.reason) for each in page.unread]


def check_some_read(rows: Sequence[WireRecord], unread: Sequence[UnreadRow]) -> None:
    """Refuse an answer whose rows cannot be read: it has another form. Raises `RegisterFailure`."""
    if unread and not rows:
        raise RegisterFailure(
            f"The register's answer has an unexpected form (no row of it can be read: {unread[0].reason})."
        )


def check_all_read(unread: Sequence[UnreadRow]) -> None:
    """Refuse a whole list with an unread row: nothing is known of its subject. Raises `RegisterFailure`."""
    if unread:
        raise RegisterFailure(
            f"The register's answer has an unexpected form (a row of it cannot be read: {unread[0].reason})."
        )


def check_needed(rows: Sequence[WireRecord], needed: Collection[str]) -> None:
    """Refuse a page most of whose rows have lost the same needed field. Raises `RegisterFailure`.

    `needed` are the paths of fields, such as `RISK_CLASS_ID`.
    """
    if len(rows) < MIN_JUDGED:
        return
    lost = Counter(path for row in rows for path in {each.path for each in row.unread} if path in needed)
    for path, number in lost.most_common(1):
        if number * 2 > len(rows):
            example = next(each.example for row in rows for each in row.unread if each.path == path)
            raise RegisterFailure(
                f"The answer has an unexpected form ({number} of {len(rows)} rows have a {path} that cannot be read,"
                f" such as {example})."
            )
