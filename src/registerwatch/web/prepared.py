"""Answers that stay the same until the process ends: rendered, tagged and packed once."""

import asyncio
from collections.abc import Callable
from functools import cached_property

from starlette.types import Message, Receive, Scope, Send

from registerwatch.web.compression import PACKED, VARY, pack, takes_packed
from registerwatch.web.responses import matches, weak_tag

REVALIDATED = b"public, no-cache"
"""A client keeps the answer, and asks each time whether it is current."""


class PreparedAnswer:
    """An ASGI application that answers every request with the same text, or with 304 where the client has it.

    It is rendered for the first request, in a thread, and sent packed to clients that accept gzip: `Compression` leaves
    it as it is.
    """

    def __init__(self, render: Callable[[], bytes], media_type: str) -> None:
        self._render = render
        self._media_type = media_type.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "_messages" not in self.__dict__:
            await asyncio.to_thread(getattr, self, "_messages")
        tag, unchanged, plain, packed = self._messages
        for message in unchanged if _has(scope, tag) else packed if takes_packed(scope["headers"]) else plain:
            await send({**message})  # the code around it may change its message

    @cached_property
    def _messages(self) -> tuple[str, tuple[Message, ...], tuple[Message, ...], tuple[Message, ...]]:
        """The tag, and the messages of each form: not modified, plain, packed."""
        body = self._render()
        packed, tag = pack(body), weak_tag(body)
        shared = [(b"etag", tag.encode()), (b"cache-control", REVALIDATED), VARY]
        typed = [*shared, (b"content-type", self._media_type)]
        return (
            tag,
            _answer(304, shared, b""),
            _answer(200, [*typed, _length(body)], body),
            _answer(200, [*typed, _length(packed), PACKED], packed),
        )


def _answer(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> tuple[Message, Message]:
    return (
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    )


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", b"%d" % len(body)


def _has(scope: Scope, tag: str) -> bool:
    """Whether the client names this tag in `If-None-Match`."""
    return any(name == b"if-none-match" and matches(value.decode("latin-1"), tag) for name, value in scope["headers"])
