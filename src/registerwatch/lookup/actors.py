"""Reads one actor by SRN: its own record, its number of registrations, a page of its devices."""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from registerwatch.copy.actor_lists import ActorLists, ListState
from registerwatch.copy.documents.documents import DocumentReader, StoredActor
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.index import INDEX_UNREADABLE, SearchIndex
from registerwatch.copy.search.manufacturer_devices import DevicePage, ManufacturerDevices
from registerwatch.errors import IndexUnavailable
from registerwatch.ingest.refresh import DROPPED, NO_LONGER_LISTED, BeforeRead, ClientOf, Refresher
from registerwatch.ingest.subject_reads import list_of
from registerwatch.lookup.certificate_service import CertificateService
from registerwatch.lookup.certificate_summary import ActorCertificates
from registerwatch.platform.clock import Clock, day_of, is_recent, iso_utc
from registerwatch.register.codes import label
from registerwatch.register.identifiers import kind
from registerwatch.register.models import Actor, Listed, SearchRow, field_doc
from registerwatch.register.outcomes import NotFound, ReadFailed

DEVICE_ROWS = 20

ActorPart = Literal["record", "devices"]
"""A part of what the register has of an actor."""


class ActorAnswer(msgspec.Struct, frozen=True):
    """An actor and a page of its devices. An empty `name` together with `error` means that it was not found."""

    srn: Annotated[str, field_doc("Single registration number, as asked for.", "AT-MF-000000252")]
    name: Annotated[str, field_doc("Registered name.", "Amann Girrbach AG")] = ""
    country: Annotated[str, field_doc("Country, ISO 3166 code of two letters.", "AT")] = ""
    manufacturer_status: Annotated[str, field_doc("Status in English.", "Active")] = ""
    manufacturer_status_code: Annotated[str, field_doc("The register's code.", "refdata.actor-status.active")] = ""
    device_total: Annotated[
        int,
        field_doc(
            "The register's count of the actor's registrations. With a filter, and where the register was never asked"
            " (`devices_registered` is null), the copy's count, which `devices` among `missing` makes one of what is"
            " known so far.",
            638,
        ),
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
            "Whether the actor itself was read, and every device that the register lists of it. What is not there yet,"
            " `missing` names. It is being read, or waits in line for that; where it does not, `error` says why."
            " `Prefer: wait=3` waits for it.",
            True,
        ),
    ] = False
    read_at: Annotated[
        str | None,
        field_doc(
            "As of when this is at least, UTC: reads for who watches the actor that brought nothing new are not told."
            " Null when it was never read.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ] = None
    error: Annotated[
        str | None,
        field_doc(
            "Null, or why the answer is missing, old or incomplete.", "The register could not be read; this is stored."
        ),
    ] = None
    missing: Annotated[
        list[ActorPart],
        field_doc(
            "What was not read yet: `record`, the actor's own record (country and status may be empty); `devices`, some"
            " devices that the register lists of it, so that pages of `devices` lack them and a page may be empty."
            " Empty when `complete`, and where the register has no such actor.",
            [],
        ),
    ] = msgspec.field(default_factory=list)
    devices_registered: Annotated[
        int | None,
        field_doc("The register's own count of its registrations, null where it was never asked.", 638),
    ] = None
    devices_known: Annotated[
        int | None,
        field_doc(
            "How many of its devices are in the copy, whatever the filters: those that pages of `devices` list. Several"
            " registrations can be one device. Null where the index cannot be read.",
            638,
        ),
    ] = None
    listed: Listed = msgspec.UNSET


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
        lists: ActorLists,
    ) -> None:
        self._documents = documents
        self._lists = lists
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
        """The actor with one page (1-based, 20 rows) of its devices. It is read from the register when the copy has
        none, or where nothing of the page was read yet: one page of the register's list. The rest is read later.

        Missing parts are waited for, `wait_seconds` at most.
        """
        if kind(srn) != "srn":
            return ActorAnswer(srn, error="This is no SRN. An SRN has the form CC-XX-digits, such as DE-MF-000006413.")
        filters, failure, was_read, was_dropped = filters or Filters(), None, False, False
        stored = await self._documents.actor(srn)
        if stored is None:
            failure, was_read = await self._refresher.read_through(srn, before_read, client), True
        elif not stored.actor.complete or not is_recent(_asked_at(stored), self._clock.now(), self._fresh_for):
            was_dropped = not self._refresher.refresh_in_background(srn, client)
        shown = await self._shown(srn, filters, page, stored)
        if shown is None:
            unread: list[ActorPart] = ["record", "devices"] if isinstance(failure, ReadFailed) else []
            return ActorAnswer(srn, error=_reason(failure), missing=unread)
        if shown.lacks_page and not was_read:
            await self._refresher.read_through(list_of(srn) if shown.actor.complete else srn, before_read, client)
            shown = await self._shown(srn, filters, page) or shown
        if shown.actor.complete and not shown.state.is_whole:
            was_dropped |= not self._refresher.read_list_in_background(srn, client)
        if wait_seconds and shown.missing:
            await self._settle(srn, wait_seconds)
            shown = await self._shown(srn, filters, page) or shown
        return await self._answer(shown, DROPPED if was_dropped else None)

    async def registered(self, srn: str) -> int | None:
        """The register's last count of an actor's registrations, None where it was never asked."""
        return (await self._lists.facts(srn)).registered

    async def _settle(self, srn: str, seconds: float) -> None:
        """Wait for reads of the actor that are under way, its own record before its devices."""
        until = self._clock.monotonic() + seconds
        for subject in (srn, list_of(srn)):
            await self._refresher.settle(subject, max(0.0, until - self._clock.monotonic()))

    async def _shown(self, srn: str, filters: Filters, page: int, stored: StoredActor | None = None) -> "_Shown | None":
        """The known parts of the actor and of one page of its devices; None where the copy does not have it."""
        stored = stored or await self._documents.actor(srn)
        if stored is None:
            return None
        facts, offset = await self._lists.facts(srn), (page - 1) * DEVICE_ROWS
        try:
            listed = await self._listed.page(srn, filters, limit=DEVICE_ROWS, offset=offset)
            known = listed.total if filters.is_any else await self._listed.count(srn)
        except IndexUnavailable:  # the indexer meets it too, and builds the index anew
            return _Shown(stored, DevicePage([], 0), facts.state(None), filters.is_any, offset, INDEX_UNREADABLE)
        problem = self._problem()
        state = facts.state(known, is_exact=problem is None)
        return _Shown(stored, listed, state, filters.is_any, offset, problem)

    async def _answer(self, shown: "_Shown", dropped: str | None) -> ActorAnswer:
        actor, state = shown.actor, shown.state
        is_listed = shown.stored.delisted_at is None
        problem = (self._refresher.failure(actor.srn) or dropped) if is_listed else NO_LONGER_LISTED
        if not state.is_whole:
            problem = problem or self._refresher.list_problem(actor.srn)
        if shown.stored.doubted_at is not None:
            problem = problem or LISTS_NONE
        return ActorAnswer(
            srn=actor.srn,
            name=actor.name,
            country=actor.country,
            manufacturer_status=label(actor.status_code),
            manufacturer_status_code=actor.status_code,
            device_total=shown.total,
            devices=shown.listed.rows,
            certificates=ActorCertificates.of(await self._certificates.of_actor(actor.srn), day_of(self._clock.now())),
            complete=not shown.missing,
            read_at=iso_utc(shown.stored.read_at),
            error=problem or shown.problem,
            missing=shown.missing,
            devices_registered=state.registered,
            devices_known=state.known,
            listed=msgspec.UNSET if is_listed else False,
        )


class _Shown(msgspec.Struct, frozen=True):
    """An actor with a page of its devices that begins at `offset`, and how much of their whole list is known. `problem`
    says why the index lacks some stored devices.
    """

    stored: StoredActor
    listed: DevicePage
    state: ListState
    is_unfiltered: bool
    offset: int
    problem: str | None

    @property
    def actor(self) -> Actor:
        """The actor itself."""
        return self.stored.actor

    @property
    def total(self) -> int:
        """The register's count where it was asked and nothing is filtered, else the copy's."""
        registered = self.state.registered if self.is_unfiltered else None
        return self.listed.total if registered is None else registered

    @property
    def missing(self) -> list[ActorPart]:
        """The parts that were not read yet."""
        parts: list[tuple[ActorPart, bool]] = [("record", self.actor.complete), ("devices", self.state.is_whole)]
        return [part for part, is_there in parts if not is_there]

    @property
    def lacks_page(self) -> bool:
        """Whether all rows of the page may be among the devices that were not read yet."""
        registered = self.state.registered
        is_beyond = registered is not None and self.offset >= registered
        return self.is_unfiltered and not self.listed.rows and not self.state.is_whole and not is_beyond


LISTS_NONE = (
    "The register answered that it lists none of this actor's devices. What was known of them is kept until it has said"
    " so for a day."
)
NOT_REGISTERED = "The register has no actor with this SRN."
UNREADABLE = "This actor is not in the copy, and the register could not be read."


def _asked_at(stored: StoredActor) -> int:
    """When the register was last asked for an actor with a result that is stored."""
    return max(stored.read_at, stored.delisted_at or 0)


def _reason(outcome: NotFound | ReadFailed | None) -> str:
    return f"{UNREADABLE} {outcome.reason}" if isinstance(outcome, ReadFailed) else NOT_REGISTERED
