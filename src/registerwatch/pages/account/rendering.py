"""Rendering of account pages: navigation, messages after a form, times in the user's zone, no caching."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registerwatch.accounts.validation import one_line
from registerwatch.pages.account.next_page import HOME
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.addresses import with_more
from registerwatch.pages.rendering import FRAGMENT_HEADER, count, isolated, unindexed_page
from registerwatch.web.injection import service_of

MAX_NAME_LENGTH = 40
"""Characters of names in messages."""
RETRY_SECONDS = "10"
WELCOME = "welcome"


class Section(msgspec.Struct, frozen=True):
    """An entry of the navigation, which pages name as `section`. `is_of_account` puts it under “Account”; members do
    not see one that `is_for_owners`.
    """

    name: str
    address: str
    words: str
    is_of_account: bool = False
    is_for_owners: bool = False


def app_page(
    request: Request,
    visitor: Visitor,
    template: str,
    *,
    section: str = "",
    status: int = 200,
    done: Mapping[str, str] | None = None,
    **context: Any,
) -> Response:
    """A page of the account.

    `section` marks the entry of the navigation. `done` has messages by the code that `redirect_to` puts into the
    address, with `{n}` for its number and `{named}` for the name of its subject. A page with the status 503 says when
    to try again.
    """
    sections: Sequence[Section] = request.app.state.sections
    ended = visitor.caller.account.ended(service_of(request).clock.now())
    response = unindexed_page(
        request,
        template,
        status,
        visitor=visitor,
        zone=visitor.zone,
        section=section,
        sections=[each for each in sections if not each.is_of_account],
        account_sections=[
            each for each in sections if each.is_of_account and (visitor.is_owner or not each.is_for_owners)
        ],
        message=_message(request, done or {}),
        welcomes=request.query_params.get(WELCOME) == "1",
        has_ended=ended is not None,
        end_notice=ended.notice(visitor.zone.key) if ended is not None else "",
        **context,
    )
    if status == 503:
        response.headers["Retry-After"] = RETRY_SECONDS
    return response


def redirect_to(address: str, *, done: str = "", n: int | None = None, named: str = "") -> Response:
    """Answer a form with a redirection, so that reloading the page sends nothing again."""
    parameters = ("done", done), ("n", "" if n is None else str(n)), ("named", named)
    return RedirectResponse(with_more(address, parameters), 303)


def say_welcome(response: Response) -> None:
    """Let the page that a new user is sent to say that a link was mailed; the first page says so anyway."""
    address = response.headers.get("location", HOME)
    if urlsplit(address).path != HOME:
        response.headers["location"] = with_more(address, [(WELCOME, "1")])


def fragment_asked(request: Request) -> str | None:
    """The region that the script requests instead of the whole page."""
    return request.headers.get(FRAGMENT_HEADER)


def _message(request: Request, done: Mapping[str, str]) -> str:
    """The message named in the address. A forged address can only add a name, which has quotation marks."""
    query = request.query_params
    template, number = done.get(query.get("done", ""), ""), query.get("n", "")
    message = template.replace(
        "{n}", count(int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else ""
    )
    return message.replace("{named}", isolated(one_line(query.get("named", ""))[:MAX_NAME_LENGTH]))
