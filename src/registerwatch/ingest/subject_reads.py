"""Reads one subject from the register and stores it: a device, an actor, an actor's list of devices."""

from collections.abc import Collection, Sequence

import msgspec

from registerwatch.copy.records import KnownActor, RecordStore
from registerwatch.ingest.basic_reads import BasicRecordReads, SharingRule
from registerwatch.ingest.device_lists import DeviceListReader
from registerwatch.platform.clock import Clock
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import kind
from registerwatch.register.list_doubt import doubted_since, is_believed
from registerwatch.register.models import Actor, Completeness, DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.register.outcomes import Found, NotFound, ReadFailed, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.source import KnownRecord, ListedRecords, SubjectSource

MAX_PROPAGATED = 100
"""Records whose devices `propagate_rest` updates at a time."""
_LIST = "devices of "
"""Identifiers have no space."""


class Refreshed(msgspec.Struct, frozen=True):
    """The register was read and stored; `changed` when that was news.

    `goes_on` says that an actor's list of devices has pages that were not read, or a list more pages.
    `lacks_certificates` says that the certificate search for a device could not be read, `is_overtaken` that another
    read was stored meanwhile, and nothing of this one.
    """

    changed: bool
    goes_on: bool = False
    lacks_certificates: bool = False
    is_overtaken: bool = False


RefreshResult = Refreshed | NotFound | ReadFailed


def list_of(srn: str) -> str:
    """The subject for the list of all devices of an actor."""
    return f"{_LIST}{srn}"


def is_list(subject: str) -> bool:
    """Whether a subject is an actor's list of devices."""
    return subject.startswith(_LIST)


class SubjectRequest(msgspec.Struct, frozen=True):
    """How a subject is read: what it shares with other reads, its purpose, its wait for the request budget, and the
    records of a UDI-DI where a list has just shown them.
    """

    rule: SharingRule
    context: ReadContext
    slot_wait: SlotWait | None = None
    listed: ListedRecords | None = None

    @property
    def priority(self) -> RequestPriority:
        """The priority of its requests."""
        return self.rule.priority


