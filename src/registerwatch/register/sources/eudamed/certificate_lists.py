"""Reading EUDAMED's lists: every certificate, refused application and notified body; the scopes of a certificate.

These lists are read without a filter, so no filter can be ignored. What guards them instead: a page that shows nothing
though there is something means throttling, a total is bounded, and rows that cannot be read are counted.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
import structlog

from registerwatch.register.certificates import NotifiedBody, Refusal, RegisteredCertificate, Scope
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.eudamed import wire
from registerwatch.register.sources.eudamed.certificate_mapping import (
    certificate_of,
    key_of,
    notified_body_of,
    refusal_of,
    scopes_of,
)
from registerwatch.register.sources.eudamed.guards import EMPTY_PAGE, MAX_ROWS
from registerwatch.register.sources.requests import ApiRequest, RegisterHttpClient
from registerwatch.register.sources.source import ListPage

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
Row = TypeVar("Row")
WireRow = TypeVar("WireRow")

LANGUAGE = {"languageIso2Code": "en"}
PAGE_SIZE = 300
UNREADABLE = "The register's answer has an unexpected form (most rows of a page cannot be read)."

_page = msgspec.json.Decoder(wire.Page[msgspec.Raw])
_certificate = msgspec.json.Decoder(wire.ListedCertificate)
_key = msgspec.json.Decoder(wire.ListedKey)
_refusal = msgspec.json.Decoder(wire.RefusedApplication)
_record = msgspec.json.Decoder(wire.CertificateRecord)
_bodies = msgspec.json.Decoder(list[msgspec.Raw])
_body = msgspec.json.Decoder(wire.ListedBody)


class EudamedCertificateLists:
    """Reads the lists at `base_url` through the sender of requests that all readers share."""

    def __init__(self, requests: RegisterHttpClient, base_url: str, *, page_size: int = PAGE_SIZE) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")
        self._page_size = page_size

    async def certificates(self, page: int, *, until: float | None = None) -> ListPage[RegisteredCertificate]:
        """A page (0-based) of all certificates. Raises `RegisterFailure`."""
        return await self._listed("/certificates/search/", page, _certificate, certificate_of, until)

    async def refusals(self, page: int, *, until: float | None = None) -> ListPage[Refusal]:
        """A page (0-based) of all refused applications. Raises `RegisterFailure`."""
        return await self._listed("/applications/search/", page, _refusal, refusal_of, until)

    async def notified_bodies(self, *, until: float | None = None) -> list[NotifiedBody]:
        """All notified bodies. Raises `RegisterFailure`."""
        entries = await self._ask("/ses/notifiedBodies", LANGUAGE, _bodies, RequestPriority.SWEEP, until)
        return list(_page_of(entries, len(entries), True, _body, notified_body_of).rows)

    async def scopes(
        self, uuid: str, *, priority: RequestPriority = RequestPriority.SWEEP, until: float | None = None
    ) -> list[Scope]:
        """The scopes of a certificate. Raises `RegisterFailure`, also where the register has no such record."""

        def is_of_uuid(record: wire.CertificateRecord) -> None:
            if record.uuid != uuid:
                raise RegisterFailure("The register answered with another certificate; nothing of it was used.")
            if record.scopes is msgspec.UNSET:
                raise RegisterFailure("The register's answer has an unexpected form (a certificate without scopes).")

        record = await self._ask(f"/certificates/{uuid}", LANGUAGE, _record, priority, until, is_of_uuid)
        return scopes_of(record)

    async def _listed(
        self,
        path: str,
        page: int,
        decoder: "msgspec.json.Decoder[WireRow]",
        mapped: "Callable[[WireRow], Row | None]",
        until: float | None,
    ) -> ListPage[Row]:
        def check(answer: wire.Page[msgspec.Raw]) -> None:
            if answer.total_elements > MAX_ROWS:
                raise RegisterFailure("The register's answer is implausible (far more records than there can be).")
            if not answer.content and answer.total_elements > page * self._page_size:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)
            if len(answer.content) > answer.total_elements:
                raise RegisterFailure("The register's answer contradicts itself (more rows than its total).")

        size = str(self._page_size)
        params = {"page": str(page), "pageSize": size, "size": size, "iso2Code": "en", **LANGUAGE}
        answer = await self._ask(path, params, _page, RequestPriority.SWEEP, until, check)
        is_last = answer.last is True or (answer.last is None and len(answer.content) < self._page_size)
        return _page_of(answer.content, answer.total_elements, is_last or not answer.content, decoder, mapped)

    async def _ask(
        self,
        path: str,
        params: dict[str, str],
        decoder: "msgspec.json.Decoder[Answer]",
        priority: RequestPriority,
        until: float | None,
        check: Callable[[Answer], None] = lambda _answer: None,
    ) -> Answer:
        """One answer, by `until` at the latest, in seconds of the clock that only goes forward."""
        deadline = self._requests.deadline(priority)
        deadline = deadline if until is None else min(deadline, until)
        request = ApiRequest(self._base + path, params, decoder, check)
        try:
            return await self._requests.get(request, priority=priority, deadline=deadline)
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register has no such page or record.") from redirect


def _page_of(
    content: Iterable[msgspec.Raw],
    total: int,
    is_last: bool,
    decoder: "msgspec.json.Decoder[WireRow]",
    mapped: "Callable[[WireRow], Row | None]",
) -> ListPage[Row]:
    """The rows of a page that can be read. Raises `RegisterFailure` where most of them cannot."""
    rows: list[Row] = []
    unreadable: set[int] = set()
    named: dict[str, str] = {}
    reason = ""
    for each in content:
        try:
            row = mapped(decoder.decode(each))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            row, reason = None, reason or str(error)  # names a place and a type, never the value
        if row is not None:
            rows.append(row)
        elif (name := _name_of(each)) is not None:
            named[name[0]] = name[1]
        else:
            unreadable.add(hash(bytes(each)))
    skipped = len(unreadable) + len(named)
    if skipped > len(rows):
        raise RegisterFailure(UNREADABLE)
    if skipped:
        log.warning("rows cannot be read", skipped=skipped, rows=len(rows), first=reason or "no possible key")
    return ListPage(rows, total, is_last, frozenset(unreadable), named)


def _name_of(row: msgspec.Raw) -> tuple[str, str] | None:
    """The uuid and the id of a row that cannot be read, None where they cannot be read either."""
    try:
        return key_of(_key.decode(row))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
