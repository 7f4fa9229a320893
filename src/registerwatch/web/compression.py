"""Compresses answers of the public pages and reads alone.

An answer that contains a secret beside foreign text must not be compressed: its length would reveal the secret bit by
bit (the BREACH attack, docs/decisions/0026-compression.md). So the paths are listed, and a request or an answer with a
cookie is left alone. A device (`rest/middleware.py`) and `/openapi.json` (`web/prepared.py`) are packed in these
modules, by the same rule: they contain no secret.
"""

import zlib
from collections.abc import Sequence
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC_PATHS = frozenset({"/", "/docs", "/robots.txt", "/v1/search", "/v1/certificates"})
PUBLIC_PREFIXES = ("/v1/devices/", "/v1/actors/", "/v1/certificates/", "/d/", "/a/", "/c/", "/docs/", "/static/")
COMPRESSED_TYPES = (b"text/", b"application/json", b"image/svg+xml")
KEPT_PREFIXES = ("/static/", "/docs/api/")
"""Paths whose answers stay the same until the next start. Their packed form is kept: the public may ask at any rate."""
MIN_BYTES = 1400
"""An answer in one packet with its headers arrives no sooner when it is shorter."""
LEVEL = 4
"""Level 6, the usual one, makes pages 1 % shorter, and takes twice as long for the longest answer."""
_GZIP = 31
"""zlib's `wbits` for the largest window with gzip's header."""

VARIES_BY = "Accept-Encoding"
VARY = (b"vary", VARIES_BY.encode())
PACKED = (b"content-encoding", b"gzip")

RawHeaders = Sequence[tuple[bytes, bytes]]


class Compression:
    """Compresses public, long texts for clients that accept gzip.

    `Vary` is on every answer at these paths, short ones and 304 too. Every `ETag` is weak, so both forms share one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        packs = takes_packed(scope["headers"])
        held: Message | None = None

        async def send_packed(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], VARY]
                if packs and _is_packable(message["headers"]):
                    held = message
                    return
            elif held is not None:
                start, held = held, None
                if not message.get("more_body"):
                    start, message = _packed(start, message, scope["path"])
                await send(start)
            await send(message)

        await self._app(scope, receive, send_packed)


def is_public(path: str) -> bool:
    """Whether answers at this path contain nothing that only one caller may see."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)


@lru_cache(maxsize=256)  # clients send one of few headers, with every request
def accepts_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` header accepts gzip (RFC 9110, 12.5.3)."""
    qualities = dict(_coding(each) for each in accepted.lower().split(","))
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _coding(text: str) -> tuple[str, float]:
    """The name of a coding and its quality: 1 where none is given, 0 where it is not a number."""
    name, _, parameter = text.partition(";")
    given = parameter.strip().removeprefix("q=")
    try:
        return name.strip(), float(given) if given else 1.0
    except ValueError:
        return name.strip(), 0.0


def takes_packed(request_headers: RawHeaders) -> bool:
    """Whether a request accepts gzip and has no cookie."""
    accepted = b""
    for name, value in request_headers:
        if name == b"accept-encoding":
            accepted = value
        elif name == b"cookie":
            return False
    return accepts_gzip(accepted.decode("latin-1"))


def _is_packable(headers: RawHeaders) -> bool:
    """Whether a whole answer with these headers gets shorter. A stream has no length and is left alone."""
    long_enough = is_text = False
    for name, value in headers:
        if name in (b"content-encoding", b"set-cookie"):
            return False
        if name == b"content-length":
            long_enough = int(value) >= MIN_BYTES
        elif name == b"content-type":
            is_text = value.startswith(COMPRESSED_TYPES)
    return long_enough and is_text


def pack(body: bytes) -> bytes:
    """The gzip form of an answer."""
    return zlib.compress(body, LEVEL, _GZIP)


@lru_cache(maxsize=64)
def _kept_packed(body: bytes) -> bytes:
    return pack(body)


def _packed(start: Message, message: Message, path: str) -> tuple[Message, Message]:
    is_kept = start["status"] == 200 and path.startswith(KEPT_PREFIXES)
    body = (_kept_packed if is_kept else pack)(message["body"])
    others = [each for each in start["headers"] if each[0] != b"content-length"]
    headers = [*others, (b"content-length", b"%d" % len(body)), PACKED]
    return {**start, "headers": headers}, {**message, "body": body}
