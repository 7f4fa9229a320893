"""Channels over REST: the targets to which changes are sent."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.notifications.choices import EVERYTHING, MAX_NAMED, Choice, Frequency
from registerwatch.notifications.targets.channel_models import ChannelChange, NewChannel
from registerwatch.notifications.use_cases import CHANNELS
from registerwatch.platform.structs import replace
from registerwatch.rest.answers.channel_answers import (
    EXAMPLE_URL,
    FREQUENCY,
    HIGH_AT_ONCE,
    HOUR,
    REPEATS,
    SEVERITY,
    TAGS,
    TIME_ZONE,
    WATCHES,
    WEEKDAY,
    ChannelListAnswer,
    ChannelObject,
    OneChannel,
)
from registerwatch.rest.answers.webhook_answers import DeliveryList, TestAnswer
from registerwatch.rest.openapi.description import BAD_REQUEST, CAP_REACHED, FORBIDDEN, NO_FIELDS, RequestBody, answer
from registerwatch.rest.routing.auth import Manager
from registerwatch.rest.routing.parameters import RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.rest.webhooks import SENDS, DeliveryParameters
from registerwatch.watches.models import EventSeverity
from registerwatch.web.answers.answers import Done
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import private_response

NOTHING_TO_CHANGE = "Send `name`, `choice`, `time_zone`, `repeats` or `paused`."
MAX_TEXT = 2_000
KINDS = f"How it is sent: {', '.join(f'`{each}`' for each in CHANNELS)}."

router = account_router("channels", FORBIDDEN)


class ChoiceRequest(RequestBody):
    """What a channel is told, and when; what is left out stays as it is."""

    frequency: Frequency | None = Field(None, description=FREQUENCY, examples=["daily"])
    severity: EventSeverity | None = Field(None, description=SEVERITY, examples=["medium"])
    high_at_once: bool | None = Field(None, strict=True, description=HIGH_AT_ONCE, examples=[True])
    hour: int | None = Field(None, strict=True, ge=0, le=23, description=HOUR, examples=[8])
    weekday: int | None = Field(None, strict=True, ge=0, le=6, description=WEEKDAY, examples=[0])
    tags: list[str] | None = Field(None, max_length=MAX_NAMED, description=TAGS, examples=[["ward 3"]])
    watches: list[Annotated[int, Field(strict=True)]] | None = Field(
        None, max_length=MAX_NAMED, description=WATCHES, examples=[[7]]
    )

    def changed(self, before: Choice) -> Choice:
        """The choice with the fields that were sent."""
        sent: dict[str, Any] = {name: value for name, value in self if value is not None}
        sent |= {name: tuple(sent[name]) for name in ("tags", "watches") if name in sent}
        return replace(before, **sent)


class ChannelRequest(RequestBody):
    """A channel to add."""

    channel: str = Field(description=KINDS, examples=["webhook"])
    url: str = Field(
        "",
        max_length=MAX_TEXT,
        description="Where it leads: a public https address. Left out for `email`, which goes to the user who asks.",
        examples=[EXAMPLE_URL],
    )
    name: str = Field("", max_length=MAX_TEXT, description="What people call it.", examples=["Ward 3"])
    choice: ChoiceRequest = Field(ChoiceRequest(), description="What it is told; everything at once by default.")
    time_zone: str = Field("UTC", max_length=100, description=TIME_ZONE, examples=["Europe/Berlin"])
    repeats: bool = Field(True, strict=True, description=REPEATS, examples=[True])


class ChannelChangeRequest(RequestBody):
    """What is changed of a channel; what is left out stays as it is."""

    name: str | None = Field(None, max_length=MAX_TEXT, description="What people call it.", examples=["Ward 3"])
    choice: ChoiceRequest | None = Field(None, description="What it is told, and when.")
    time_zone: str | None = Field(None, max_length=100, description=TIME_ZONE, examples=["Europe/Berlin"])
    repeats: bool | None = Field(None, strict=True, description=REPEATS, examples=[True])
    paused: bool | None = Field(None, strict=True, description="Whether nothing is sent there.", examples=[True])


@router.get("/v1/channels", summary="How changes reach people and programs", responses=answer(ChannelListAnswer))
async def list_channels(service: InjectedService, caller: Manager) -> Response:
    """An owner and an API key see those of the account and of all users, a member their own."""
    return private_response(ChannelListAnswer.of(await service.notifications.channels.all(caller)))


@router.post("/v1/channels", summary="Add a channel", responses=answer(OneChannel) | BAD_REQUEST | CAP_REACHED)
async def add_channel(body: ChannelRequest, service: InjectedService, caller: Manager) -> Response:
    """Of the account: at most ten of a kind, for owners and API keys. `email` needs a session: it is told to the
    user's own address, when that is confirmed.
    """
    new = NewChannel(
        channel=body.channel,
        url=body.url,
        name=body.name,
        choice=body.choice.changed(EVERYTHING),
        time_zone=body.time_zone,
        repeats=body.repeats,
    )
    return private_response(OneChannel(ChannelObject.of(await service.notifications.channels.add(caller, new))))


@router.get("/v1/channels/{id}", summary="One channel", responses=answer(OneChannel) | BAD_REQUEST)
async def read_channel(id: RowId, service: InjectedService, caller: Manager) -> Response:  # noqa: A002
    """As in the list."""
    return private_response(OneChannel(ChannelObject.of(await service.notifications.channels.get(caller, row_id(id)))))


@router.patch("/v1/channels/{id}", summary="Change a channel", responses=answer(OneChannel) | BAD_REQUEST)
async def change_channel(
    id: RowId,  # noqa: A002
    body: ChannelChangeRequest,
    service: InjectedService,
    caller: Manager,
) -> Response:
    """What waits for a digest goes out at the earlier of its time and the new one. What waits for a channel that is
    turned off or paused is dropped. Of the address of another user an owner changes `frequency` alone, to `off`.
    """
    if not body.model_fields_set:
        raise InvalidInput(NOTHING_TO_CHANGE)
    channels, target_id = service.notifications.channels, row_id(id)
    choice = None
    if body.choice is not None:
        choice = body.choice.changed((await channels.get(caller, target_id)).target.choice)
    change = ChannelChange(body.name, choice, body.time_zone, body.repeats, body.paused)
    return private_response(OneChannel(ChannelObject.of(await channels.change(caller, target_id, change))))


@router.delete("/v1/channels/{id}", summary="Remove a channel", responses=answer(Done) | BAD_REQUEST)
async def remove_channel(id: RowId, service: InjectedService, caller: Manager) -> Response:  # noqa: A002
    """With its deliveries. `{"ok": true}` for a number that nothing has."""
    await service.notifications.channels.remove(caller, row_id(id))
    return private_response(Done())


@router.post(
    "/v1/channels/{id}/test",
    summary="Test a channel",
    responses=answer(TestAnswer) | BAD_REQUEST,
    dependencies=SENDS,
    openapi_extra=NO_FIELDS,
)
async def test_channel(id: RowId, service: InjectedService, caller: Manager) -> Response:  # noqa: A002
    """Sends a test that says that it is one. A success ends a pause after five days of failures."""
    return private_response(TestAnswer.of(await service.notifications.channels.test(caller, row_id(id))))


@router.get(
    "/v1/channels/{id}/deliveries", summary="What was sent to a channel", responses=answer(DeliveryList) | BAD_REQUEST
)
async def list_channel_deliveries(
    id: RowId,  # noqa: A002
    parameters: Annotated[DeliveryParameters, Query()],
    service: InjectedService,
    caller: Manager,
) -> Response:
    """Newest first, page by page."""
    after, limit = parameters.after, parameters.limit
    page = await service.notifications.channels.log_page(caller, row_id(id), after=after, limit=limit)
    return private_response(DeliveryList.of_page(page, after or ""))
