"""The cookie of a browser's session. It authenticates only pages, never the interfaces for programs."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.sessions.credentials import Credential, browser_session_of
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.settings import Settings
from registerwatch.web.injection import service_of
from registerwatch.web.responses import NOT_CACHED

SAFE_PREFIX = "__Host-"
"""Browsers accept a cookie with this prefix only over https and without a domain: no other host can set or read it."""
PLAIN_NAME = "session"
"""The name over http on a person's own machine."""
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local(settings: Settings) -> bool:
    """Whether people reach the service over http on their own machine, which needs no https for cookies."""
    address = urlsplit(settings.public_url)
    return address.scheme == "http" and (address.hostname or "") in LOCAL_HOSTS


def can_sign_in(settings: Settings) -> bool:
    """Whether browsers would store and send the cookie: over https, or on one's own machine."""
    return settings.public_url.startswith("https://") or is_local(settings)


def cookie_name(settings: Settings, name: str = PLAIN_NAME) -> str:
    """The name of a cookie: `__Host-session`, or `session` on one's own machine."""
    return name if is_local(settings) else SAFE_PREFIX + name


def has_session(request: Request) -> bool:
    """Whether the browser sent a session, which may have ended."""
    return cookie_name(service_of(request).settings) in request.cookies


def session_of(request: Request) -> Credential | None:
    """The session that the browser sent. API keys and sessions of programs do not count."""
    return browser_session_of(request.cookies.get(cookie_name(service_of(request).settings), ""))


def set_cookie(
    response: Response, settings: Settings, value: str, name: str = PLAIN_NAME, *, seconds: int = SESSION_SECONDS
) -> None:
    """Set a secret cookie for some seconds. No cache may store the answer, even if it is a redirect."""
    response.headers["Cache-Control"] = NOT_CACHED
    response.set_cookie(
        cookie_name(settings, name),
        value,
        max_age=seconds,
        path="/",
        secure=not is_local(settings),
        httponly=True,
        samesite="lax",
    )


def drop_cookie(response: Response, settings: Settings, name: str = PLAIN_NAME) -> None:
    """Delete a cookie."""
    set_cookie(response, settings, "", name, seconds=0)
