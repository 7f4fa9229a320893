"""The search page: a box, results, filters; and its results as a fragment while a person types."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.queries import MAX_RESULTS, NAME_ROWS, SRN_ROWS, Match, SearchPage
from registerwatch.errors import IndexUnavailable
from registerwatch.lookup.certificate_service import CERTIFICATES, ListKnowledge
from registerwatch.pages.addresses import actor_address, device_address, search_address
from registerwatch.pages.page_position import PagePosition
from registerwatch.pages.public.certificates.listed_certificates import (
    CertificateOfDevice,
    CertificateRow,
    instant,
    notice_of,
)
from registerwatch.pages.public.code_view import CodeView
from registerwatch.pages.public.examples import Example, examples
from registerwatch.pages.public.facets import FacetPanel, facet_panel
from registerwatch.pages.public.other_names import other_names
from registerwatch.pages.public.own_watches import own_watches
from registerwatch.pages.public.parameters import PageQuery, query_of
from registerwatch.pages.public.summaries import origin_of, search_summary
from registerwatch.pages.rendering import FRAGMENT_HEADER, page
from registerwatch.pages.rendering import count as counted
from registerwatch.platform.clock import day_of
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.identifiers import kind, udi_spellings
from registerwatch.register.other_codes import OtherCode
from registerwatch.register.standing import DELISTED
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

MatchKind = Match | Literal["basic-udi", "other-code", "filters"]

FOUND: dict[MatchKind, str] = {
    "udi": "with this UDI-DI",
    "basic-udi": "with this Basic UDI-DI",
    "other-code": "with this as a code beside the UDI-DI",
    "srn": "of this manufacturer",
    "reference": "with this catalogue reference",
    "name": "found by name",
    "filters": "with these filters",
}


class Results(msgspec.Struct, frozen=True):
    """The data of a page of results. `code` is the UDI-DI or SRN that was searched for, if it was one."""

    parameters: PageQuery
    found: SearchPage
    paging: PagePosition
    code: str | None
    certificates: Sequence[CertificateRow] = ()
    """Certificates whose number was searched for."""
    of_devices: Sequence[CertificateOfDevice] = ()
    """Those that only records of devices name."""
    panel: FacetPanel | None = None
    """Active and possible filters."""
    said: CodeView | None = None
    """The data in the query, if it is a code with more than an identifier."""

    @property
    def announcement(self) -> str:
        """What was found, for screen readers."""
        number = len(self.certificates) + len(self.of_devices)
        found = f"{number} certificate{'' if number == 1 else 's'} with this number. " if number else ""
        return f"{found}{self.headline}"

    @property
    def list_notice(self) -> tuple[str, str]:
        """What is not known of the register's list of certificates, as words and a tone."""
        return notice_of(self._certificate_list)

    @property
    def list_as_of(self) -> str | None:
        """When that list was last read completely."""
        return instant(self._certificate_list)

    @property
    def _certificate_list(self) -> ListKnowledge:
        return ListKnowledge.of(CERTIFICATES, self.found.numbered.walk if self.found.numbered is not None else None)

    @property
    def is_no_certificate(self) -> bool:
        """Whether nothing was found at all for what may be the number of a certificate."""
        numbered = self.found.numbered
        return numbered is not None and numbered.is_empty and not self.paging.total and self.code is None

    @property
    def headline(self) -> str:
        """What was found and how, in a sentence."""
        if self.found.error and not self.paging.total:
            return DELISTED[0] if self.found.is_delisted else "The search could not look everywhere"
        return headline(self.match_kind, self.paging.total, so_far=self.found.is_known_in_part)

    @property
    def known_so_far(self) -> str:
        """How much of the manufacturer's list of devices is known, in a sentence; empty if all is known."""
        state = self.found.maker_list
        if state is None or state.is_whole:
            return ""
        if state.registered is None:
            return "These are the devices that are known so far; the register was not asked yet how many there are."
        known = f"{counted(state.known or 0)} device{'' if state.known == 1 else 's'}"
        return f"{known} of {counted(state.registered)} registrations of this manufacturer are known so far."

    @property
    def maker_address(self) -> str | None:
        """The page of the manufacturer whose devices were searched for, which reads the unknown ones."""
        srn = self.code if self.found.match == "srn" else self.parameters.filters.manufacturer
        return None if srn is None else actor_address(srn)

    @property
    def match_kind(self) -> MatchKind:
        """The way in which the results were found."""
        if not self.parameters.query:
            return "filters"
        if self.found.coded:
            return "other-code"
        spellings = (*udi_spellings(self.parameters.query), self.code)
        if self.found.match == "udi" and any(row.udi not in spellings for row in self.found.results):
            return "basic-udi"
        return self.found.match

    @property
    def codes(self) -> list[tuple[str, OtherCode]]:
        """The UDI-DIs that have the query as another code, and its meaning for each; a few at most."""
        return [(each.udi, code) for each in self.found.coded for code in each.meanings][:NAME_ROWS]

    @property
    def code_address(self) -> str | None:
        """The page of the code that was searched for, which reads the register if the copy does not have it."""
        if self.code is None:
            return None
        return actor_address(self.code) if kind(self.code) == "srn" else device_address(self.code)

    @property
    def unfiltered_address(self) -> str | None:
        """The search without filters, if there are filters and a query."""
        return (
            search_address(self.parameters.query)
            if self.parameters.query and self.parameters.filters != Filters()
            else None
        )

    @property
    def facets_address(self) -> str | None:
        """The search with facets, if it has results and shows none."""
        if self.parameters.shows_facets or not self.paging.total:
            return None
        return search_address(self.parameters.query, self.parameters.filters, facets=True)

    def address_of(self, number: int) -> str:
        """The address of another page of these results."""
        facets = self.parameters.shows_facets
        return search_address(self.parameters.query, self.parameters.filters, number, facets=facets)


