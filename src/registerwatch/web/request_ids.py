"""The id of each request: in the answer's header, in the body of an error, and in every log line that it causes."""

import re
from random import getrandbits
from urllib.parse import quote

import structlog
from starlette.types import Scope

from registerwatch.notifications.bounces.unsubscribe_tokens import PATH as UNSUBSCRIBE_PATH

HEADER = "X-Request-Id"
MAX_LENGTH = 128

_HEADER = HEADER.lower().encode()
_ACCEPTED = re.compile(rb"[A-Za-z0-9._~+/=-]{1,%d}" % MAX_LENGTH)
_KEY = "request_id"


def begin_request(scope: Scope) -> bytes:
    """The id from a client or proxy, or one of 16 hexadecimal digits; known until the task of the request ends."""
    request_id = _sent_id(scope) or new_request_id()
    structlog.contextvars.bind_contextvars(**{_KEY: request_id.decode()})
    return request_id


def new_request_id() -> bytes:
    """An id of 16 hexadecimal digits."""
    return b"%016x" % getrandbits(64)


def loggable_path(path: str) -> str:
    """A path as logs show it: without the token of an unsubscribe link, and with control characters encoded, which a
    terminal would obey.
    """
    before, found, _ = path.partition(UNSUBSCRIBE_PATH)
    shown = before + found
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else quote(each, errors="replace") for each in shown)


def current_request_id() -> str | None:
    """The id of the request that is being answered; None outside of one."""
    request_id: str | None = structlog.contextvars.get_contextvars().get(_KEY)
    return request_id


def _sent_id(scope: Scope) -> bytes | None:
    for name, value in scope["headers"]:
        if name == _HEADER:
            return value if _ACCEPTED.fullmatch(value) else None
    return None
