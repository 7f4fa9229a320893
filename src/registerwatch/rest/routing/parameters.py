"""Parameters that many operations share, and a check for unknown ones."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

from fastapi import Path
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Header
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request

from registerwatch.errors import InvalidInput
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.rest.routing.auth import KeyOrSession
from registerwatch.web.unknown_names import unknown_message, unknown_names

MAX_PAGE, DEFAULT_PAGE = 1_000, 100
"""Rows of one page: the maximum and the default."""

RowId = Annotated[
    str,
    Path(description="Number of a row of the account.", json_schema_extra={"pattern": "^[0-9]{1,40}$"}, examples=["7"]),
]


class PageParameters(BaseModel):
    """Which part of a list is answered. Without any parameter it is the whole list."""

    after: int | None = Field(None, ge=0, le=MAX_ROW_ID, description="Only what comes after this id; 0 for all.")
    limit: int = Field(DEFAULT_PAGE, ge=1, le=MAX_PAGE, description="Most rows in the answer.")

    @field_validator("after", "limit", "before", mode="before", check_fields=False)
    @classmethod
    def _in_digits(cls, value: Any) -> Any:
        """Raise `ValueError` for a text such as `7.0`, which would be read as a whole number."""
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise ValueError("Input should be a whole number, written in digits")
        return value

    @property
    def is_given(self) -> bool:
        """Whether the request has any of them."""
        return bool(self.model_fields_set)


_NUMBER = re.compile(r"-?[0-9]{1,40}")


def row_id(text: str) -> int:
    """The number in a text; a number beyond all ids becomes 0, which no row has. Raises `InvalidInput` for others."""
    if not _NUMBER.fullmatch(text):
        raise InvalidInput("The id is a whole number.")
    number = int(text)
    return number if 0 < number <= MAX_ROW_ID else 0


async def only_known_parameters(request: Request) -> None:
    """A dependency that raises `InvalidInput` for a query parameter that the route does not describe.

    If a misspelt filter were ignored, an incomplete answer would look complete. Raises `Unauthenticated` or
    `ScopeTooNarrow` if the route needs a caller and there is none, or none who may call it.
    """
    if refusal := unknown_parameters(request):
        for level in _calls(request.scope["route"].dependant):
            if isinstance(level, KeyOrSession):
                await level.check(request)  # a caller who may not ask learns nothing else
        raise InvalidInput(refusal)


def unknown_parameters(request: Request) -> str:
    """The message about query parameters that the request's route does not have; empty if it has all."""
    if not request.scope["query_string"]:
        return ""
    known = _query_parameters(request.scope["route"])
    return unknown_message("parameter", unknown_names(request.query_params.keys(), known), known)


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls(each)


_described: dict[str, Sequence[str]] = {}
"""Names of query parameters by operation."""


def _query_parameters(route: APIRoute) -> Sequence[str]:
    if route.unique_id not in _described:
        parameters = [each for each in get_flat_params(route.dependant) if not isinstance(each.field_info, Header)]
        names = dict.fromkeys(each.alias for each in parameters)
        _described[route.unique_id] = [name for name in names if name not in route.param_convertors]
    return _described[route.unique_id]
