"""The base of all described answers: a struct whose fields say what they mean.

One struct is both the answer and its description: msgspec encodes it, and `/openapi.json` shows its schema.
"""

from typing import Annotated, Literal

import msgspec

from registerwatch.platform.clock import iso_utc
from registerwatch.register.models import field_doc
from registerwatch.web.request_ids import current_request_id

doc = field_doc
"""The meaning of a field, with examples: `Annotated[str, doc("Name of the watch.", "Ceramill Zolid")]`."""

EXAMPLE_INSTANT = "2026-11-28T03:38:00Z"


class Answer(msgspec.Struct):
    """Base of answers. A field that may be missing has the default `msgspec.UNSET`."""


def instant(description: str) -> msgspec.Meta:
    """`doc` for an instant, ISO 8601 in UTC."""
    return doc(description, EXAMPLE_INSTANT, form="date-time")


def iso_or_none(unix_seconds: int | None) -> str | None:
    """An instant as answers write it; None stays None."""
    return None if unix_seconds is None else iso_utc(unix_seconds)


class AnyError(Answer, kw_only=True):
    """Base of errors: what each has beside `error`. `request_id` is that of the request that is being answered."""

    code: Annotated[str, doc("What kind of error it is, for a program; `/docs/errors` has them all.", "invalid-input")]
    request_id: Annotated[
        str | msgspec.UnsetType,
        doc("The `X-Request-Id` of the answer, by which the operator finds it in the log.", "9f86d081884c7d65"),
    ] = msgspec.UNSET

    def __post_init__(self) -> None:
        self.request_id = current_request_id() or msgspec.UNSET


class ErrorBody(AnyError):
    """Every error has this shape. Match on the status and on `code`, not on the message."""

    error: Annotated[str, doc("A sentence for a person.", "`page` counts from 1.")]


NOT_FOUND = "not-found"
"""The `code` of a 404."""


class Done(Answer):
    """It is done, or there was nothing to do."""

    ok: Annotated[Literal[True], doc("Always true.")] = True
