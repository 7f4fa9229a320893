"""Pages that ask before something is ended, and the page for something that does not exist."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.visitor import Visitor


def ask_once(
    request: Request,
    visitor: Visitor,
    section: str,
    *,
    heading: str,
    about: str = "",
    consequences: Sequence[str],
    button: str,
    back: str,
    is_danger: bool = True,
) -> Response:
    """A page whose button sends a form to the same address. `about` is a person's text that names the subject."""
    return app_page(
        request,
        visitor,
        "account/ask_once.html",
        section=section,
        heading=heading,
        about=about,
        consequences=consequences,
        button=button,
        back=back,
        address=request.url.path,
        is_danger=is_danger,
    )


def not_there(request: Request, visitor: Visitor, section: str, what: str, back: str, back_words: str) -> Response:
    """The 404 page for an address that names nothing of the account."""
    return app_page(
        request,
        visitor,
        "account/not_there.html",
        section=section,
        status=404,
        what=what,
        back=back,
        back_words=back_words,
    )
