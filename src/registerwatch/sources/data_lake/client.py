"""Reads the Data Lake page by page."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import structlog

from registerwatch.register.identifiers import kind
from registerwatch.register.models import Actor
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.data_lake import wire
from registerwatch.sources.data_lake.convert import NAME, actor_of_row, reading_of_row
from registerwatch.sources.data_lake.reference import KNOWN, Reference, extended, has_unknown_ids
from registerwatch.sources.requests import AnswerReader, ApiRequest, RegisterHttpClient, ignore
from registerwatch.sources.rows import check_needed, check_some_read
from registerwatch.sources.source import RecordBatch
from registerwatch.sources.wire import WireRecord

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
Row = TypeVar("Row", bound=WireRecord)

FULL_PAGE = 1_000
"""Rows of a page. A page of just as many without `nextLink` is taken as cut off."""
PARAMETERS = {"api-version": "v1.0", "format": "json"}


class DataLakeClient:
    """Pages through the Data Lake at `base_url`, at the pace of bulk loads. A cursor is the address of a page."""

    name = NAME
    load_name = "datalake"
    lags = True
    is_newest_first = False
    is_whole_register = True
    expected_records = 3_200_000
    """Devices at the end of August 2026. The Data Lake itself gives no total."""
    expected_seconds = (20, 50)
    """Least and most seconds that others measured for 1,000 devices."""

    def __init__(self, requests: RegisterHttpClient, base_url: str) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")

    async def batches(self, cursor: str = "", received: Callable[[int], None] = ignore) -> AsyncIterator[RecordBatch]:
        """Pages of devices, then of actors, from the start or from a cursor. Raises `RegisterFailure`.

        `received` is called with the number of bytes of a page while it comes.
        """
        actors = f"{self._base}/actors?{urlencode(PARAMETERS)}"
        is_of_actors = bool(cursor) and self._own(cursor)[0] == self._own(actors)[0]
        if not is_of_actors:
            reference: Reference = KNOWN
            async for page in self._pages(wire.devices, cursor or self._base + "/udi", received):
                check_needed(page.content, wire.NEEDED)
                if reference is KNOWN and has_unknown_ids(page.content, reference):
                    reference = await self._reference()
                readings = [reading_of_row(row, reference) for row in page.content]
                yield RecordBatch(readings, page.next_link or actors)
        async for named in self._pages(wire.actors, cursor if is_of_actors else actors, received):
            yield RecordBatch([], named.next_link or "", actors=_actors_of(named.content))

    async def _reference(self) -> Reference:
        """The meanings of ids: the known ones, and those that `/reference` adds where it can be read."""
        rows: list[wire.ReferenceRow] = []
        try:
            async for page in self._pages(wire.references, self._base + "/reference"):
                rows += page.content
        except RegisterFailure as failure:
            log.warning("what ids of the Data Lake mean could not be read", reason=failure.reason)
        return extended(rows)

    async def _pages(
        self, reader: wire.PageReader[Row], address: str, received: Callable[[int], None] = ignore
    ) -> AsyncIterator[wire.Page[Row]]:
        url, params = self._own(address)
        params = params or dict(PARAMETERS)
        seen: set[str] = set()
        while True:
            page = await self._page(reader, url, params, _check_page, received)
            if page.next_link is None and page.sent == FULL_PAGE:
                raise RegisterFailure("The Data Lake broke off after a full page without saying where the next one is.")
            yield page
            if page.next_link is None:
                return
            link = self._own(page.next_link)
            if link == (url, params) or page.next_link in seen:
                raise RegisterFailure("The Data Lake's next page is one that it has given already.")
            seen.add(page.next_link)
            url, params = link

    async def _page(
        self,
        reader: AnswerReader[Answer],
        url: str,
        params: dict[str, str],
        check: Callable[[Answer], None] = ignore,
        received: Callable[[int], None] = ignore,
    ) -> Answer:
        request = ApiRequest(url, params, reader, check, received=received)
        deadline = self._requests.deadline(RequestPriority.BULK_LOAD)
        try:
            return await self._requests.get(request, priority=RequestPriority.BULK_LOAD, deadline=deadline)
        except NoSuchRecord as redirect:
            raise RegisterFailure("The Data Lake redirected the request to another page.") from redirect

    def _own(self, link: str) -> tuple[str, dict[str, str]]:
        """A link's address and parameters. A link to another host is refused: it could lead anywhere."""
        try:
            parts, own = urlsplit(link), urlsplit(self._base)
        except ValueError as error:
            raise RegisterFailure("The Data Lake's link to the next page is no address.") from error
        if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
            raise RegisterFailure("The Data Lake's link to the next page leads to another host.")
        return f"{parts.scheme}://{parts.netloc}{parts.path}", dict(parse_qsl(parts.query, keep_blank_values=True))


def _check_page(page: wire.Page[Row]) -> None:
    if not page.sent and page.next_link is not None:
        raise RegisterFailure("The Data Lake answered with an empty page that is not the last.", transient=True)
    check_some_read(page.content, page.unread)


def _actors_of(rows: Iterable[wire.ActorRow]) -> list[Actor]:
    """The actors with an SRN, each once: they have a row for each responsible person. Notified bodies and
    authorities have other numbers.
    """
    actors = {actor.srn: actor for actor in map(actor_of_row, rows) if kind(actor.srn) == "srn"}
    return list(actors.values())
