"""The filters beside search results: active ones, and other values with the number of their results."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from registerwatch.copy.search.filters import OTHER, UNKNOWN, Counts, Facet, Filters
from registerwatch.lookup.facet_names import FacetNames, Names, shown_values
from registerwatch.pages.addresses import search_address
from registerwatch.pages.public.parameters import PageQuery
from registerwatch.platform.structs import replace
from registerwatch.register.nomenclature import emdn_levels
from registerwatch.web.facets import facet_label

SHOWN = 8
"""Values of a facet that are shown at first; the rest unfolds."""
TITLES: Mapping[Facet, str] = {
    Facet.STATUS: "Market status",
    Facet.RISK: "Risk class",
    Facet.MANUFACTURER: "Manufacturer",
    Facet.COUNTRY: "Country of the manufacturer",
    Facet.EMDN: "Nomenclature (EMDN)",
    Facet.LEGISLATION: "Legislation",
    Facet.LEGACY: "Legacy device",
    Facet.IMPLANTABLE: "Implantable",
    Facet.STERILE: "Sterile",
    Facet.LATEX: "Contains latex",
    Facet.REUSABLE: "Reusable instrument",
    Facet.NOTIFIED_BODY: "Notified body of a certificate",
}
_WITH_CODE = frozenset({Facet.EMDN, Facet.NOTIFIED_BODY})
"""Facets whose values are shown with their codes."""


class Choice(msgspec.Struct, frozen=True):
    """A value: its words, its number of results, and the search with it, or without it if it is chosen.

    A value without a filter has no address.
    """

    title: str
    label: str
    address: str | None
    total: int = 0
    code: str = ""


class FacetView(msgspec.Struct, frozen=True):
    """The values of one facet. `path` leads through the levels of the nomenclature above them."""

    title: str
    values: Sequence[Choice]
    others: int
    path: Sequence[Choice] = ()

    @property
    def first(self) -> Sequence[Choice]:
        """The values that are shown at first."""
        return self.values[:SHOWN]

    @property
    def more(self) -> Sequence[Choice]:
        """The values that unfold."""
        return self.values[SHOWN:]


class FacetPanel(msgspec.Struct, frozen=True):
    """The filters of a page of results. `facets` are empty if they were not requested."""

    chosen: Sequence[Choice]
    facets: Sequence[FacetView]
    without_filters: str
    """The search without the active filters."""


async def facet_panel(query: PageQuery, counts: Counts, stored: FacetNames) -> FacetPanel:
    """The panel beside search results, with stored names of codes."""
    chosen = [each for each in query.filters.chosen if each[0] not in (Facet.STATUS, Facet.RISK)]
    values = shown_values(counts)
    for facet, value in chosen:
        values[facet] = [*values.get(facet, []), value]
    names = await stored.of(values)
    links = _Links(query, names)
    bare = Filters(query.filters.status, query.filters.risk)
    facets = [links.view(facet, counts) for facet in TITLES if facet in counts]
    return FacetPanel(
        [links.without(facet, value) for facet, value in chosen],
        [view for view in facets if view is not None],
        search_address(query.query, bare, facets=query.shows_facets),
    )


class _Links(msgspec.Struct, frozen=True):
    """Makes the links of one search."""

    query: PageQuery
    names: Names

    def view(self, facet: Facet, counts: Counts) -> FacetView | None:
        """A facet, None if there is nothing to choose."""
        chosen = getattr(self.query.filters, facet.value)
        if chosen is not None and (facet is not Facet.EMDN or chosen == UNKNOWN):
            return None
        counted = counts[facet]
        if not chosen and all(value == UNKNOWN for value, _ in counted.values):
            return None
        values = [self._with(facet, value, total) for value, total in counted.values]
        return FacetView(TITLES[facet], values, counted.others, [*self._path(chosen or "")])

    def without(self, facet: Facet, value: str) -> Choice:
        """An active filter, with the search without it."""
        choice = self._choice(facet, value, None)
        label = f"{choice.code} {choice.label}" if choice.code else choice.label
        return replace(choice, label=label)

    def _with(self, facet: Facet, value: str, total: int) -> Choice:
        return replace(self._choice(facet, value, value), total=total)

    def _choice(self, facet: Facet, value: str, then: str | None) -> Choice:
        """A value, with the search in which the filter is `then`."""
        changed: dict[str, Any] = {facet.value: then}
        filters = replace(self.query.filters, **changed)
        address = search_address(self.query.query, filters, facets=self.query.shows_facets)
        label = facet_label(facet, value, self.names)
        is_coded = facet in _WITH_CODE and label != value and value != UNKNOWN
        is_taken = then != OTHER and not (then == UNKNOWN and facet in (Facet.STATUS, Facet.RISK))
        return Choice(TITLES[facet], label, address if is_taken else None, code=value if is_coded else "")

    def _path(self, code: str) -> Sequence[Choice]:
        """The codes from the first level to the filter's, each with its search; the last one without."""
        levels = list(emdn_levels(code))
        path = [self._choice(Facet.EMDN, level, level) for level in levels]
        return [self._all_codes(), *path[:-1], replace(path[-1], address=None)] if path else ()

    def _all_codes(self) -> Choice:
        return replace(self._choice(Facet.EMDN, "", None), label="All codes", code="")
