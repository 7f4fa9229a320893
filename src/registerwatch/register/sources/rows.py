"""The rows of a page, decoded one by one: the other rows of a page are kept when one cannot be read."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import structlog

from registerwatch.register.outcomes import RegisterFailure

Row = TypeVar("Row")

log = structlog.get_logger(__name__)

NO_KEY = "no possible key"


class UnreadRow(msgspec.Struct, frozen=True):
    """A row that cannot be read. The reason names a place and a type, never the value."""

    content: msgspec.Raw
    reason: str


def readable(
    content: Sequence[msgspec.Raw],
    decoder: "msgspec.json.Decoder[Row]",
    is_keyed: Callable[[Row], bool],
    *,
    listed: str,
) -> list[Row]:
    """The rows that can be read and have a key; `listed` names the page in the log, which counts the others.

    Raises `RegisterFailure` when there are rows and none of them can be read: then it is the page that is wrong.
    """
    rows, unread = divided(content, decoder, is_keyed, listed=listed)
    if unread and not rows:
        raise no_row_read(unread)
    return rows


def no_row_read(unread: Sequence[UnreadRow]) -> RegisterFailure:
    """What is wrong with an answer of which no row can be read."""
    reason = unread[0].reason
    return RegisterFailure(f"The register's answer has an unexpected form (no row of it can be read: {reason}).")


def divided(
    content: Sequence[msgspec.Raw],
    decoder: "msgspec.json.Decoder[Row]",
    is_keyed: Callable[[Row], bool],
    *,
    listed: str,
) -> tuple[list[Row], list[UnreadRow]]:
    """The rows that can be read and have a key, and the others."""
    rows: list[Row] = []
    unread: list[UnreadRow] = []
    for each in content:
        try:
            row = decoder.decode(each)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            unread.append(UnreadRow(each, str(error)))
            continue
        if is_keyed(row):
            rows.append(row)
        else:
            unread.append(UnreadRow(each, NO_KEY))
    if unread:
        first, skipped = unread[0].reason, len(unread)
        log.warning("rows cannot be read", listed=listed, skipped=skipped, rows=len(content), first=first)
    return rows, unread
