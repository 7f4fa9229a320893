"""Answers that hold something while they are sent: a slot, a file, memory."""

from collections.abc import AsyncIterable, Mapping
from contextlib import AsyncExitStack

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

PIECE_BYTES = 65_536
"""Length of a piece; each is sent when the client has received most of the earlier ones."""


class HeldAnswer(StreamingResponse):
    """An answer in pieces that releases what it holds when it was sent, or could not be."""

    def __init__(
        self, pieces: AsyncIterable[bytes], held: AsyncExitStack, headers: Mapping[str, str], media_type: str
    ) -> None:
        super().__init__(pieces, 200, headers, media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async with self._held:
            await super().__call__(scope, receive, send)
