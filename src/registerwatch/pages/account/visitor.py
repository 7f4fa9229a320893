"""The signed-in user of a page: dependencies that ask others to sign in."""

from dataclasses import replace
from datetime import date
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.accounts.models import Caller, Role
from registerwatch.errors import OwnerOnly, Unauthenticated
from registerwatch.pages.account.next_page import sign_in_address
from registerwatch.pages.account.sign_in.sign_in_form import kept_form_page
from registerwatch.pages.cookies import session_of
from registerwatch.pages.forms import form_of
from registerwatch.pages.page_instead import PageInstead
from registerwatch.pages.same_origin import SAFE_METHODS, require_same_origin
from registerwatch.platform.clock import day_of
from registerwatch.web.injection import client_of, service_of
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, declared_length, max_body_bytes

OWNERS_ONLY = "Only an owner of the account may do this. The owners are listed on the page “Team”."


class Visitor(msgspec.Struct, frozen=True):
    """A user who is signed in."""

    caller: Caller

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which pages show instants; UTC if the stored one is no longer known."""
        try:
            return ZoneInfo(self.caller.time_zone)
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo("UTC")

    def day_of(self, unix_seconds: float) -> date:
        """The day of an instant in the user's zone, in which pages of an account count days."""
        return day_of(unix_seconds, self.zone)

    @property
    def is_owner(self) -> bool:
        """Whether the user may manage the account."""
        return self.caller.role is Role.OWNER


async def signed_in(request: Request) -> Visitor:
    """The user who is signed in by the browser's cookie.

    Without a session a page leads to the form for signing in and back; a sent form is kept meanwhile. Short forms are
    received before the session is checked, since they may arrive slowly; large ones first wait for a slot.
    """
    if _sends_short_form(request):
        await form_of(request)
    try:
        return await _visitor(request)
    except Unauthenticated:
        raise PageInstead(await _sign_in_first(request)) from None


def _sends_short_form(request: Request) -> bool:
    if request.method in SAFE_METHODS or max_body_bytes(request.url.path) > MAX_BODY_BYTES:
        return False
    return "transfer-encoding" in request.headers or 0 < declared_length(request.scope) <= MAX_BODY_BYTES


async def visitor_of(request: Request) -> Visitor | None:
    """The signed-in user, if any."""
    try:
        return await _visitor(request)
    except Unauthenticated:
        return None


async def _visitor(request: Request) -> Visitor:
    caller = await service_of(request).accounts.sessions.caller(session_of(request))
    return Visitor(replace(caller, network=client_of(request).network))


async def _owner_signed_in(visitor: "SignedIn") -> Visitor:
    if not visitor.is_owner:
        raise OwnerOnly(OWNERS_ONLY)
    return visitor


async def _sign_in_first(request: Request) -> Response:
    if request.method in SAFE_METHODS:
        return RedirectResponse(sign_in_address(request), 303)
    await require_same_origin(request)
    return await kept_form_page(request)


SignedIn = Annotated[Visitor, Depends(signed_in)]
"""A signed-in user. Raises `PageInstead`."""
OwnerSignedIn = Annotated[Visitor, Depends(_owner_signed_in)]
"""A signed-in owner. Raises `PageInstead`, or `OwnerOnly`."""
