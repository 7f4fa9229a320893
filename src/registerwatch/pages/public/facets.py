"""What filters the results of a search: those that are chosen, and how many results have which other value."""

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
"""Values of a facet that are shown at once; the rest unfolds."""
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
"""Facets whose values are shown beside their names."""


class Choice(msgspec.Struct, frozen=True):
    """A value: its words, how many results have it, and the search with it or, where it is chosen, without it.

    No address for a value that no filter has.
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
        """Those that are shown at once."""
        return self.values[:SHOWN]

    @property
    def more(self) -> Sequence[Choice]:
        """Those that unfold."""
        return self.values[SHOWN:]


class FacetPanel(msgspec.Struct, frozen=True):
    """What a page of results shows to narrow them down. `facets` are empty where they were not asked for."""

    chosen: Sequence[Choice]
    facets: Sequence[FacetView]
    without_filters: str
    """The same search without the filters that are chosen."""


async def facet_panel(query: PageQuery, counts: Counts, stored: FacetNames) -> FacetPanel:
    """What is shown beside the results of a search, with the names that are stored."""
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
        """A facet, None where it leaves nothing to choose."""
        chosen = getattr(self.query.filters, facet.value)
        if chosen is not None and (facet is not Facet.EMDN or chosen == UNKNOWN):
            return None
        counted = counts[facet]
        if not chosen and all(value == UNKNOWN for value, _ in counted.values):
            return None
        values = [self._with(facet, value, total) for value, total in counted.values]
        return FacetView(TITLES[facet], values, counted.others, [*self._path(chosen or "")])

    def without(self, facet: Facet, value: str) -> Choice:
        """A filter that is chosen, with the search that lacks it."""
        choice = self._choice(facet, value, None)
        label = f"{choice.code} {choice.label}" if choice.code else choice.label
        return replace(choice, label=label)

    def _with(self, facet: Facet, value: str, total: int) -> Choice:
        return replace(self._choice(facet, value, value), total=total)

    def _choice(self, facet: Facet, value: str, then: str | None) -> Choice:
        """A value, and the search in which the filter is `then`."""
        changed: dict[str, Any] = {facet.value: then}
        filters = replace(self.query.filters, **changed)
        address = search_address(self.query.query, filters, facets=self.query.shows_facets)
        label = facet_label(facet, value, self.names)
        is_coded = facet in _WITH_CODE and label != value and value != UNKNOWN
        is_taken = then != OTHER and not (then == UNKNOWN and facet in (Facet.STATUS, Facet.RISK))
        return Choice(TITLES[facet], label, address if is_taken else None, code=value if is_coded else "")

    def _path(self, code: str) -> Sequence[Choice]:
        """The codes from the first level to the one that is filtered by; each leads to itself, the last one nowhere."""
        levels = list(emdn_levels(code))
        path = [self._choice(Facet.EMDN, level, level) for level in levels]
        return [self._all_codes(), *path[:-1], replace(path[-1], address=None)] if path else ()

    def _all_codes(self) -> Choice:
        return replace(self._choice(Facet.EMDN, "", None), label="All codes", code="")
