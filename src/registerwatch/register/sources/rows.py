"""The rows of a page, decoded one by one: the other rows of a page are kept when one cannot be read."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import structlog

from registerwatch.register.outcomes import RegisterFailure

Row = TypeVar("Row")

log = structlog.get_logger(__name__)

NO_KEY = "no possible key"


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
    rows: list[Row] = []
    reasons: list[str] = []
    for each in content:
        try:
            row = decoder.decode(each)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reasons.append(str(error))
            continue
        if is_keyed(row):
            rows.append(row)
        else:
            reasons.append(NO_KEY)
    if reasons and not rows:
        raise RegisterFailure(f"The register's answer has an unexpected form (no row of it can be read: {reasons[0]}).")
    if reasons:  # a reason names a place and a type, never the value
        log.warning("rows cannot be read", listed=listed, skipped=len(reasons), rows=len(content), first=reasons[0])
    return rows
