"""Limits of incoming requests: the size of the head, and the time in which a request has to arrive.

uvicorn has neither limit: one header could fill the memory, and a client could keep connections open by sending a byte
now and then.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 32 * 1024
"""Of the request line with all headers."""
ARRIVAL_SECONDS = 30.0
"""Within which a request has to arrive completely, and a new connection has to send its first byte."""

MALFORMED = "This is no HTTP request."
HEAD_TOO_LARGE = f"The request line and its headers have more than {MAX_HEAD_BYTES // 1024} KiB."
TIMED_OUT = f"The request took longer than {ARRIVAL_SECONDS:g} s to arrive."


class _HeadRefused(Exception):
    """Stops the parser after a request was refused."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with these two limits, and with errors as JSON."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._is_arriving = self._is_in_head = False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._time_out)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)  # an upper bound: a part of the body may be in the same packet
        super().data_received(data)
        if self._is_arriving and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, HEAD_TOO_LARGE, "head-too-large")
        elif self._is_arriving and self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._time_out)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_arriving = self._is_in_head = True
        self._cancel_deadline()  # the time of this request starts now

    def on_headers_complete(self) -> None:
        if self._head_bytes > MAX_HEAD_BYTES and self._length_of_head() > MAX_HEAD_BYTES:
            self._refuse(431, HEAD_TOO_LARGE, "head-too-large")
            raise _HeadRefused
        self._is_in_head, self._head_bytes = False, 0
        super().on_headers_complete()
        self.headers = []  # the request has its own list; trailers of a chunked body are no headers

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving, self._head_bytes = False, 0
        self._cancel_deadline()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn where parsing failed, also after `_HeadRefused`."""
        self._refuse(400, MALFORMED, "malformed-request")

    def _may_answer(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            return True
        if self.pipeline:  # an earlier request is not answered yet
            return False
        if self._is_in_head:  # the cycle is that of the request before
            return cycle.response_complete
        return not cycle.response_started

    def _length_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _time_out(self) -> None:
        self._deadline = None
        if self._is_arriving:
            self._refuse(408, TIMED_OUT, "request-timed-out")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str, code: str) -> None:
        """Send an error, unless another answer was started, and close the connection."""
        if self.transport.is_closing():
            return
        self._cancel_deadline()
        if self._may_answer():
            body = json.dumps({"error": message, "code": code}).encode()
            self.transport.write(
                STATUS_LINE[status] + b"content-type: application/json\r\ncache-control: no-store\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
            )
        self.transport.close()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
