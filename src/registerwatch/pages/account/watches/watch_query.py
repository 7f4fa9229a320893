"""The query of the page of all watches: filter, order, page number."""

from collections.abc import Iterable
from typing import get_args

import msgspec
from starlette.datastructures import QueryParams

from registerwatch.pages.addresses import page_parameter, with_query
from registerwatch.pages.forms import Form
from registerwatch.pages.page_position import page_number
from registerwatch.platform.structs import replace
from registerwatch.watches.models import HealthState
from registerwatch.watches.questions.listed_watches import WatchFilter, WatchOrder
from registerwatch.watches.snapshot import Kind

PATH = "/app/watches"
DESCENDING_FIRST = frozenset({WatchOrder.LAST_CHANGE, WatchOrder.ADDED})
"""Columns whose first click sorts the newest first."""

_STATES: dict[str, HealthState] = {each: each for each in get_args(HealthState)}
_KINDS: dict[str, Kind] = {each: each for each in get_args(Kind)}
_ORDERS = {order.value: order for order in WatchOrder}


ALL = WatchFilter()


class WatchQuery(msgspec.Struct, frozen=True):
    """A filter, an order and a page number. Unknown values in an address are ignored."""

    chosen: WatchFilter = ALL
    order: WatchOrder = WatchOrder.NAME
    is_descending: bool = False
    page: int = 1

    @classmethod
    def of_address(cls, parameters: QueryParams) -> "WatchQuery":
        """The query in an address."""
        return cls._of(dict(parameters), parameters.getlist("tag"))

    @classmethod
    def of_form(cls, form: Form) -> "WatchQuery":
        """The query in the hidden fields of a form."""
        return cls._of(dict(form.fields), form.all("tag"))

    @classmethod
    def _of(cls, values: dict[str, str], tags: Iterable[str]) -> "WatchQuery":
        sort, page = values.get("sort", ""), values.get("page", "")
        chosen = WatchFilter.of(
            values.get("q", ""), _STATES.get(values.get("state", "")), _KINDS.get(values.get("kind", "")), tags
        )
        order = _ORDERS.get(sort.removeprefix("-"))
        is_descending = order is not None and sort.startswith("-")
        return cls(chosen, order or WatchOrder.NAME, is_descending, page_number(page))

    @property
    def sort(self) -> str:
        """The order in the address; empty for the default."""
        sort = ("-" if self.is_descending else "") + self.order
        return "" if sort == WatchOrder.NAME else sort

    @property
    def filter_fields(self) -> list[tuple[str, str]]:
        """The filter as hidden fields, without empty ones."""
        chosen = self.chosen
        named = [("q", chosen.text), ("state", chosen.state or ""), ("kind", chosen.kind or "")]
        return [(name, value) for name, value in [*named, *(("tag", tag) for tag in chosen.tags)] if value]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The query as hidden fields."""
        rest = ("sort", self.sort), ("page", page_parameter(self.page))
        return self.filter_fields + [(name, value) for name, value in rest if value]

    @property
    def address(self) -> str:
        """The address of this list."""
        return self.address_at(PATH)

    def address_at(self, path: str) -> str:
        """The list at another path, such as that of a download."""
        return with_query(path, self.fields)

    def with_state(self, state: HealthState | None) -> str:
        """The address of the first page with another state."""
        return replace(self, chosen=replace(self.chosen, state=state), page=1).address

    def with_tag(self, tag: str) -> str:
        """The address of all watches with a tag."""
        return replace(self, chosen=WatchFilter.of(tags=[tag]), page=1).address

    def without_tag(self, tag: str) -> str:
        """The address of the list without one of its tags."""
        tags = tuple(each for each in self.chosen.tags if each != tag)
        return replace(self, chosen=replace(self.chosen, tags=tags), page=1).address

    def address_of(self, page: int) -> str:
        """The address of another page of the list."""
        return replace(self, page=page).address

    def sorted_by(self, name: str) -> str:
        """The address of a column's head: the list sorted by it, or in reverse if it is sorted by it already."""
        order = WatchOrder(name)
        first = order in DESCENDING_FIRST
        return replace(
            self, order=order, is_descending=(not self.is_descending) if order is self.order else first, page=1
        ).address

    def aria_sort(self, name: str) -> str:
        """The direction of a column's sorting, empty if the list is sorted by another."""
        if name != self.order:
            return ""
        return "descending" if self.is_descending else "ascending"
