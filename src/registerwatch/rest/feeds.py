"""Feeds over REST: making and ending them, and their files for readers and calendars."""

import asyncio
from importlib import import_module
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from registerwatch.notifications.feeds import atom
from registerwatch.notifications.feeds.models import Feed
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.rest.openapi.description import BAD_REQUEST, CAP_REACHED, FORBIDDEN, NO_FIELDS, Responses, answer
from registerwatch.rest.register import NOT_MODIFIED
from registerwatch.rest.routing.auth import OwnerOrKey, Reader
from registerwatch.rest.routing.parameters import RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.models import EventKind, EventSeverity
from registerwatch.web.answers.answers import Answer, Done, doc, instant
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import matches, private_response, weak_tag

router = account_router("feeds")
_CALENDAR = "registerwatch.notifications.feeds.calendar"
"""Its library takes a moment to load, and few need it. It is loaded in a thread, so that others are answered."""
FEED_HEADERS = {"Cache-Control": "private, no-cache", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


class TokenParameters(BaseModel):
    """The token that every file of a feed needs."""

    model_config = ConfigDict(hide_input_in_errors=True)

    token: str = Field(description="The token of a feed, `ft_…`.")


class FeedParameters(TokenParameters):
    """Which changes a feed shows."""

    before: int | None = Field(None, ge=0, le=MAX_ROW_ID, description="Only what is earlier than this id of a change.")
    kind: list[EventKind] = Field([], description="Only changes of these kinds; may be given several times.")
    severity: list[EventSeverity] = Field([], description="Only these severities; may be given several times.")
    subject: str | None = Field(
        None,
        description="Only changes of this UDI-DI or SRN.",
        examples=["04012345678901"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"},
    )


class CalendarParameters(TokenParameters):
    """Options of a calendar."""

    alarms: str = Field(
        "",
        description="Days before a certificate ends, at most 5 numbers with commas between: each is an alarm.",
        examples=["30,7"],
        json_schema_extra={"pattern": "^([0-9]+(,[0-9]+)*)?$"},
    )


class FeedObject(Answer):
    """A feed of the account."""

    id: Annotated[int, doc("Number for `DELETE /v1/feeds/{id}`.", 2)]
    prefix: Annotated[str, doc("Its token, masked.", "ft_ab…wxyz")]
    created_at: Annotated[str, instant("UTC.")]

    @classmethod
    def of(cls, feed: Feed) -> "FeedObject":
        """A feed as it is listed."""
        return cls(feed.id, feed.prefix, iso_utc(feed.created_at))


class FeedList(Answer):
    """The account's feeds."""

    feeds: Annotated[list[FeedObject], doc("Oldest first.")]


class NewFeedObject(FeedObject):
    """A feed that was just made."""

    events: Annotated[str, doc("Address of the changes, told this once.", "…/v1/events.atom?token=…")]
    expiring: Annotated[str, doc("Address of the calendar, told this once.", "…/v1/expiring.ics?token=…")]


class OneFeed(Answer):
    """A feed."""

    feed: Annotated[NewFeedObject, doc("The feed with its addresses.")]


def _file(description: str, media_type: str) -> Responses:
    return {200: {"description": description, "content": {media_type: {}}}}


@router.get("/v1/feeds", summary="The account's feeds", responses=answer(FeedList))
async def list_feeds(service: InjectedService, caller: Reader) -> Response:
    """Their tokens are masked."""
    return private_response(FeedList([FeedObject.of(each) for each in await service.feeds.all(caller)]))


@router.post(
    "/v1/feeds", summary="Make a feed", responses=answer(OneFeed) | FORBIDDEN | CAP_REACHED, openapi_extra=NO_FIELDS
)
async def add_feed(service: InjectedService, caller: OwnerOrKey) -> Response:
    """Two addresses that need no credential: whoever has them sees the account's changes, and nothing else."""
    new = await service.feeds.add(caller)
    base, query = f"{service.settings.public_url}/v1", f"token={new.token}"
    feed = NewFeedObject(
        id=new.feed.id,
        prefix=new.feed.prefix,
        created_at=iso_utc(new.feed.created_at),
        events=f"{base}/events.atom?{query}",
        expiring=f"{base}/expiring.ics?{query}",
    )
    return private_response(OneFeed(feed))


@router.delete("/v1/feeds/{id}", summary="End a feed", responses=answer(Done) | BAD_REQUEST | FORBIDDEN)
async def end_feed(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002
    """Its addresses stop working at once. Always `{"ok": true}` for a number."""
    await service.feeds.end(caller, row_id(id))
    return private_response(Done())


@router.get(
    "/v1/events.atom",
    summary="Changes for feed readers",
    response_class=Response,
    responses=_file("An Atom feed.", "application/atom+xml") | NOT_MODIFIED | BAD_REQUEST,
)
async def events_feed(
    request: Request, parameters: Annotated[FeedParameters, Query()], service: InjectedService
) -> Response:
    """The newest 100 entries; the link `next` leads to earlier ones (RFC 5005). Changes that have one cause, such as a
    new status of the manufacturer of many watched devices, are one entry. Without a filter the first page has an entry
    for each watch, too, whose subject the register does not know (category `unknown`) or that could not be read for 3
    days (`failing`). After the account's period has ended, the subtitle and an entry say so (`period-ended`).
    """
    chosen = EventFilter.of(parameters.kind, parameters.severity, parameters.subject)
    shown = await service.feeds.events(parameters.token, chosen, before=parameters.before)
    public_url = service.settings.public_url
    body = atom.atom(shown, public_url=public_url, links=_links(public_url, parameters, shown.page.earlier))
    return _tagged(request, body, atom.MEDIA_TYPE, body)


@router.get(
    "/v1/expiring.ics",
    summary="Certificates that end soon, for calendars",
    response_class=Response,
    responses=_file("An iCalendar.", "text/calendar") | NOT_MODIFIED | BAD_REQUEST,
)
async def expiring_calendar(
    request: Request, parameters: Annotated[CalendarParameters, Query()], service: InjectedService
) -> Response:
    """From 30 days past to 180 days ahead. While certificates of a watched device were not all read, or could not be
    read at the last try, the calendar's description names it. After the account's period has ended, the descriptions
    and an event say so. Limit: 10 requests per account and minute.
    """
    await asyncio.to_thread(import_module, _CALENDAR)
    from registerwatch.notifications.feeds import calendar

    days = calendar.alarm_days(parameters.alarms)
    account_id = await service.feeds.account_of(parameters.token)
    await limits_of(request).check_party(request, Limit.CALENDAR, f"account {account_id}")
    shown = await service.feeds.expiring(parameters.token)
    settings, parts = service.settings, []
    async with service.feeds.rendering:
        for piece in calendar.pieces(
            shown,
            public_url=settings.public_url,
            source_name=settings.source_name,
            made_at=service.clock.now(),
            alarm_days=days,
        ):
            parts.append(piece)
            await asyncio.sleep(0)
    body = b"".join(parts)
    return _tagged(request, body, calendar.MEDIA_TYPE, calendar.without_time(body))


def _links(public_url: str, parameters: FeedParameters, earlier: int | None) -> atom.PageLinks:
    """The addresses of a page and its neighbours, with the request's parameters."""
    chosen = parameters.model_dump(mode="json", exclude_unset=True)

    def address(before: int | None) -> str:
        query = {**chosen, "before": [] if before is None else before}
        return f"{public_url}/v1/events.atom?{urlencode(query, doseq=True)}"

    return atom.PageLinks(
        this=address(parameters.before), first=address(None), next=None if earlier is None else address(earlier)
    )


def _tagged(request: Request, body: bytes, media_type: str, content: bytes) -> Response:
    """A file with an `ETag` of its content, or a 304 if the client has that content already."""
    headers = {**FEED_HEADERS, "ETag": weak_tag(content)}
    if matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)
