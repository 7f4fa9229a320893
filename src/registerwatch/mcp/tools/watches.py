"""Tools of an account: what it watches and what changed. All need an API key on the HTTP request."""

from typing import Annotated

import msgspec

from registerwatch.mcp.tools.registry import NoArguments, ToolContext, ToolResult, payload, text_argument, tool
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.web.rate_limits import Limit
from registerwatch.web.watch_answers import EventList, SyncAnswer, WatchList, WatchObject

MAX_CHANGES = 50

_WITH_KEY = " Needs an API key on the HTTP request."


class SubjectArguments(msgspec.Struct):
    """Arguments of `add_watch`."""

    subject: Annotated[
        str,
        text_argument("A UDI-DI such as 04012345678901, or an SRN such as DE-MF-000006413.", MAX_LENGTH),
    ]


@tool(
    "List watches",
    "List what the account watches: each subject with its name, status, first certificate and its expiry, when it was"
    " last read and why the last read failed, if it did." + _WITH_KEY,
    NoArguments,
    asks_register=False,
)
async def list_watches(_arguments: NoArguments, context: ToolContext) -> ToolResult:
    """All watches, also after the account's period has ended."""
    caller = await context.caller()
    watches = await context.service.watches.service.all(caller)
    return payload(WatchList.of(watches, context.service.clock.now()))


@tool(
    "Watch a device or an actor",
    "Watch a device (by UDI-DI) or an actor (by SRN): the register is read at once, and what changes from then on is"
    " told by sync_watches, list_changes and the account's webhooks. A subject that is watched already stays as it is."
    " Fails when the plan's number of watches is reached." + _WITH_KEY,
    SubjectArguments,
    asks_register=True,
    is_read_only=False,
    empty_payload={"watch": None},
)
async def add_watch(arguments: SubjectArguments, context: ToolContext) -> ToolResult:
    """A new watch, or the one that there is."""
    caller = await context.active_caller()
    await context.count(Limit.WATCH_READ)
    watch = await context.service.watches.service.add(caller, arguments.subject)
    return payload({"watch": WatchObject.of(watch, context.service.clock.now()), "error": None})


@tool(
    "Read all watches now",
    "Read every watched device and actor from the register now, which can take up to a minute, and tell what changed."
    " Empty `events` mean that nothing did. The background does the same by itself, so call this only when the answer"
    " must be of this moment." + _WITH_KEY,
    NoArguments,
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


@tool(
    "List changes",
    f"List the newest {MAX_CHANGES} changes of watched devices and actors, newest first: subject, time, kind, a"
    " summary and each field with its old and new value. Does not ask the register." + _WITH_KEY,
    NoArguments,
    asks_register=False,
)
async def list_changes(_arguments: NoArguments, context: ToolContext) -> ToolResult:
    """The newest events of the account."""
    caller = await context.active_caller()
    events = await context.service.watches.service.events(caller, MAX_CHANGES)
    return payload(EventList.of(events))
