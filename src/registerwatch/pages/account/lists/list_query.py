"""The query of a list's page: the filter and page number in its address."""

from collections.abc import Mapping
from typing import get_args

import msgspec

from registerwatch.files.lists.models import Coverage, LineChange, LineFilter
from registerwatch.pages.addresses import page_parameter, with_query
from registerwatch.pages.page_position import page_number
from registerwatch.platform.structs import replace

MAX_TEXT_LENGTH = 200

_COVERAGES: Mapping[str, Coverage] = {each: each for each in get_args(Coverage)}
_CHANGES: Mapping[str, LineChange] = {each: each for each in get_args(LineChange)}
_WATCHED = {"yes": True, "no": False}


ALL = LineFilter()


def list_path(list_id: int) -> str:
    """The page of a list."""
    return f"/app/lists/{list_id}"


def upload_path(list_id: int, upload_id: int) -> str:
    """The page of an upload that waits to be kept."""
    return f"/app/lists/{list_id}/uploads/{upload_id}"


class ListQuery(msgspec.Struct, frozen=True):
    """A filter and a page number. Unknown values in an address are ignored."""

    path: str
    chosen: LineFilter = ALL
    page: int = 1

    @classmethod
    def of(cls, path: str, values: Mapping[str, str]) -> "ListQuery":
        """The query in the parameters of an address or the fields of a form."""
        chosen = LineFilter(
            _COVERAGES.get(values.get("result", "")),
            values.get("q", "").strip()[:MAX_TEXT_LENGTH],
            _WATCHED.get(values.get("watched", "")),
            _CHANGES.get(values.get("change", "")),
        )
        return cls(path, chosen, page_number(values.get("page", "")))

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The filter as hidden fields, without empty ones."""
        chosen = self.chosen
        watched = {None: "", True: "yes", False: "no"}[chosen.is_watched]
        named = (
            ("q", chosen.text),
            ("result", chosen.coverage or ""),
            ("watched", watched),
            ("change", chosen.change or ""),
        )
        return [(name, value) for name, value in named if value]

    @property
    def is_empty(self) -> bool:
        """Whether all lines match."""
        return not self.fields

    @property
    def address(self) -> str:
        """The address of this list."""
        return self.address_at(self.path)

    def address_at(self, path: str) -> str:
        """The address of the lines at another path, such as that of a download."""
        return with_query(path, [*self.fields, ("page", page_parameter(self.page))])

    def address_of(self, page: int) -> str:
        """The address of another page of the list."""
        return replace(self, page=page).address

    def with_result(self, coverage: Coverage | None) -> str:
        """The address of the first page of lines with another result."""
        return replace(self, chosen=replace(self.chosen, coverage=coverage), page=1).address

    def with_change(self, change: LineChange | None) -> str:
        """The address of the first page of lines with another change."""
        return replace(self, chosen=replace(self.chosen, change=change), page=1).address
