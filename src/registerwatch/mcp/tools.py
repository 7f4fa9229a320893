"""The tools: what each is for, in words for a model that has never seen the register, and what it does.

A tool gives the same object as the REST route that it stands for, as JSON text. A payload whose `error` is set is a
failure; nothing is raised to the client.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
import structlog

from registerwatch.accounts.credentials import Credential
from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.errors import DatabaseUnavailable, RegisterwatchError, Unauthenticated
from registerwatch.mcp.descriptions import DESCRIPTIONS, ToolDescription
from registerwatch.register.devices import DeviceAnswer, NoDevice
from registerwatch.register.identifiers import subject
from registerwatch.register.search.index import Filters
from registerwatch.web.rate_limits import Limit
from registerwatch.web.register_answers import DeviceNotFound, SearchAnswer, actor_answer
from registerwatch.web.responses import INTERNAL, NO_DATABASE
from registerwatch.web.watch_answers import EventList, SyncAnswer, WatchList, WatchObject

NEEDS_KEY = "API key required."
UNKNOWN_TOOL = "Unknown tool."
MAX_RESULTS, USUAL_RESULTS = 25, 10
MAX_CHANGES = 50

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who calls a tool: the credential that the HTTP request carried, and what counts its requests.

    `count` raises `RateLimited`.
    """

    credential: Callable[[], Credential | None]
    count: Callable[[Limit], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool says, as JSON text."""

    text: bytes
    is_error: bool


class SearchArguments(msgspec.Struct):
    """Arguments of `search_devices`."""

    q: str
    limit: Annotated[int, msgspec.Meta(ge=1)] = USUAL_RESULTS


class UdiArguments(msgspec.Struct):
    """Arguments of `get_device` and `lookup_udi`."""

    udi: str


class SrnArguments(msgspec.Struct):
    """Arguments of `get_actor`."""

    srn: str


class SubjectArguments(msgspec.Struct):
    """Arguments of `add_watch`."""

    subject: str


class NoArguments(msgspec.Struct):
    """For tools that need none."""


Arguments = TypeVar("Arguments", bound=msgspec.Struct)
Work = Callable[[Any, ToolContext], Awaitable[ToolResult]]

_encode = msgspec.json.Encoder().encode


class Tools:
    """The tools over one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._work: Mapping[str, tuple[type[msgspec.Struct], Work, Mapping[str, Any]]] = {
            "search_devices": (SearchArguments, self._search_devices, {}),
            "lookup_udi": (UdiArguments, self._get_device, {}),
            "get_device": (UdiArguments, self._get_device, {}),
            "get_actor": (SrnArguments, self._get_actor, {}),
            "list_watches": (NoArguments, self._list_watches, {}),
            "add_watch": (SubjectArguments, self._add_watch, {"watch": None}),
            "sync_watches": (NoArguments, self._sync_watches, {"synced": 0, "events": []}),
            "list_changes": (NoArguments, self._list_changes, {}),
        }
        assert set(self._work) == {each.name for each in DESCRIPTIONS}

    def described(self) -> list[ToolDescription]:
        """Every tool, for `tools/list`."""
        return list(DESCRIPTIONS)

    async def call(self, name: object, arguments: object, context: ToolContext) -> ToolResult:
        """Use a tool. Whatever goes wrong is in the payload."""
        if not isinstance(name, str) or name not in self._work:
            return _failure(UNKNOWN_TOOL, {})
        form, work, nothing = self._work[name]
        try:
            given = msgspec.convert({} if arguments is None else arguments, form)
            return await work(given, context)
        except msgspec.ValidationError as problem:
            return _failure(f"The arguments do not fit the tool's schema: {problem}.", nothing)
        except DatabaseUnavailable as problem:
            log.error("the database is out of reach", tool=name, error=str(problem))
            return _failure(NO_DATABASE, nothing)
        except RegisterwatchError as problem:
            return _failure(str(problem), nothing)
        except Exception:
            log.exception("unexpected error", tool=name)
            return _failure(INTERNAL, nothing)

    async def _search_devices(self, given: SearchArguments, _asker: ToolContext) -> ToolResult:
        most = min(given.limit, MAX_RESULTS)
        found = await self._service.search.search(given.q, Filters(), name_rows=most, srn_rows=most)
        return _payload(SearchAnswer.of(found), found.error)

    async def _get_device(self, given: UdiArguments, context: ToolContext) -> ToolResult:
        udi = subject(given.udi)
        answer = await self._service.devices.stored(udi) or await self._read_device(udi, context)
        if isinstance(answer, NoDevice):
            return _payload(DeviceNotFound.of(answer), answer.reason)
        return ToolResult(answer.body, is_error=answer.problem is not None)

    async def _read_device(self, udi: str, context: ToolContext) -> DeviceAnswer | NoDevice:
        if self._service.devices.asks_register(udi):
            await context.count(Limit.REGISTER_READ)
        return await self._service.devices.device(udi)

    async def _get_actor(self, given: SrnArguments, context: ToolContext) -> ToolResult:
        answer = await actor_answer(self._service.actors, given.srn, lambda: context.count(Limit.REGISTER_READ))
        return _payload(answer, answer.error)

    async def _list_watches(self, _given: NoArguments, context: ToolContext) -> ToolResult:
        caller = await self._caller(context)
        watches = await self._service.watches.service.all(caller)
        return _payload(WatchList.of(watches, self._service.clock.now()))

    async def _add_watch(self, given: SubjectArguments, context: ToolContext) -> ToolResult:
        caller = await self._active(context)
        await context.count(Limit.WATCH_READ)
        watch = await self._service.watches.service.add(caller, given.subject)
        return _payload({"watch": WatchObject.of(watch, self._service.clock.now()), "error": None})

    async def _sync_watches(self, _given: NoArguments, context: ToolContext) -> ToolResult:
        caller = await self._active(context)
        await context.count(Limit.SYNC)
        synced = await self._service.watches.sync.sync(caller)
        return _payload(SyncAnswer.of(synced), synced.error)

    async def _list_changes(self, _given: NoArguments, context: ToolContext) -> ToolResult:
        caller = await self._active(context)
        events = await self._service.watches.service.events(caller, MAX_CHANGES)
        return _payload(EventList.of(events))

    async def _caller(self, context: ToolContext) -> Caller:
        credential = context.credential()
        if credential is None:
            raise Unauthenticated(NEEDS_KEY)
        return await self._service.accounts.sessions.caller(credential)

    async def _active(self, context: ToolContext) -> Caller:
        caller = await self._caller(context)
        caller.account.require_active(self._service.clock.now())
        return caller


def _payload(content: object, error: str | None = None) -> ToolResult:
    return ToolResult(_encode(content), error is not None)


def _failure(message: str, nothing: Mapping[str, Any]) -> ToolResult:
    return ToolResult(_encode({**nothing, "error": message}), is_error=True)
