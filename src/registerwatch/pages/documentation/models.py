"""The operations of the interface for programs as people read them."""

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
"""Names of groups of operations in navigation; any other group has its own with a capital letter."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter, and where it goes: `query`, `path` or `header`."""

    field: Field
    location: str


class Body(msgspec.Struct, frozen=True):
    """A request body of one media type. `fields` is empty where it is no object with fields."""

    media_type: str
    text: str
    fields: Sequence[Field]


class Answer(msgspec.Struct, frozen=True):
    """An answer of one status. `type` is None where its body is no JSON, `media_type` empty where it has no body."""

    status: str
    text: str
    type: TypeName | None
    media_type: str

    @property
    def is_error(self) -> bool:
        """Whether something was refused or failed."""
        return self.status[0] in "45d"


class Operation(msgspec.Struct, frozen=True):
    """One operation. `example` is a successful answer in JSON, `curl` empty where the service itself sends."""

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
    """A JSON object that operations answer or take."""

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
        """Its name."""
        return TITLES.get(self.tag, self.tag.capitalize())

    @property
    def address(self) -> str:
        """`/docs/api/watches`."""
        return f"{API_PATH}/{self.tag}"
