"""The documentation of one service: its guides and its interface, rendered at the first use."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from markupsafe import Markup

from registerwatch.pages.documentation.library import BY_NAME, TOPICS, TRIED_AT, Topic, address_of, text_of
from registerwatch.pages.documentation.markdown import Document, code_block, document, inline
from registerwatch.pages.documentation.models import Group, Operation
from registerwatch.pages.documentation.operations import groups_of
from registerwatch.pages.documentation.schemas import TypeName
from registerwatch.pages.rendering import render


class Documentation:
    """The documentation of a service with a description and an address."""

    def __init__(self, describe: Callable[[], Mapping[str, Any]], public_url: str) -> None:
        self._describe = describe
        self._public_url = public_url
        self._guides: dict[str, Document] = {}
        self._bodies: dict[str, Markup] = {}
        self._with_links: dict[str, Markup] = {}

    @cached_property
    def groups(self) -> Sequence[Group]:
        """The operations by their tags."""
        return groups_of(self._describe(), self._public_url)

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        """The addresses of code that names an operation, `POST /v1/keys`, or a guide, `/docs/errors`."""
        operations = [each for group in self.groups for each in group.operations if not each.is_sent]
        guides = {topic.address: topic.address for topic in TOPICS}
        return guides | {f"{each.method} {each.path}": each.address for each in operations}

    def group(self, tag: str) -> Group | None:
        """The operations of a tag."""
        return next((group for group in self.groups if group.tag == tag), None)

    def guide(self, topic: Topic) -> Document:
        """A page of `docs/`, with the address of this service in its examples."""
        if topic.name not in self._guides:
            text = text_of(topic).replace(TRIED_AT, self._public_url)
            self._guides[topic.name] = document(text, address_of, self.addresses)
        return self._guides[topic.name]

    def body(self, group: Group) -> Markup:
        """The operations of a group, with the objects in their bodies."""
        if group.tag not in self._bodies:
            html = render(
                "docs/group.html",
                group=group,
                with_links=self.with_links,
                object_address=_address_in(group),
                code_block=code_block,
            )
            self._bodies[group.tag] = Markup(html)  # noqa: S704  # a rendered template
        return self._bodies[group.tag]

    def with_links(self, text: str) -> Markup:
        """A description with links, kept because many operations have the same texts of errors."""
        if text not in self._with_links:
            self._with_links[text] = inline(text, address_of, self.addresses)
        return self._with_links[text]

    def matching(self, query: str) -> list["FoundGroup"]:
        """The operations whose method, path or summary has each word of a query."""
        words = query.lower().split()
        found = [FoundGroup(group, [each for each in group.operations if _has(each, words)]) for group in self.groups]
        return [each for each in found if each.operations]


class FoundGroup(msgspec.Struct, frozen=True):
    """Some operations of a group."""

    group: Group
    operations: Sequence[Operation]


def _address_in(group: Group) -> Callable[[TypeName], str]:
    """The address of an object on a group's page; errors have their own page."""
    shown = {each.name for each in group.objects}
    return lambda name: f"#{name.object_name}" if name.object_name in shown else BY_NAME["errors"].address


def _has(operation: Operation, words: Sequence[str]) -> bool:
    text = f"{operation.method} {operation.path} {operation.summary}".lower()
    return all(word in text for word in words)
