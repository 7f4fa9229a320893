"""A company's account, opened over HTTP as people open one, and deleted when it was measured."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bench.connection import Connection, Request
from bench.processes import ProcessFailed

USERS = 5
KEYS = 5


@dataclass(frozen=True, slots=True)
class Customer:
    """The account: its users, who all have the same password, one of its keys, a session of its owner."""

    emails: Sequence[str]
    password: str = field(repr=False)
    key: str = field(repr=False)
    session: str = field(repr=False)

    @property
    def by_key(self) -> dict[str, str]:
        """What a request carries that comes from a program."""
        return {"X-API-Key": self.key}

    @property
    def by_session(self) -> dict[str, str]:
        """What a request carries that comes from the owner."""
        return {"Authorization": f"Bearer {self.session}"}

    @property
    def logins(self) -> list[Request]:
        """A login of each user."""
        return [_post("/v1/login", {"email": email, "password": self.password}) for email in self.emails]


@contextmanager
def customer(port: int) -> Iterator[Customer]:
    """An account with `USERS` users and `KEYS` keys. Its domain is new, whatever an earlier run left behind."""
    domain, password = f"{secrets.token_hex(8)}.example.org", secrets.token_urlsafe(12)
    emails = [f"user-{number}@{domain}" for number in range(1, USERS + 1)]
    with closing(Connection(port)) as connection:
        first = _answer(connection, _post("/v1/trial", {"email": emails[0], "password": password}))
    opened = Customer(emails, password, first["api_key"], first["session"])
    try:
        _furnish(port, opened)
        yield opened
    finally:
        with closing(Connection(port)) as connection:
            _answer(connection, _post("/v1/account/delete", {"password": password}, opened.by_key))


def _furnish(port: int, opened: Customer) -> None:
    with closing(Connection(port)) as connection:
        for email in opened.emails[1:]:
            _answer(connection, _post("/v1/users", {"email": email, "password": opened.password}, opened.by_key))
        for number in range(2, KEYS + 1):
            _answer(connection, _post("/v1/keys", {"label": f"program {number}"}, opened.by_key))


def _post(target: str, body: dict[str, str], headers: dict[str, str] | None = None) -> Request:
    return Request(target, headers or {}, msgspec.json.encode(body))


def _answer(connection: Connection, request: Request) -> dict[str, Any]:
    answer = connection.ask(request)
    if answer.status != 200:
        raise ProcessFailed(f"{request.target} was answered with {answer.status}: {answer.body[:500]!r}")
    content: dict[str, Any] = msgspec.json.decode(answer.body)
    return content
