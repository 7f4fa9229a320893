"""Reading one subject from the register and storing what it said: a device, an actor, an actor's list of devices."""

import msgspec

from registerwatch.clock import Clock
from registerwatch.register.identifiers import kind
from registerwatch.register.ingest.device_lists import DeviceListReader
from registerwatch.register.observation import ReadContext
from registerwatch.register.outcomes import Found, NotFound, ReadFailed, RegisterFailure
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.request_budget import PlaceWait
from registerwatch.register.sources.source import SubjectSource
from registerwatch.register.store.records import RecordStore

_LIST = "devices of "
"""No identifier has a space."""


class Refreshed(msgspec.Struct, frozen=True):
    """The register was read and the copy holds what it said; `changed` when that was news.

    `goes_on` tells of an actor that its list of devices has pages which were not read, of a list that it has more.
    """

    changed: bool
    goes_on: bool = False


RefreshResult = Refreshed | NotFound | ReadFailed


def list_of(srn: str) -> str:
    """The subject that stands for all devices which the register lists of an actor."""
    return f"{_LIST}{srn}"


def is_list(subject: str) -> bool:
    """Whether a subject is an actor's list of devices."""
    return subject.startswith(_LIST)


class SubjectReads:
    """Reads of single subjects into one copy; lists of devices need `lists`."""

    def __init__(
        self, source: SubjectSource, copy: RecordStore, clock: Clock, lists: DeviceListReader | None = None
    ) -> None:
        self._source = source
        self._copy = copy
        self._clock = clock
        self._lists = lists

    async def read(
        self, subject: str, priority: RequestPriority, context: ReadContext, place_wait: PlaceWait | None
    ) -> RefreshResult:
        """Read a subject and store it. Raises `RegisterwatchError` where it could not be stored."""
        read = self._list if is_list(subject) else self._actor if kind(subject) == "srn" else self._device
        return await read(subject, priority, context, place_wait)

    def is_worth_reading(self, srn: str) -> bool:
        """Whether reading an actor's list of devices can bring what is missing of it."""
        return self._lists is not None and self._lists.is_worth_reading(srn)

    async def _device(
        self, udi: str, priority: RequestPriority, context: ReadContext, place_wait: PlaceWait | None
    ) -> RefreshResult:
        since = await self._copy.revision()
        read_at = int(self._clock.now())
        known = await self._copy.known(udi, now=read_at)
        result = await self._source.read_device(udi, known=known, priority=priority, place_wait=place_wait)
        now = int(self._clock.now())
        if isinstance(result, NotFound) and known:
            await self._copy.delist(udi, read_at=read_at, since=since, source=self._source.name)
        if not isinstance(result, Found):
            return result
        changes = await self._copy.store(
            result.value, read_at=read_at, now=now, lists_all=True, context=context, since=since
        )
        return Refreshed(any(change.is_current for change in changes))

    async def _actor(
        self, srn: str, priority: RequestPriority, context: ReadContext, place_wait: PlaceWait | None
    ) -> RefreshResult:
        since, reads_before = await self._copy.revision(), await self._copy.actor_reads(srn)
        read_at = int(self._clock.now())
        result = await self._source.read_actor(srn, priority=priority, place_wait=place_wait)
        if not isinstance(result, Found):
            return result
        now = int(self._clock.now())
        actor, rows = result.value.actor, result.value.rows
        changes = await self._copy.store(rows, read_at=read_at, now=now, context=context, since=since)
        changed = await self._copy.store_actor(
            actor,
            read_at=read_at,
            now=now,
            source=self._source.name,
            context=context,
            since=reads_before,
        )
        has_more = (
            self._lists is not None
            and actor.device_total is not None
            and await self._lists.begin(srn, rows, actor.device_total, read_at)
        )
        return Refreshed(changed or bool(changes), has_more)

    async def _list(
        self, subject: str, priority: RequestPriority, context: ReadContext, place_wait: PlaceWait | None
    ) -> RefreshResult:
        """The next page of a list of devices; behind readers' backs all that are left of it."""
        assert self._lists is not None, "lists are read where there is a reader of lists"
        srn, changed, goes_on = subject.removeprefix(_LIST), False, True
        while goes_on:
            try:
                page = await self._lists.read_page(srn, priority, place_wait, context)
            except RegisterFailure as failure:
                return ReadFailed(failure.reason, is_asked=failure.is_asked)
            if page.problem is not None:
                return ReadFailed(page.problem)
            changed, goes_on = changed or page.changed, page.goes_on
            if priority is not RequestPriority.REFRESH:
                break
        return Refreshed(changed, goes_on)
