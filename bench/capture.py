"""Answers of the service, kept so that a bare application can give the very same ones."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.connection import Connection, Request

SERVERS_OWN = frozenset({b"date", b"transfer-encoding", b"connection"})
"""Headers that the ASGI server adds by itself."""


class Captured(msgspec.Struct, frozen=True):
    """What was asked for, and the answer that the service gave."""

    target: str
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def answered_tag(self) -> str:
        """The `ETag` of the answer."""
        return next((value.decode("latin-1") for name, value in self.headers if name == b"etag"), "")


def capture(connection: Connection, requests: Iterable[Request]) -> list[Captured]:
    """Ask the service each, and keep what it says."""
    answers = []
    for request in requests:
        answer = connection.ask(request)
        headers = [(name, value) for name, value in answer.headers if name not in SERVERS_OWN]
        answers.append(Captured(request.target, answer.status, headers, answer.body))
    return answers


def write(answers: Iterable[Captured], path: Path) -> None:
    """Keep answers in a file."""
    path.write_bytes(msgspec.msgpack.encode(list(answers)))


def read(path: Path) -> list[Captured]:
    """The answers of a file."""
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Captured])
