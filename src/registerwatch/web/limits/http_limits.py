"""Limits of incoming requests and connections: sizes, numbers, and the time in which a request has to arrive.

uvicorn has none of them: one header could fill the memory, a client could keep connections open by single bytes now and
then, and thousands of requests in one packet would be accepted at once.
"""

import asyncio
import json
import re
import socket
import struct
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from registerwatch.web.limits.connections import ConnectionTable, max_connections
from registerwatch.web.limits.least_rate import LeastRate
from registerwatch.web.limits.refusal_log import RefusalLog
from registerwatch.web.request_ids import new_request_id
from registerwatch.web.security_headers import NOTHING_ALLOWED

MAX_HEAD_BYTES = 32 * 1024
"""Request line with all headers."""
MAX_HEADERS = 200
MAX_PIPELINED = 16
"""Requests that wait on one connection until earlier ones are answered."""
FREE_PIECES, PIECE_BYTES = 512, 512
"""Packets and chunks that a body may have, and bytes for each further one: each is a call of Python."""
MAX_DROPPED_BYTES = 10 * 1024 * 1024
"""Bytes of a body that are read after its request was answered, so that clients that send all of it first see the
answer: the longest body of any path."""
ARRIVAL_SECONDS = 30.0
"""Time for a request to arrive completely, and for a new connection to send its first byte."""
UNREAD_SECONDS = 60
"""Time for which a client may leave an answer unread that the system has buffered."""
SEND_BUFFER_BYTES = 64 * 1024
"""The system's buffer for one connection whose client does not read; Linux counts twice as much, with its own data.
Its default would be 4 MiB."""
SLICE_BYTES = 32 * 1024
"""Part of a packet that is parsed at once, so that its beginning can refuse the rest."""

MALFORMED = "This is no HTTP request."
BAD_HOST = "An HTTP/1.1 request has one `Host` header, which names a host."
HEAD_TOO_LARGE = (
    f"The request line and its headers have more than {MAX_HEAD_BYTES // 1024} KiB, or are more than {MAX_HEADERS}."
)
TOO_MANY_PIECES = "The body comes in too many small pieces."
TIMED_OUT = f"The request took longer than {ARRIVAL_SECONDS:g} s to arrive."

_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]{0,5})?")


