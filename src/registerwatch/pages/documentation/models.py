"""Values of the reference of the interface for programs."""

from collections.abc import Sequence

import msgspec

from registerwatch.pages.documentation.library import API_PATH
from registerwatch.pages.documentation.schemas import Field, TypeName

TITLES = {
    "register": "Register",
    "account": "Account",
    "watches": "Watches",
    "webhooks": "Webhooks",
    "channels": "Channels",
    "billing": "Billing",
    "feeds": "Feeds",
    "system": "System",
    "tools": "Tools",
}
"""Titles of groups of operations; any other group has its tag, capitalised."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter, and its location: `query`, `path` or `header`."""

    field: Field
    location: str


class Body(msgspec.Struct, frozen=True):
    """A request body of one media type. `fields` is empty if it is not an object with fields."""

    media_type: str
    text: str
    fields: Sequence[Field]


class Answer(msgspec.Struct, frozen=True):
    """An answer of one status. `type` is None if its body is not JSON, `media_type` empty if it has no body."""

    status: str
    text: str
    type: TypeName | None
    media_type: str

    @property
    def is_error(self) -> bool:
        """Whether it is an error."""
        return self.status[0] in "45d"


class Operation(msgspec.Struct, frozen=True):
    """One operation. `example` is a successful answer in JSON, `curl` empty for requests that the service sends."""

    id: str
    tag: str
    method: str
    path: str
    summary: str
    text: str
    access: str
    parameters: Sequence[Parameter]
    bodies: Sequence[Body]
    answers: Sequence[Answer]
    curl: str
    example: str
    sent_body: str

    @property
    def address(self) -> str:
        """`/docs/api/watches#add_watch`."""
        return f"{API_PATH}/{self.tag}#{self.id}"

    @property
    def is_sent(self) -> bool:
        """Whether the service sends this request, and its reader answers."""
        return not self.curl


class DescribedObject(msgspec.Struct, frozen=True):
    """A JSON object in answers or requests."""

    name: str
    text: str
    fields: Sequence[Field]


class Group(msgspec.Struct, frozen=True):
    """The operations of one tag, with the objects in their bodies."""

    tag: str
    operations: Sequence[Operation]
    objects: Sequence[DescribedObject]

    @property
    def title(self) -> str:
        """Its title."""
        return TITLES.get(self.tag, self.tag.capitalize())

    @property
    def address(self) -> str:
        """`/docs/api/watches`."""
        return f"{API_PATH}/{self.tag}"