class Introduction(msgspec.Struct, frozen=True):
    """The page before a search: example searches, the number of `stored` devices, a `problem`."""

    examples: list[Example]
    stored: int
    problem: str | None


router = APIRouter()


@router.get("/")
async def search(request: Request, service: InjectedService) -> Response:
    """The search box with results, or with an introduction."""
    await limits_of(request).check(request, Limit.PAGES)
    query = query_of(request.query_params)
    if query.shows_facets:  # facets cost far more than a search
        await limits_of(request).check(request, Limit.SEARCH)
    fragment = FRAGMENT_HEADER in request.headers
    results = None if query.is_nothing else await _results(service, query)
    introduction = await _introduction(service) if query.is_nothing else None
    rows = results.found.results if results else []
    return page(
        request,
        "results.html" if fragment else "search.html",
        settled=not (results.found.is_unindexed if results else introduction and introduction.problem),
        parameters=query,
        introduction=introduction,
        results=results,
        own_watches=await own_watches(request, service, [row.udi for row in rows]),
        other_names=await other_names(service, rows),
        summary=search_summary(results, origin_of(service.settings)),
    )


async def _results(service: Service, query: PageQuery) -> Results:
    found = await service.search.search(query.query, query.filters, page=query.page, facets=query.facets)
    rows = SRN_ROWS if found.match == "srn" else NAME_ROWS
    today = day_of(service.clock.now())
    numbered = found.numbered
    certificates = [CertificateRow(each, today) for each in numbered.listed] if numbered is not None else []
    of_devices = [CertificateOfDevice(each, today) for each in numbered.of_devices] if numbered is not None else []
    said = CodeView.of(query.query, service.clock)
    panel = await facet_panel(query, found.facets, service.facet_names)
    paging = PagePosition(query.page, rows, found.total, MAX_RESULTS)
    return Results(query, found, paging, found.code, certificates, of_devices, panel, said)


async def _introduction(service: Service) -> Introduction:
    for filters in (Filters(StatusFilter.ON, RiskFilter.III), Filters(StatusFilter.ON)):
        try:
            found = await service.search.search("", filters)
        except IndexUnavailable as error:
            return Introduction([], 0, str(error))
        if found.total:
            break
    return Introduction(examples(found.results, filters), service.index.documents, found.error)


def headline(match_kind: MatchKind, total: int, *, so_far: bool = False) -> str:
    """`1,234 devices found by name`. `so_far`: there may be others that were not read yet."""
    if not total:
        return "No device is known so far" if so_far else "No device found"
    return f"{total:,} device{'' if total == 1 else 's'} {FOUND[match_kind]}{' known so far' if so_far else ''}"
