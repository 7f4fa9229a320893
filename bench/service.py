"""The service as it is measured: a process over a filled copy, without limits; its register; a company's account."""

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from sqlalchemy import text

from bench.load import Client, Request, post
from bench.processes import REGISTERWATCH, SERVER_CORE, Server, answering, service_environment
from bench.setup import Setup, Stored, say, timed
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade

USERS = 5
KEYS = 5


def served(
    setup: Setup,
    settings: Mapping[str, str],
    *,
    stored: Stored | None = None,
    cores: Sequence[int] = (SERVER_CORE,),
    target: str = "/health",
) -> AbstractContextManager[Server]:
    """The service over the SQLite copy or the one named, from its answer to `target` on.

    `settings` are named as in the environment.
    """
    stored = stored or setup.copy()
    asyncio.run(_start_fast(stored))
    environment = service_environment(stored.data_dir, {**stored.settings, **settings})
    log = setup.path(f"serve-{stored.kind}.log")
    return answering([REGISTERWATCH, "serve"], log, target, environment=environment, cores=cores)


async def _start_fast(stored: Stored) -> None:
    """Let the pace be as high as the settings allow: a stand-in register needs no caution."""
    database = Database(stored.settings.get("DATABASE_URL", f"sqlite:///{stored.data_dir / 'registerwatch.db'}"))
    await upgrade(database)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE request_budgets SET pace = 1000000"))
    await database.close()


@contextmanager
def stand_in_register(setup: Setup, cores: Sequence[int] = ()) -> Iterator[dict[str, str]]:
    """The stand-in register over the same generated world; gives the settings of a service that reads it, unpaced."""
    command = [REGISTERWATCH, "register", "serve", "--devices", setup.devices, "--seed", setup.seed]
    with answering(command, setup.path("register.log"), "/_control/changes", cores=cores) as register:
        url = f"http://127.0.0.1:{register.port}/eudamed"
        yield {"REGISTER_URL": url, "REGISTER_REQUESTS_PER_MINUTE": "1000000"}


def bring_up_to_date(port: int, codes: Sequence[str]) -> None:
    """Let the service read devices and actors from the register, so that nothing goes on behind when they are read."""
    what = f"reading {len(codes):,} devices and actors from the stand-in register"
    with timed(what), closing(Client(port)) as client:
        answers = [client.ask(Request(f"/v1/refresh?q={quote(code, safe='')}")) for code in codes]
    if failed := sum(b'"refreshed":true' not in answer.body for answer in answers):
        say(f"{failed} of them could not be read; they are measured as they are")


@dataclass(frozen=True, slots=True)
class Customer:
    """An account: the headers of one of its programs and of its owner, a login of each user."""

    by_key: dict[str, str]
    by_session: dict[str, str]
    logins: Sequence[Request]

    def post(self, target: str, **body: str) -> Request:
        """A request of one of its programs."""
        return post(target, body, self.by_key)


@contextmanager
def customer(port: int) -> Iterator[Customer]:
    """An account with `USERS` users and `KEYS` keys, opened as people open one, deleted at the end of the block."""
    domain, password = f"{secrets.token_hex(8)}.example.org", secrets.token_urlsafe(12)
    emails = [f"user-{number}@{domain}" for number in range(1, USERS + 1)]
    logins = [post("/v1/login", {"email": email, "password": password}) for email in emails]
    with closing(Client(port)) as client:
        trial = client.expect(post("/v1/trial", {"email": emails[0], "password": password}))
        first = msgspec.json.decode(trial.body)
        by_session = {"Authorization": f"Bearer {first['session']}"}
        opened = Customer({"X-API-Key": first["api_key"]}, by_session, logins)
        try:
            for email in emails[1:]:
                client.expect(opened.post("/v1/users", email=email, password=password))
            for number in range(2, KEYS + 1):
                client.expect(opened.post("/v1/keys", label=f"program {number}"))
            yield opened
        finally:
            client.close()  # it may have been idle for too long; the next request connects anew
            client.expect(opened.post("/v1/account/delete", password=password))
