"""The service as it is measured: a process over a filled copy, without limits; its requests; a company's account."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from bench.load import Client, Request
from bench.processes import REGISTERWATCH, SERVER_CORE, free_port, running, service_environment, wait_until_answering
from bench.setup import Setup, Stored, say, timed

USERS = 5
KEYS = 5


@dataclass(frozen=True, slots=True)
class Served:
    """A running service: its port, the id of its first process."""

    port: int
    pid: int


@contextmanager
def served(
    setup: Setup, settings: Mapping[str, str], *, stored: Stored | None = None, cores: Sequence[int] = (SERVER_CORE,)
) -> Iterator[Served]:
    """The service over the SQLite copy or the one named. `settings` are named as in the environment."""
    stored, port = stored or setup.copy(), free_port()
    log = setup.path(f"serve-{stored.kind}.log")
    environment = service_environment(stored.data_dir, {**stored.settings, **settings})
    command = [REGISTERWATCH, "serve", "--port", port]
    with running(command, log, environment=environment, cores=cores) as process:
        wait_until_answering(process, port, "/health", log)
        yield Served(port, process.pid)


@contextmanager
def stand_in_register(setup: Setup, cores: Sequence[int] = ()) -> Iterator[dict[str, str]]:
    """The stand-in register over the same generated world; gives the settings of a service that reads it, unpaced."""
    port, log = free_port(), setup.path("register.log")
    command = [REGISTERWATCH, "register", "serve", "--port", port, "--devices", setup.devices, "--seed", setup.seed]
    with running(command, log, cores=cores) as process:
        wait_until_answering(process, port, "/eudamed/applicationInfo", log)
        yield {"REGISTER_URL": f"http://127.0.0.1:{port}/eudamed", "REGISTER_REQUESTS_PER_MINUTE": "1000000"}


def device_requests(udis: Sequence[str]) -> list[Request]:
    """A read of each device."""
    return [Request(f"/v1/devices/{quote(udi, safe='')}") for udi in udis]


def actor_requests(srns: Sequence[str]) -> list[Request]:
    """A read of each actor."""
    return [Request(f"/v1/actors/{quote(srn, safe='')}") for srn in srns]


def unchanged_requests(port: int, requests: Sequence[Request]) -> list[Request]:
    """The same reads by a client that has the answers already."""
    with closing(Client(port)) as client:
        return [Request(each.target, {"If-None-Match": client.expect(each).headers["etag"]}) for each in requests]


def tool_call(name: str, **arguments: object) -> Request:
    """A call of a tool at the tool endpoint."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return Request("/mcp", body=msgspec.json.encode(call))


def bring_up_to_date(port: int, codes: Sequence[str]) -> None:
    """Let the service read devices and actors from the register, so that nothing goes on behind when they are read."""
    with (
        timed(f"reading {len(codes):,} devices and actors from the stand-in register"),
        closing(Client(port)) as client,
    ):
        answers = [client.ask(Request(f"/v1/refresh?q={quote(code, safe='')}")) for code in codes]
    failed = sum(answer.status != 200 or b'"refreshed":true' not in answer.body for answer in answers)
    if failed:
        say(f"{failed} of them could not be read; they are measured as they are")


@dataclass(frozen=True, slots=True)
class Customer:
    """An account: its users, who all have the same password, one of its keys, a session of its owner."""

    emails: Sequence[str]
    password: str = field(repr=False)
    key: str = field(repr=False)
    session: str = field(repr=False)

    @property
    def by_key(self) -> dict[str, str]:
        """The headers of a request that comes from a program."""
        return {"X-API-Key": self.key}

    @property
    def by_session(self) -> dict[str, str]:
        """The headers of a request that comes from the owner."""
        return {"Authorization": f"Bearer {self.session}"}

    @property
    def logins(self) -> list[Request]:
        """A login of each user."""
        return [_post("/v1/login", {}, email=email, password=self.password) for email in self.emails]

    def post(self, target: str, **body: str) -> Request:
        """A request of one of its programs."""
        return _post(target, self.by_key, **body)


@contextmanager
def customer(port: int) -> Iterator[Customer]:
    """An account with `USERS` users and `KEYS` keys, opened as people open one, deleted at the end of the block."""
    domain, password = f"{secrets.token_hex(8)}.example.org", secrets.token_urlsafe(12)
    emails = [f"user-{number}@{domain}" for number in range(1, USERS + 1)]
    with closing(Client(port)) as client:
        trial = client.expect(_post("/v1/trial", {}, email=emails[0], password=password))
        first = msgspec.json.decode(trial.body)
        opened = Customer(emails, password, first["api_key"], first["session"])
        try:
            for email in emails[1:]:
                client.expect(opened.post("/v1/users", email=email, password=password))
            for number in range(2, KEYS + 1):
                client.expect(opened.post("/v1/keys", label=f"program {number}"))
            yield opened
        finally:
            client.close()  # it may have been idle for too long; the next request connects anew
            client.expect(opened.post("/v1/account/delete", password=password))


def _post(target: str, headers: dict[str, str], **body: str) -> Request:
    return Request(target, headers, msgspec.json.encode(body))
