"""Requests on their way in: how large a head may be, and how long a request may take to arrive.

uvicorn has neither limit, so a client could fill the memory with one header, or keep as many connections as it likes by
sending a byte now and then.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 32 * 1024
"""The longest request line with all its headers."""
ARRIVAL_SECONDS = 30.0
"""In which a request has to be here as a whole, and a new connection has to say something."""

MALFORMED = "This is no HTTP request."
HUGE_HEAD = f"The request line and its headers have more than {MAX_HEAD_BYTES // 1024} KiB."
LATE = f"The request took longer than {ARRIVAL_SECONDS:g} s to arrive."


class _HeadRefused(Exception):
    """Ends the parsing of a request that was answered already."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with these two limits, and with errors in the form of the service."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._is_arriving = self._is_in_head = False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)  # at most: what follows the head in the same packet is looked at further down
        super().data_received(data)
        if self._is_arriving and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, HUGE_HEAD)
        elif self._is_arriving and self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_arriving = self._is_in_head = True
        self._end_waiting()  # its time begins now

    def on_headers_complete(self) -> None:
        if self._head_bytes > MAX_HEAD_BYTES and self._length_of_head() > MAX_HEAD_BYTES:
            self._refuse(431, HUGE_HEAD)
            raise _HeadRefused
        self._is_in_head, self._head_bytes = False, 0
        super().on_headers_complete()
        self.headers = []  # the request keeps its own; what the parser finds behind a body in pieces is no header

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving, self._head_bytes = False, 0
        self._end_waiting()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls where parsing failed, be it by us."""
        self._refuse(400, MALFORMED)

    def _may_answer(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            return True
        if self.pipeline:  # one before it is not answered yet
            return False
        if self._is_in_head:  # then it is the one before
            return cycle.response_complete
        return not cycle.response_started

    def _length_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_arriving:
            self._refuse(408, LATE)
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Say so, unless another answer is on its way, and close the connection."""
        if self.transport.is_closing():
            return
        self._end_waiting()
        if self._may_answer():
            body = json.dumps({"error": message}).encode()
            self.transport.write(
                STATUS_LINE[status] + b"content-type: application/json\r\ncache-control: no-store\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
            )
        self.transport.close()

    def _end_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
