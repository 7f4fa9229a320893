"""Reads EUDAMED's lists of certificates, refused applications and notified bodies, and the record of a certificate.

These lists are read without a filter, so no filter can be ignored. They are guarded otherwise: an empty page although
there are rows means throttling, a total is bounded, and rows that cannot be read are counted.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

from registerwatch.register.certificates import NotifiedBody, ReadCertificate, Refusal, RegisteredCertificate
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.convert_certificates import (
    certificate_of,
    facts_of,
    key_of,
    notified_body_of,
    refusal_of,
    scopes_of,
)
from registerwatch.sources.eudamed.guards import EMPTY_PAGE, MAX_ROWS
from registerwatch.sources.requests import AnswerReader, ApiRequest, RegisterHttpClient
from registerwatch.sources.source import ListPage
from registerwatch.sources.wire import WireRecord

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
Row = TypeVar("Row")
WireRow = TypeVar("WireRow", bound=WireRecord)

LANGUAGE = {"languageIso2Code": "en"}
PAGE_SIZE = 300
UNREADABLE = "The register's answer has an unexpected form (most rows of a page cannot be read)."

_certificates = wire.PageReader(wire.listed_certificate, lambda row: certificate_of(row) is not None)
_refusals = wire.PageReader(wire.refused_application, lambda row: refusal_of(row) is not None)
_bodies = wire.ListReader(wire.listed_body, lambda row: notified_body_of(row) is not None)


class EudamedCertificateLists:
    """Reads the lists at `base_url` through the shared sender of requests."""

    def __init__(self, requests: RegisterHttpClient, base_url: str, *, page_size: int = PAGE_SIZE) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")
        self._page_size = page_size

    async def certificates(self, page: int, *, until: float | None = None) -> ListPage[RegisteredCertificate]:
        """A page (0-based) of all certificates. Raises `RegisterFailure`."""
        return await self._listed("/certificates/search/", page, _certificates, certificate_of, until)

    async def refusals(self, page: int, *, until: float | None = None) -> ListPage[Refusal]:
        """A page (0-based) of all refused applications. Raises `RegisterFailure`."""
        return await self._listed("/applications/search/", page, _refusals, refusal_of, until)

    async def notified_bodies(self, *, until: float | None = None) -> list[NotifiedBody]:
        """All notified bodies. Raises `RegisterFailure`."""
        page = await self._ask("/ses/notifiedBodies", LANGUAGE, _bodies, RequestPriority.SWEEP, until)
        return list(_listed(page, notified_body_of, is_last=True).rows)

    async def record(
        self, uuid: str, *, priority: RequestPriority = RequestPriority.SWEEP, until: float | None = None
    ) -> ReadCertificate:
        """The record of a certificate. Raises `RegisterFailure`, also where the register has no such record."""

        def is_of_uuid(record: wire.CertificateRecord) -> None:
            if record.uuid != uuid:
                raise RegisterFailure("The register answered with another certificate; nothing of it was used.")
            if record.scopes is msgspec.UNSET:
                raise RegisterFailure("The register's answer has an unexpected form (a certificate without scopes).")

        record = await self._ask(
            f"/certificates/{uuid}", LANGUAGE, wire.certificate_record, priority, until, is_of_uuid
        )
        return ReadCertificate(scopes_of(record), facts_of(record))

    async def _listed(
        self,
        path: str,
        page: int,
        reader: wire.PageReader[WireRow],
        mapped: Callable[[WireRow], Row | None],
        until: float | None,
    ) -> ListPage[Row]:
        def check(answer: wire.Page[WireRow]) -> None:
            if answer.total_elements > MAX_ROWS:
                raise RegisterFailure("The register's answer is implausible (far more records than there can be).")
            if not answer.sent and answer.total_elements > page * self._page_size:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)
            if answer.sent > answer.total_elements:
                raise RegisterFailure("The register's answer contradicts itself (more rows than its total).")

        size = str(self._page_size)
        params = {"page": str(page), "pageSize": size, "size": size, "iso2Code": "en", **LANGUAGE}
        answer = await self._ask(path, params, reader, RequestPriority.SWEEP, until, check)
        is_last = answer.last is True or (answer.last is None and answer.sent < self._page_size)
        return _listed(answer, mapped, is_last=is_last or not answer.sent)

    async def _ask(
        self,
        path: str,
        params: dict[str, str],
        reader: AnswerReader[Answer],
        priority: RequestPriority,
        until: float | None,
        check: Callable[[Answer], None] = lambda _answer: None,
    ) -> Answer:
        """One answer, by `until` at the latest (seconds of the monotonic clock)."""
        deadline = self._requests.deadline(priority)
        deadline = deadline if until is None else min(deadline, until)
        request = ApiRequest(self._base + path, params, reader, check)
        try:
            return await self._requests.get(request, priority=priority, deadline=deadline)
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register has no such page or record.") from redirect


def _listed(page: wire.Page[WireRow], mapped: Callable[[WireRow], Row | None], *, is_last: bool) -> ListPage[Row]:
    """The readable rows of a page. Raises `RegisterFailure` where most cannot be read."""
    if len(page.unread) > len(page.content):
        raise RegisterFailure(f"{UNREADABLE} The first: {page.unread[0].reason}.")
    rows = [row for each in page.content if (row := mapped(each)) is not None]
    keys = [(each, _key_in(each.content)) for each in page.unread]
    named = dict(key for _, key in keys if key is not None)
    unreadable = frozenset(hash(bytes(each.content)) for each, key in keys if key is None)
    return ListPage(rows, page.total_elements, is_last, unreadable, named)


def _key_in(row: msgspec.Raw) -> tuple[str, str] | None:
    """The uuid and the id of a row that cannot be read, None where they cannot be read either."""
    try:
        return key_of(wire.listed_key.decode(row))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
