"""Pages with the token of a mailed link in their address, which no `Referer` sends."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.notifications.bounces.unsubscribe_tokens import PATH as UNSUBSCRIBE
from registerwatch.pages.rendering import unindexed_page

PATHS = "/password/", "/account/", UNSUBSCRIBE
NO_REFERRER = {"Referrer-Policy": "no-referrer"}
"""Headers of every page under `PATHS`, errors too."""


def link_page(request: Request, template: str, status: int = 200, **context: object) -> Response:
    """A page that is not cached, indexed or sent in a `Referer`."""
    return unindexed_page(request, template, status, NO_REFERRER, **context)


def bad_link(request: Request, reason: str) -> Response:
    """The page of a link that is not valid."""
    return link_page(request, "password_bad_link.html", 400, reason=reason)
