"""Reading one actor by SRN: who it is, how many registrations it has, a page of its devices."""

from collections.abc import Callable
from typing import Annotated

import msgspec

from registerwatch.clock import Clock, is_recent, iso_utc
from registerwatch.errors import IndexUnavailable
from registerwatch.register.certificate_service import CertificateService
from registerwatch.register.certificate_summary import ActorCertificates
from registerwatch.register.codes import label
from registerwatch.register.identifiers import kind
from registerwatch.register.ingest.refresh import DROPPED, BeforeRead, ClientOf, Refresher
from registerwatch.register.models import SearchRow, field_doc
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.register.search.filters import Filters
from registerwatch.register.search.index import INDEX_UNREADABLE, SearchIndex
from registerwatch.register.search.manufacturer_devices import DevicePage, ManufacturerDevices
from registerwatch.register.store.documents import DocumentReader, StoredActor

DEVICE_ROWS = 20


class ActorAnswer(msgspec.Struct, frozen=True):
    """An actor and a page of its devices. An empty `name` together with `error` means that it was not found."""

    srn: Annotated[str, field_doc("Single registration number, as asked for.", "AT-MF-000000252")]
    name: Annotated[str, field_doc("Registered name.", "Amann Girrbach AG")] = ""
    country: Annotated[str, field_doc("Country, ISO 3166 code of two letters.", "AT")] = ""
    manufacturer_status: Annotated[str, field_doc("Status in English.", "Active")] = ""
    manufacturer_status_code: Annotated[str, field_doc("The register's code.", "refdata.actor-status.active")] = ""
    device_total: Annotated[
        int, field_doc("The register's count of the actor's registrations; with a filter, the copy's count.", 638)
    ] = 0
    devices: Annotated[list[SearchRow], field_doc("At most 20 of the devices, by `page`.")] = msgspec.field(
        default_factory=list
    )
    certificates: Annotated[
        ActorCertificates | None,
        field_doc(
            "Its certificates in short, as the register lists them for manufacturers; null where no actor is shown."
        ),
    ] = None
    complete: Annotated[
        bool,
        field_doc(
            "Whether the actor itself was read. Until then country and status may be empty, and `device_total` and"
            " `devices` are what other reads happened to store. It is being read, or waits in line for that; where"
            " it does not, `error` says why. `Prefer: wait=3` waits for it.",
            True,
        ),
    ] = False
    read_at: Annotated[
        str | None,
        field_doc(
            "When the actor was last read, UTC; null when it never was.", "2026-11-21T03:38:00Z", form="date-time"
        ),
    ] = None
    error: Annotated[
        str | None,
        field_doc(
            "Null, or why the answer is missing, old or incomplete.", "The register could not be read; this is stored."
        ),
    ] = None


class ActorService:
    """Actors of one copy. `fresh_for` is in seconds; `problem` says why the index cannot list all devices."""

    def __init__(
        self,
        documents: DocumentReader,
        index: SearchIndex,
        refresher: Refresher,
        clock: Clock,
        fresh_for: float,
        problem: Callable[[], str | None],
        certificates: CertificateService,
    ) -> None:
        self._documents = documents
        self._certificates = certificates
        self._listed = ManufacturerDevices(documents, index)
        self._refresher = refresher
        self._clock = clock
        self._fresh_for = fresh_for
        self._problem = problem

    async def read(
        self,
        srn: str,
        filters: Filters | None = None,
        *,
        page: int = 1,
        before_read: BeforeRead | None = None,
        client: ClientOf | None = None,
        wait_seconds: float = 0,
    ) -> ActorAnswer:
        """The actor with one page (1-based, 20 rows) of its devices; read from the register when the copy has none.

        Where only its devices were read, its own record is waited for, `wait_seconds` at most.
        """
        if kind(srn) != "srn":
            return ActorAnswer(srn, error="This is no SRN. An SRN has the form CC-XX-digits, such as DE-MF-000006413.")
        failure, is_dropped, stored = None, False, await self._documents.actor(srn)
        if stored is None:
            failure = await self._refresher.read_through(srn, before_read, client)
            stored = await self._documents.actor(srn)
        elif not stored.actor.complete or not is_recent(stored.read_at, self._clock.now(), self._fresh_for):
            is_dropped = not self._refresher.refresh_in_background(srn, client)
            if wait_seconds and not stored.actor.complete:
                await self._refresher.settle(srn, wait_seconds)
                stored = await self._documents.actor(srn)
        if stored is None:
            return ActorAnswer(srn, error=_reason(failure))
        return await self._answer(stored, filters or Filters(), page, DROPPED if is_dropped else None)

    async def _answer(self, stored: StoredActor, filters: Filters, page: int, dropped: str | None) -> ActorAnswer:
        actor = stored.actor
        problem = self._refresher.problem(actor.srn) or dropped
        try:
            listed = await self._listed.page(actor.srn, filters, limit=DEVICE_ROWS, offset=(page - 1) * DEVICE_ROWS)
        except IndexUnavailable:  # the indexer meets it too, and builds the index anew
            listed, problem = DevicePage([], 0), problem or INDEX_UNREADABLE
        certificates = ActorCertificates.of(await self._certificates.of_actor(actor.srn))
        unfiltered = filters == Filters()
        total = actor.device_total if unfiltered and actor.device_total is not None else listed.total
        return ActorAnswer(
            srn=actor.srn,
            name=actor.name,
            country=actor.country,
            manufacturer_status=label(actor.status_code),
            manufacturer_status_code=actor.status_code,
            device_total=total,
            devices=listed.rows,
            certificates=certificates,
            complete=actor.complete,
            read_at=iso_utc(stored.read_at),
            error=problem or self._problem(),
        )


NOT_REGISTERED = "The register has no actor with this SRN."
UNREADABLE = "This actor is not in the copy, and the register could not be read."


def _reason(outcome: NotFound | ReadFailed | None) -> str:
    return f"{UNREADABLE} {outcome.reason}" if isinstance(outcome, ReadFailed) else NOT_REGISTERED
