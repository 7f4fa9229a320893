"""Feeds over REST: making and ending them, and what readers and calendars fetch."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.notifications.feeds import atom, calendar
from registerwatch.notifications.feeds.models import Feed
from registerwatch.rest.account_schemas import Done
from registerwatch.rest.bodies import NO_FIELDS, Instant
from registerwatch.rest.parameters import RowId, row_id
from registerwatch.rest.responses import (
    BAD_REQUEST,
    CAP_REACHED,
    MEMBER,
    OTHER,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
)
from registerwatch.rest.schemas import Described
from registerwatch.rest.security import AuthLevels
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import NOT_CACHED, private_response


class FeedObject(Described):
    """A feed of the account."""

    id: int = Field(description="Number for `DELETE /v1/feeds/{id}`.", examples=[2])
    prefix: str = Field(description="Its token, masked.", examples=["ft_ab…wxyz"])
    created_at: str = Field(description="UTC.", **Instant)


class FeedObjects(Described):
    """The account's feeds."""

    feeds: list[FeedObject] = Field(description="Oldest first.")


class NewFeedObject(FeedObject):
    """A feed that was just made."""

    events: str = Field(description="Address of the changes, told this once.", examples=["…/v1/events.atom?token=…"])
    expiring: str = Field(
        description="Address of the calendar, told this once.", examples=["…/v1/expiring.ics?token=…"]
    )


class OneFeed(Described):
    """A feed."""

    feed: NewFeedObject


_Token = Annotated[str, Query(description="The token of a feed, `ft_…`.")]


def router(service: Service, levels: AuthLevels, limits: RateLimits) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(
        tags=["feeds"],
        responses={**UNAUTHENTICATED, **RATE_LIMITED, **UNAVAILABLE, **OTHER},
        dependencies=[Depends(limits.counted(Limit.ACCOUNT))],
    )
    feed_service, anybody, owner = service.feeds, Depends(levels.key_or_session), Depends(levels.owner_or_key)
    public_url = service.settings.public_url

    @routes.get("/v1/feeds", summary="The account's feeds", response_model=FeedObjects)
    async def all_feeds(caller: Annotated[Caller, anybody]) -> Response:
        """Their tokens are masked."""
        return private_response({"feeds": [_feed(each) for each in await feed_service.all(caller)]})

    @routes.post(
        "/v1/feeds",
        summary="Make a feed",
        response_model=OneFeed,
        responses={**MEMBER, **CAP_REACHED},
        openapi_extra=NO_FIELDS,
    )
    async def add(caller: Annotated[Caller, owner]) -> Response:
        """Two addresses that need no credential: whoever has them sees the account's changes, and nothing else."""
        new = await feed_service.add(caller)
        addresses = {
            "events": f"{public_url}/v1/events.atom?token={new.token}",
            "expiring": f"{public_url}/v1/expiring.ics?token={new.token}",
        }
        return private_response({"feed": {**_feed(new.feed), **addresses}})

    @routes.delete("/v1/feeds/{id}", summary="End a feed", response_model=Done, responses={**BAD_REQUEST, **MEMBER})
    async def end(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002
        """Its addresses stop working at once. Always `{"ok": true}` for a number."""
        await feed_service.end(caller, row_id(id))
        return private_response({"ok": True})

    @routes.get(
        "/v1/events.atom",
        summary="Changes for feed readers",
        response_class=Response,
        responses={200: {"description": "An Atom feed.", "content": {"application/atom+xml": {}}}},
    )
    async def events(token: _Token) -> Response:
        """The newest 100 changes."""
        feed_id, found = await feed_service.events(token)
        body = atom.atom(found, public_url=public_url, feed_id=feed_id, made_at=service.clock.now())
        return Response(body, headers=_HEADERS, media_type=atom.MEDIA_TYPE)

    @routes.get(
        "/v1/expiring.ics",
        summary="Certificates that end soon, for calendars",
        response_class=Response,
        responses={200: {"description": "An iCalendar.", "content": {"text/calendar": {}}}},
    )
    async def expiring(token: _Token) -> Response:
        """From 30 days past to 180 days ahead."""
        items = await feed_service.expiring(token)
        body = calendar.calendar(items, public_url=public_url, made_at=service.clock.now())
        return Response(body, headers=_HEADERS, media_type=calendar.MEDIA_TYPE)

    return routes


_HEADERS = {"Cache-Control": NOT_CACHED, "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


def _feed(feed: Feed) -> dict[str, Any]:
    return {"id": feed.id, "prefix": feed.prefix, "created_at": iso_utc(feed.created_at)}
