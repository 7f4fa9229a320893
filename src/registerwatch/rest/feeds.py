"""Feeds over REST: making and ending them, and what readers and calendars fetch."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from registerwatch.clock import iso_utc
from registerwatch.notifications.feeds import atom, calendar
from registerwatch.notifications.feeds.models import Feed
from registerwatch.rest.auth import KeyOrSession, OwnerOrKey
from registerwatch.rest.description import (
    BAD_REQUEST,
    CAP_REACHED,
    FORBIDDEN,
    NO_FIELDS,
    OTHER_ERROR,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Responses,
    answer,
    operation_id,
)
from registerwatch.rest.idempotency import IdempotentRoute
from registerwatch.rest.parameters import RowId, only_known_parameters, row_id
from registerwatch.web.answers import Answer, Done, doc, instant
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.rate_limits import Limit
from registerwatch.web.responses import NOT_CACHED, private_response

router = APIRouter(
    tags=["feeds"],
    responses={**UNAUTHENTICATED, **RATE_LIMITED, **UNAVAILABLE, **OTHER_ERROR},
    dependencies=[Depends(counted(Limit.ACCOUNT)), Depends(only_known_parameters)],
    generate_unique_id_function=operation_id,
    route_class=IdempotentRoute,
)
Token = Annotated[str, Query(description="The token of a feed, `ft_…`.")]
FEED_HEADERS = {"Cache-Control": NOT_CACHED, "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


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
async def list_feeds(service: InjectedService, caller: KeyOrSession) -> Response:
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
    responses=_file("An Atom feed.", "application/atom+xml"),
)
async def events_feed(token: Token, service: InjectedService) -> Response:
    """The newest 100 changes."""
    feed_id, events = await service.feeds.events(token)
    body = atom.atom(events, public_url=service.settings.public_url, feed_id=feed_id, made_at=service.clock.now())
    return Response(body, headers=FEED_HEADERS, media_type=atom.MEDIA_TYPE)


@router.get(
    "/v1/expiring.ics",
    summary="Certificates that end soon, for calendars",
    response_class=Response,
    responses=_file("An iCalendar.", "text/calendar"),
)
async def expiring_calendar(token: Token, service: InjectedService) -> Response:
    """From 30 days past to 180 days ahead."""
    items = await service.feeds.expiring(token)
    body = calendar.calendar(items, public_url=service.settings.public_url, made_at=service.clock.now())
    return Response(body, headers=FEED_HEADERS, media_type=calendar.MEDIA_TYPE)
