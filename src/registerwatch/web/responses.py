"""JSON answers: rendering, errors in one shape, conditional requests."""

from collections.abc import Mapping
from hashlib import blake2b

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.web.answers.answers import AnyError, ErrorBody

JSON = "application/json"
CACHE_RECORD = "public, max-age=60"
CACHE_NOTHING_YET = "no-cache"
"""`Cache-Control` of records with a missing part, which may soon be there."""
CACHE_SEARCH = "public, max-age=30"
NOT_CACHED = "no-store"

NO_DATABASE = "The database is out of reach; try again shortly."
"""The driver's message names hosts and files, so it is only logged."""
INTERNAL = "Something went wrong in the service. It is in the log; please try again."

_encoder = msgspec.json.Encoder()


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON. `content` is anything msgspec encodes: dicts, structs, dataclasses."""
    return Response(_encoder.encode(content), status, dict(headers or {}), JSON)


def private_response(content: object) -> Response:
    """A 200 in JSON for one caller: not cached."""
    return _PrivateJson(_encoder.encode(content))


def error_response(message: str, status: int, code: str, headers: Mapping[str, str] | None = None) -> Response:
    """The one shape of an error, with the id of the request where there is one. Errors are not cached.

    A message may repeat what was sent, in which half of a surrogate pair can be escaped alone; no answer can hold it.
    """
    sayable = message.encode("utf-8", "replace").decode()
    return error_answer(ErrorBody(sayable, code=code), status, headers)


def error_answer(body: AnyError, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """An error with further fields. Errors are not cached."""
    return json_response(body, status, {"Cache-Control": NOT_CACHED, **(headers or {})})


def tagged_response(request: Request, content: object, cache_control: str, vary: str | None = None) -> Response:
    """A 200 with an `ETag` of its content, or a 304 when the client has this content already."""
    body = _encoder.encode(content)
    tag = weak_tag(body)
    shared = {"ETag": tag, "Cache-Control": cache_control} | ({"Vary": vary} if vary else {})
    if matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=shared)
    return Response(body, 200, shared, JSON)


def weak_tag(content: bytes) -> str:
    """The `ETag` of a content: weak, as its plain and its packed form share one."""
    return f'W/"{blake2b(content, digest_size=12).hexdigest()}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether an `If-None-Match` header names this tag, by weak comparison (RFC 9110, 13.1.2)."""
    if not if_none_match:
        return False
    bare = tag.removeprefix("W/")
    return if_none_match.strip() == "*" or any(
        each.strip().removeprefix("W/") == bare for each in if_none_match.split(",")
    )


class _PrivateJson(Response):
    """A 200 whose headers are all known but for its length; building them each time takes longer than some answers."""

    media_type = JSON

    def __init__(self, body: bytes) -> None:
        super().__init__(body)

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        self.raw_headers = [*_PRIVATE_JSON, (b"content-length", b"%d" % len(self.body))]


_PRIVATE_JSON = ((b"cache-control", NOT_CACHED.encode()), (b"content-type", JSON.encode()))
