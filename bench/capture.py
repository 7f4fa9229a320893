"""Answers of the service, kept so that a bare application can give the very same ones."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.connection import Connection

SERVERS_OWN = frozenset({b"date", b"transfer-encoding", b"connection"})
"""Headers that the ASGI server adds by itself."""


class Captured(msgspec.Struct, frozen=True):
    """A request and the answer that the service gave. `tag` is sent as `If-None-Match` where it is not empty."""

    target: str
    tag: str
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def answered_tag(self) -> str:
        """The `ETag` of the answer."""
        return next((value.decode("latin-1") for name, value in self.headers if name == b"etag"), "")


def capture(connection: Connection, requests: Iterable[tuple[str, str]]) -> list[Captured]:
    """Ask the service each target, with the tag as `If-None-Match` where there is one, and keep what it says."""
    answers = []
    for target, tag in requests:
        answer = connection.get(target, {"If-None-Match": tag} if tag else None)
        headers = [(name, value) for name, value in answer.headers if name not in SERVERS_OWN]
        answers.append(Captured(target, tag, answer.status, headers, answer.body))
    return answers


def write(answers: Iterable[Captured], path: Path) -> None:
    """Keep answers in a file."""
    path.write_bytes(msgspec.msgpack.encode(list(answers)))


def read(path: Path) -> list[Captured]:
    """The answers of a file."""
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Captured])
