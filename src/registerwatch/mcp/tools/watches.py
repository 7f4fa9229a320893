"""Tools of an account: its watches and their changes. All need an API key on the HTTP request."""

from enum import StrEnum
from typing import Annotated

import msgspec

from registerwatch.accounts.models import Scope
from registerwatch.mcp.tools.registry import NoArguments, ToolContext, ToolResult, payload, text_argument, tool
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.events.event_rules import FIELDS, NUMBERS
from registerwatch.watches.models import EventKind, EventSeverity
from registerwatch.watches.news.news_changes import NUMBER_OF
from registerwatch.web.answers.watch_answers import MUST_EXIST, EventList, SyncAnswer, WatchList, WatchObject
from registerwatch.web.limits.rate_limits import Limit

MAX_CHANGES = 50

MAX_WATCHES = 1_000
"""Watches of a page."""

_WITH_KEY = " Needs an API key on the HTTP request."
_After = Annotated[
    Annotated[int, msgspec.Meta(ge=0, le=MAX_ROW_ID)] | None,
    msgspec.Meta(description="Only what comes after this id, oldest first; 0 for all."),
]


def _choices(known: type[StrEnum], description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description, extra_json_schema={"items": {"enum": [each.value for each in known]}})


def _explained_fields() -> list[str]:
    """The meaning of each field whose name differs from it: `cert_expiry is the certificate expiry`."""
    named = {name: field for name, field in FIELDS.items() if name not in {*NUMBER_OF, *NUMBERS}}
    return [f"{name} is the {field.name}" for name, field in named.items() if name.replace("_", " ") != field.name]


class SubjectArguments(msgspec.Struct):
    """Arguments of `add_watch`."""

    subject: Annotated[
        str,
        text_argument(
            "A UDI-DI such as 04012345678901, a scanned code that has one, or an SRN such as DE-MF-000006413.",
            MAX_LENGTH,
        ),
    ]
    must_exist: Annotated[bool | None, msgspec.Meta(description=MUST_EXIST)] = None


class WatchesArguments(msgspec.Struct):
    """Arguments of `list_watches`."""

    after: _After = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Most watches; all without it.")
    ] = None


@tool(
    "List watches",
    "List what the account watches: each subject with its name, status, first certificate and its expiry, how its"
    " certificates stand (`certificate_standing`; a date of expiry alone does not say that one is valid), when it was"
    " last read and why the last read failed, if it did. `notice`, where it is there, says that the account's period"
    " has ended and nothing is read any more: repeat it. With an argument the payload has `next` and `more` too: call"
    " again with `after` set to `next` to go on." + _WITH_KEY,
    WatchesArguments,
    scope=Scope.READ,
    asks_register=False,
)
async def list_watches(arguments: WatchesArguments, context: ToolContext) -> ToolResult:
    """All watches or a page of them, also after the account's period has ended."""
    caller = await context.caller()
    service, now = context.service.watches.service, context.service.clock.now()
    if arguments == WatchesArguments():
        return payload((await WatchList.of(await service.all(caller), now)).of_account(caller.account, now))
    after, limit = arguments.after or 0, min(arguments.limit or MAX_WATCHES, MAX_WATCHES)
    page = await service.page(caller, after=after, limit=limit)
    return payload((await WatchList.of_page(page, after, now)).of_account(caller.account, now))


@tool(
    "Watch a device or an actor",
    "Watch a device (by UDI-DI) or an actor (by SRN): the register is read at once, and what changes from then on is"
    " told by sync_watches, list_changes and the account's webhooks. A subject that is watched already stays as it is."
    " Fails when the plan's number of watches is reached." + _WITH_KEY,
    SubjectArguments,
    scope=Scope.WATCH,
    asks_register=True,
    is_read_only=False,
    empty_payload={"watch": None},
)
async def add_watch(arguments: SubjectArguments, context: ToolContext) -> ToolResult:
    """A new watch, or the one that there is."""
    caller = await context.active_caller()
    await context.count(Limit.WATCH_READ)
    must_exist = arguments.must_exist is not False
    watch = await context.service.watches.service.add(caller, arguments.subject, must_exist=must_exist)
    return payload({"watch": WatchObject.of(watch, context.service.clock.now()), "error": None})


@tool(
    "Read all watches now",
    "Read every watched device and actor from the register now, which can take up to a minute, and tell what changed."
    " Empty `events` mean that nothing did in the `synced` watches. Nothing new is known of `failed` and `unread` ones,"
    " which are left out when there are none; list_watches says why. The background does the same by"
    " itself, so call this only when the answer must be of this moment." + _WITH_KEY,
    NoArguments,
    scope=Scope.WATCH,
    asks_register=True,
    is_read_only=False,
    empty_payload={"synced": 0, "events": []},
)
async def sync_watches(_arguments: NoArguments, context: ToolContext) -> ToolResult:
    """One sync of the account."""
    caller = await context.active_caller()
    await context.count(Limit.SYNC)
    synced = await context.service.watches.sync.sync(caller)
    return payload(SyncAnswer.of(synced), synced.error)


class ChangesArguments(msgspec.Struct):
    """Arguments of `list_changes`. A limit over the maximum is accepted and means the maximum."""

    after: _After = None
    limit: Annotated[
        int, msgspec.Meta(ge=1, extra_json_schema={"maximum": MAX_CHANGES}, description="Most changes.")
    ] = MAX_CHANGES
    kind: Annotated[list[str], _choices(EventKind, "Only changes of these kinds.")] = []
    severity: Annotated[list[str], _choices(EventSeverity, "Only changes of these severities.")] = []
    subject: Annotated[str | None, msgspec.Meta(description="Only changes of this UDI-DI or SRN.")] = None

    @property
    def is_plain(self) -> bool:
        """Whether no argument restricts the events."""
        return self == ChangesArguments()


@tool(
    "List changes",
    f"List changes of watched devices and actors. Without arguments the newest {MAX_CHANGES}, newest first: subject,"
    " time, kind, severity, a summary and each field with its old and new value. With arguments the payload has `next`"
    " and `more` too: call again with `after` set to `next` to go on, and set to 0 to begin with the first change."
    f" Fields: {', '.join(_explained_fields())}."
    " `standing` says how a certificate stood: a new one (`certificate` with an empty `old`) where its status did not"
    " leave it plainly valid, that of cert_ends where its date was not all."
    " Of a watched manufacturer devices_registered, devices_off_market and devices_on_market have numbers in `new`, and"
    " device_registered, device_off_market and device_on_market name the first devices, with the UDI-DI in `device`."
    " Does not ask the register." + _WITH_KEY,
    ChangesArguments,
    scope=Scope.READ,
    asks_register=False,
)
async def list_changes(arguments: ChangesArguments, context: ToolContext) -> ToolResult:
    """The newest events of the account, or a page of them."""
    caller = await context.active_caller()
    if arguments.is_plain:
        return payload(EventList.of(await context.service.watches.service.events(caller, MAX_CHANGES)))
    chosen = EventFilter.of(arguments.kind, arguments.severity, arguments.subject)
    limit = min(arguments.limit, MAX_CHANGES)
    page = await context.service.watches.service.event_page(caller, chosen, after=arguments.after, limit=limit)
    return payload(EventList.of_page(page))