class _Refused(Exception):
    """Stops the parser after a request was refused."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with these limits, and with errors as JSON."""

    def __init__(
        self,
        *arguments: Any,
        table: ConnectionTable | None = None,
        refusal_log: RefusalLog | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._table = ConnectionTable(max_connections()) if table is None else table
        self._refusal_log = RefusalLog() if refusal_log is None else refusal_log
        self._deadline: asyncio.TimerHandle | None = None
        self._progress_check: asyncio.TimerHandle | None = None
        self._rate = LeastRate()
        """The client's rate for the present answer, where the system cannot buffer all of it."""
        self._unsent, self._unsent_at = 0, 0.0
        self._holds_next = False
        self._is_arriving = self._is_in_head = False
        self._head_bytes = self._pieces = self._body_bytes = self._dropped_bytes = 0
        self._proper_host: bytes | None = None
        """The previous request's, so that it is checked once per connection."""

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def end_now(self) -> None:
        """End the connection without sending more."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        _limit_what_is_unread(transport)
        self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._time_out)
        self._table.add(self, self._peer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        self._cancel_progress_check()
        self._table.discard(self, self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if len(data) <= SLICE_BYTES:
            if not self.transport.is_closing():
                self._parse(data)
            return
        for start in range(0, len(data), SLICE_BYTES):
            if self.transport.is_closing():
                return
            self._parse(data[start : start + SLICE_BYTES])

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_progress()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._note_progress()
        self._cancel_progress_check()
        if self._holds_next or not self.is_answering:
            self._rate = LeastRate()
        if self._holds_next:
            self._holds_next = False
            super().on_response_complete()

    def on_response_complete(self) -> None:
        """Begin the next request of the connection, once the client has received most of the answer before it."""
        self._holds_next = bool(self.pipeline) and self.flow.write_paused
        if not self.flow.write_paused:
            self._rate = LeastRate()
        if not self._holds_next:
            super().on_response_complete()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_arriving = self._is_in_head = True
        self._pieces = self._body_bytes = self._dropped_bytes = 0
        self._cancel_deadline()  # the time of this request starts now

    def on_headers_complete(self) -> None:
        if len(self.headers) > MAX_HEADERS or (
            self._head_bytes > MAX_HEAD_BYTES and self._length_of_head() > MAX_HEAD_BYTES
        ):
            self._stop(431, HEAD_TOO_LARGE, "head-too-large")
        if not self._has_proper_host():
            self._stop(400, BAD_HOST, "malformed-request")
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop(400, MALFORMED, "malformed-request")
        self._is_in_head, self._head_bytes = False, 0
        super().on_headers_complete()
        self.headers = []  # the request has its own list; trailers of a chunked body are no headers

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        self._pieces += 1
        self._body_bytes += len(body)
        if self._pieces > FREE_PIECES + self._body_bytes // PIECE_BYTES:
            self._stop(400, TOO_MANY_PIECES, "malformed-request")
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
            if self._dropped_bytes > MAX_DROPPED_BYTES:
                self.transport.close()
                raise _Refused
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving, self._head_bytes = False, 0
        self._cancel_deadline()
        super().on_message_complete()

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client else ""

    def _parse(self, data: bytes) -> None:
        """Parse as uvicorn does, without its log lines, which a client could cause in any number."""
        self._head_bytes += len(data)  # an upper bound: a part of the body may be in the same packet
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # it is answered in this protocol, and nothing after it can be parsed
        except httptools.HttpParserError:  # `_Refused` too
            self._refuse(400, MALFORMED, "malformed-request")
        if self._is_arriving and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, HEAD_TOO_LARGE, "head-too-large")
        elif self._deadline is None and (self._is_arriving or not self.is_answering):
            # A request, or line ends before one: the time limit of idle connections does not cover it.
            self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._time_out)

    def _has_proper_host(self) -> bool:
        """Whether there is one valid host; HTTP/1.0 needs none (RFC 9112, 3.2)."""
        host = None
        for name, value in self.headers:
            if name == b"host":
                if host is not None:
                    return False
                host = value
        if host is None:
            return self.parser.get_http_version() == "1.0"
        if host != self._proper_host and not _HOST.fullmatch(host):
            return False
        self._proper_host = host
        return True

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

    def _stop(self, status: int, message: str, code: str) -> None:
        """Refuse the request, and parse nothing more."""
        self._refuse(status, message, code)
        raise _Refused

    def _refuse(self, status: int, message: str, code: str) -> None:
        """Send an error, unless another answer was started, and close the connection."""
        if self.transport.is_closing():
            return
        self._cancel_deadline()
        request_id = new_request_id()
        self._refusal_log.note(self._peer, status, code, request_id.decode())
        if self._may_answer():
            body = json.dumps({"error": message, "code": code, "request_id": request_id.decode()}).encode()
            self.transport.write(
                STATUS_LINE[status] + b"content-type: application/json\r\ncache-control: no-store\r\n"
                b"x-content-type-options: nosniff\r\ncross-origin-resource-policy: same-origin\r\n"
                b"content-security-policy: %b\r\nx-request-id: %b\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b"
                % (NOTHING_ALLOWED[1].encode(), request_id, len(body), body)
            )
        self.transport.close()

    def _wait_for_progress(self) -> None:
        self._cancel_progress_check()
        self._unsent, self._unsent_at = self.transport.get_write_buffer_size(), self.loop.time()
        self._progress_check = self.loop.call_later(self._rate.seconds_left, self._check_progress)

    def _note_progress(self) -> None:
        taken = self._unsent - self.transport.get_write_buffer_size()
        self._rate.note(taken, self.loop.time() - self._unsent_at)

    def _check_progress(self) -> None:
        self._note_progress()
        if self._rate.seconds_left > 0:
            self._wait_for_progress()
        else:
            _forget_what_is_unread(self.transport)
            self.end_now()

    def _cancel_progress_check(self) -> None:
        if self._progress_check is not None:
            self._progress_check.cancel()
            self._progress_check = None

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _limit_what_is_unread(transport: asyncio.Transport) -> None:
    """Let the system buffer little of an answer, and end the connection where the client does not read what was sent,
    also after it was closed.
    """
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux has it
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1_000)


def _forget_what_is_unread(transport: asyncio.Transport) -> None:
    """Make the system drop its buffer when the connection is closed, instead of trying on to send it."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
