"""Watches, syncs, events over REST."""

import asyncio
from typing import Annotated

import msgspec
from fastapi import Depends, Query
from msgspec import UNSET, Meta, UnsetType
from pydantic import Field
from starlette.responses import Response

from registerwatch.errors import InvalidInput, PeriodEnded
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.rest.openapi.description import BAD_REQUEST, CAP_REACHED, EXPIRED, NO_FIELDS, RequestBody, answer
from registerwatch.rest.routing.auth import ActiveAccount, Reader, WatchEditor
from registerwatch.rest.routing.parameters import PageParameters, RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.models import EventKind, EventSeverity, Expiring, WatchPatch
from registerwatch.watches.questions.expiring_certificates import expiring, unsure
from registerwatch.web.answers.answers import Done, doc
from registerwatch.web.answers.watch_answers import (
    CERTIFICATES,
    MUST_EXIST,
    NOTIFIES,
    PORTFOLIO,
    UDI,
    AnswerOfWatches,
    EventList,
    OneWatch,
    SyncAnswer,
    SyncRefused,
    WatchList,
    WatchObject,
)
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import error_answer, private_response

router = account_router("watches")


class WatchRequest(RequestBody):
    """A subject to watch."""

    subject: str = Field(
        description="UDI-DI or SRN, or a code that means one; white space is left out.",
        examples=[UDI, "DE-MF-000006413"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"},
    )
    must_exist: bool | None = Field(None, strict=True, description=MUST_EXIST, examples=[False])


class OptionsRequest(RequestBody):
    """Options of a watch; those that are left out stay as they are."""

    portfolio: bool | None = Field(None, strict=True, description=PORTFOLIO, examples=[True])
    certificates: bool | None = Field(None, strict=True, description=CERTIFICATES, examples=[True])
    notifies: bool | None = Field(None, strict=True, description=NOTIFIES, examples=[True])


class WatchChange(RequestBody):
    """What is changed of a watch: its name, its options or both."""

    label: str | None = Field(
        None, description="At most 80 characters.", examples=["Scanner, ward 3"], json_schema_extra={"minLength": 1}
    )
    options: OptionsRequest | None = Field(None, description="What the watch tells, and whether it is sent.")

    def change(self) -> WatchPatch:
        """The change for the use case. Raises `InvalidInput` if there is nothing to change."""
        sent = self.model_dump(exclude_none=True)
        if not sent:
            named = ", ".join(f"`{each}`" for each in type(self).model_fields)
            raise InvalidInput(f"Send one of these at least: {named}.")
        return msgspec.convert(sent, WatchPatch)


class EventParameters(PageParameters):
    """Which events are listed."""

    kind: list[EventKind] = Field([], description="Only changes of these kinds; may be given several times.")
    severity: list[EventSeverity] = Field([], description="Only these severities; may be given several times.")
    subject: str | None = Field(
        None,
        description="Only changes of this UDI-DI or SRN.",
        examples=[UDI],
        json_schema_extra={"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"},
    )


class ExpiringAnswer(AnswerOfWatches):
    """Certificates from 30 days past to 180 days ahead."""

    items: Annotated[list[Expiring], Meta(description="The most urgent first.")]
    unsure: Annotated[
        list[str] | UnsetType,
        doc(
            "UDI-DIs of watched devices whose certificates were not all read or could not be read at the last try, so"
            " that some may be missing or outdated here; left out when there are none.",
            [UDI],
        ),
    ] = UNSET


@router.get("/v1/watches", summary="The account's watches", responses=answer(WatchList) | BAD_REQUEST)
async def list_watches(
    parameters: Annotated[PageParameters, Query()], service: InjectedService, caller: Reader
) -> Response:
    """All of them without parameters; with `limit` or `after` page by page. Works after the period has ended too."""
    now = service.clock.now()
    if not parameters.is_given:
        listed = await WatchList.of(await service.watches.service.all(caller), now)
        return private_response(listed.of_account(caller.account, now))
    after = parameters.after or 0
    page = await service.watches.service.page(caller, after=after, limit=parameters.limit)
    return private_response((await WatchList.of_page(page, after, now)).of_account(caller.account, now))


@router.post(
    "/v1/watches",
    summary="Watch a UDI-DI or an SRN",
    responses=answer(OneWatch) | BAD_REQUEST | EXPIRED | CAP_REACHED,
    dependencies=[Depends(counted(Limit.WATCH_READ))],
)
async def add_watch(body: WatchRequest, service: InjectedService, caller: ActiveAccount) -> Response:
    """The register is read at once; what it says is the baseline and makes no event. A subject that is watched
    already stays as it is. One that the register does not know is watched, with `last_error` saying so; a word without
    a digit is no code and refused, unless `must_exist` is false.
    """
    watch = await service.watches.service.add(caller, body.subject, must_exist=body.must_exist is not False)
    return private_response(OneWatch(WatchObject.of(watch, service.clock.now())))


@router.patch(
    "/v1/watches/{id}", summary="Name a watch, set its options", responses=answer(OneWatch) | BAD_REQUEST | EXPIRED
)
async def change_watch(id: RowId, body: WatchChange, service: InjectedService, caller: ActiveAccount) -> Response:  # noqa: A002
    """Later syncs keep the name. An option that is switched on tells what is found from then on."""
    watch = await service.watches.service.change(caller, row_id(id), body.change())
    return private_response(OneWatch(WatchObject.of(watch, service.clock.now())))


@router.delete("/v1/watches/{id}", summary="Stop watching", responses=answer(Done) | BAD_REQUEST)
async def remove_watch(id: RowId, service: InjectedService, caller: WatchEditor) -> Response:  # noqa: A002
    """Always `{"ok": true}` for a number; only a watch of the account is removed. Its events stay."""
    await service.watches.service.remove(caller, row_id(id))
    return private_response(Done())


@router.post(
    "/v1/sync",
    summary="Read every watch now",
    responses=answer(SyncAnswer) | answer(SyncRefused, status=402, description="The account's period has ended."),
    dependencies=[Depends(counted(Limit.SYNC))],
    openapi_extra=NO_FIELDS,
)
async def sync(service: InjectedService, caller: WatchEditor) -> Response:
    """Reads past every cache. Empty `events` means that the baseline held. A watch that could not be read is counted in
    `failed` and says why in its `last_error`; webhooks follow when there are changes.
    """
    try:
        caller.account.require_active(service.clock.now())
    except PeriodEnded as ended:
        return error_answer(SyncRefused(0, [], str(ended), code=ended.code), 402)
    return private_response(SyncAnswer.of(await service.watches.sync.sync(caller)))


@router.get("/v1/events", summary="What changed", responses=answer(EventList) | BAD_REQUEST)
async def list_events(
    parameters: Annotated[EventParameters, Query()], service: InjectedService, caller: Reader
) -> Response:
    """Without parameters the newest 100 changes, newest first. With `after` the changes that come after an id, oldest
    first: `after=0` begins with the first one, and each `next` goes on, so that none is listed twice or left out,
    whatever is stored meanwhile. Works after the period has ended too.
    """
    account, now = caller.account, service.clock.now()
    if not parameters.is_given:
        return private_response(EventList.of(await service.watches.service.events(caller)).of_account(account, now))
    chosen = EventFilter.of(parameters.kind, parameters.severity, parameters.subject)
    page = await service.watches.service.event_page(caller, chosen, after=parameters.after, limit=parameters.limit)
    return private_response(EventList.of_page(page).of_account(account, now))


@router.get("/v1/expiring", summary="Certificates that end soon", responses=answer(ExpiringAnswer))
async def list_expiring(service: InjectedService, caller: Reader) -> Response:
    """Stored certificate dates from 30 days past to 180 days ahead; the register is not asked."""
    watches, now = await service.watches.service.all(caller), service.clock.now()
    items = await asyncio.to_thread(expiring, watches, now)  # the states of many certificates take time
    found = ExpiringAnswer(items, [watch.subject for watch in unsure(watches)] or UNSET)
    return private_response(found.of_account(caller.account, now))
