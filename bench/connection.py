"""One HTTP connection that is kept alive, with as little of its own as possible between question and answer."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field


class Refused(Exception):
    """The server closed the connection or said something that is no HTTP answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: a GET, or a POST of JSON where there is a body, unless the method is named."""

    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    method: str = ""

    def as_sent(self) -> bytes:
        """The request as it goes over the wire. No server that is measured looks at the `Host`."""
        fields = {"Host": "127.0.0.1", **self.headers}
        if self.body:
            fields |= {"Content-Type": "application/json", "Content-Length": str(len(self.body))}
        first = f"{self.method or ('POST' if self.body else 'GET')} {self.target} HTTP/1.1"
        lines = [first, *(f"{name}: {value}" for name, value in fields.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + self.body


@dataclass(frozen=True, slots=True)
class PostResult:
    """A whole answer. Header names are in lower case."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: bytes) -> str:
        """A header's value, empty when the answer has none."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")


class Connection:
    """To a server on the loopback. One request at a time."""

    def __init__(self, port: int, timeout: float = 60.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, target: str) -> PostResult:
        """Send a GET, wait for its whole answer. Raises `Refused` and `OSError`."""
        return self.ask(Request(target))

    def ask(self, request: Request) -> PostResult:
        """Send a request, wait for its whole answer. Raises `Refused` and `OSError`."""
        self._socket.sendall(request.as_sent())
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        status, fields = _head(bytes(received[:end]))
        if dict(fields).get(b"transfer-encoding") == b"chunked":
            return PostResult(status, fields, self._chunks(received[end + 4 :]))
        length = 0 if status in (204, 304) else int(dict(fields).get(b"content-length", b"0"))
        while len(received) < end + 4 + length:
            received += self._more()
        return PostResult(status, fields, bytes(received[end + 4 :]))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _chunks(self, received: bytearray) -> bytes:
        """A body that comes in chunks, the last of which is empty."""
        body = bytearray()
        while True:
            while (end := received.find(b"\r\n")) < 0:
                received += self._more()
            length = int(received[:end], 16)
            while len(received) < end + 4 + length:
                received += self._more()
            if length == 0:
                return bytes(body)
            body += received[end + 2 : end + 2 + length]
            del received[: end + 4 + length]

    def _more(self) -> bytes:
        part = self._socket.recv(65_536)
        if not part:
            raise Refused("The server hung up.")
        return part


def _head(head: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    if not version.startswith(b"HTTP/1."):
        raise Refused(f"This is no answer: {first[:80]!r}")
    fields = [line.partition(b":") for line in lines]
    return int(rest[:3]), [(name.lower(), value.strip()) for name, _, value in fields]