class SubjectReads:
    """Reads of single subjects into one copy; lists of devices need `lists`."""

    def __init__(
        self, source: SubjectSource, copy: RecordStore, clock: Clock, lists: DeviceListReader | None = None
    ) -> None:
        self._source = source
        self._copy = copy
        self._clock = clock
        self._lists = lists
        self.basic_reads = BasicRecordReads(copy.basic_records, clock)

    async def read(self, subject: str, request: SubjectRequest) -> RefreshResult:
        """Read a subject and store it. Raises `RegisterwatchError` where it could not be stored.

        A read for a reader that was overtaken, so that nothing of it was stored, is repeated once: a read for watches
        may have overtaken it, which stays hidden from the reader.
        """
        read = self._list if is_list(subject) else self._actor if kind(subject) == "srn" else self._device
        result = await read(subject, request)
        if isinstance(result, Refreshed) and result.is_overtaken and not request.context.is_for_watches:
            result = await read(subject, request)
        return result

    def is_worth_reading(self, srn: str) -> bool:
        """Whether reading an actor's list of devices can add what is missing of it."""
        return self._lists is not None and self._lists.is_worth_reading(srn)

    async def propagate_rest(self, most: int = MAX_PROPAGATED) -> None:
        """Update devices with Basic UDI-DI records that they do not show yet: those of stopped reads, and those that
        changed scopes of certificates name.
        """
        for key in await self._copy.basic_records.unpropagated(most):
            await self._propagate(key, ReadContext())

    async def _device(self, udi: str, request: SubjectRequest) -> RefreshResult:
        since, read_at = await self._copy.revision(), int(self._clock.now())
        if request.listed is not None:
            since, read_at = request.listed.revision, request.listed.read_at
        known = await self._copy.known(udi, now=int(self._clock.now()))
        if request.priority is RequestPriority.READER:
            # The detail is always read: else a faster refresh would show that it was read for a watch lately.
            known = {uuid: replace(each, detail_version=None) for uuid, each in known.items()}
        basic_reads = self.basic_reads.of_read(_rule_for(request.rule, known.values()))
        result = await self._source.read_device(
            udi,
            known=known,
            shared=basic_reads,
            listed=request.listed,
            priority=request.priority,
            slot_wait=request.slot_wait,
        )
        if isinstance(result, NotFound) and known:
            await self._copy.delist(
                udi, read_at=read_at, since=since, source=self._source.name, context=request.context
            )
        outcome: RefreshResult = (
            await self._store(result.value, request.context, since=since, read_at=read_at)
            if isinstance(result, Found)
            else result
        )
        for key in sorted(basic_reads.brought):  # also where the read failed: other devices show the record
            await self._propagate(key, request.context)
        return outcome

    async def _store(
        self, readings: Sequence[DeviceReading], context: ReadContext, *, since: int, read_at: int
    ) -> Refreshed:
        changes = await self._copy.store(
            readings, read_at=read_at, now=int(self._clock.now()), lists_all=True, context=context, since=since
        )
        if changes is None:
            return Refreshed(changed=False, is_overtaken=True)
        lacks_certificates = any(each.completeness is Completeness.ALL_BUT_CERTIFICATES for each in readings)
        return Refreshed(any(change.is_current for change in changes), lacks_certificates=lacks_certificates)

    async def _propagate(self, key: str, context: ReadContext) -> None:
        """Update all stored devices under a Basic UDI-DI with its record, a few in each transaction."""
        stored = await self._copy.basic_records.stored(key)
        is_more = stored is not None and not stored.is_propagated
        while is_more:
            now = int(self._clock.now())
            is_more = await self._copy.propagate(key, source=self._source.name, now=now, context=context)

    async def _actor(self, srn: str, request: SubjectRequest) -> RefreshResult:
        context = request.context
        since, known = await self._copy.revision(), await self._copy.known_actor(srn)
        read_at = int(self._clock.now())
        result = await self._source.read_actor(srn, priority=request.priority, slot_wait=request.slot_wait)
        if isinstance(result, NotFound):
            await self._copy.delist_actor(
                srn, read_at=read_at, since=known.reads, source=self._source.name, context=context
            )
        if not isinstance(result, Found):
            return result
        now = int(self._clock.now())
        actor, rows = result.value.actor, result.value.rows
        doubted_at = _doubted_at(actor, known, read_at)
        if doubted_at is not None:
            actor = replace(actor, device_total=known.device_total)
        changes = await self._copy.store(rows, read_at=read_at, now=now, context=context, since=since)
        changed = await self._copy.store_actor(
            actor,
            read_at=read_at,
            now=now,
            source=self._source.name,
            context=context,
            since=known.reads,
            doubted_at=doubted_at,
        )
        has_more = (
            doubted_at is None
            and self._lists is not None
            and actor.device_total is not None
            and await self._lists.begin(srn, rows, actor.device_total, read_at)
        )
        return Refreshed(bool(changed or changes), has_more, is_overtaken=changed is None)

    async def _list(self, subject: str, request: SubjectRequest) -> RefreshResult:
        """The next page of a list of devices; in a background refresh all that are left."""
        assert self._lists is not None, "lists are read where there is a reader of lists"
        srn, changed, goes_on = subject.removeprefix(_LIST), False, True
        while goes_on:
            try:
                page = await self._lists.read_page(srn, request.priority, request.slot_wait, request.context)
            except RegisterFailure as failure:
                return ReadFailed(failure.reason, is_asked=failure.is_asked)
            if page.problem is not None:
                return ReadFailed(page.problem)
            changed, goes_on = changed or page.changed, page.goes_on
            if request.priority is not RequestPriority.REFRESH:
                break
        return Refreshed(changed, goes_on)


def _doubted_at(actor: Actor, known: KnownActor, read_at: int) -> int | None:
    """Since when the register's answer that an actor has no devices is doubted; None where it is not."""
    if actor.device_total != 0 or not known.device_total:
        return None
    since = doubted_since(read_at, known.doubted_at, known.read_at)
    return None if is_believed(read_at, since) else since


def _rule_for(rule: SharingRule, known: Collection[KnownRecord]) -> SharingRule:
    """The rule of a read, with the instants of its device's stored records."""
    shown_at = (each.basic_read_at if rule.is_for_watches else each.basic_shown_at for each in known)
    return replace(
        rule,
        shown_at=max((each or 0 for each in shown_at), default=0),
        searched_revision=max((each.searched_revision for each in known), default=0),
        searched_at=max((each.certs_shown_at or 0 for each in known), default=0),
    )
