"""The whole service in one process, over a stand-in register in the same process."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from registerwatch.app import app_over
from registerwatch.billing.provider import PaymentProvider
from registerwatch.bootstrap import Service, build_service, running
from registerwatch.mail.memory_mailer import KeptMail
from registerwatch.register.sources.request_budget import RequestPriority
from registerwatch.register.sources.requests import RetryPolicy
from registerwatch.settings import Settings
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.layers.logged import RequestLog
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World
from tests.support.clocks import SteppedClock
from tests.support.dumps import Dumps, Rows
from tests.support.passwords import quick_passwords

REGISTER = "http://register.test"
EMAIL, PASSWORD = "owner@acme.example", "correct horse"
IMPATIENT = {priority: RetryPolicy(tries=2, pause=0.1, limit=30.0) for priority in RequestPriority}


@dataclass(frozen=True, slots=True)
class SignedUp:
    """An owner of a new account, by what they know and what they were told."""

    email: str
    password: str
    session: str
    api_key: str
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """What a test plays with."""

    service: Service
    app: FastAPI
    client: httpx2.AsyncClient
    world: World
    faults: Faults
    clock: SteppedClock
    log: RequestLog
    mail: KeptMail
    dumps: Dumps

    async def level(self) -> None:
        """Bring the index up to the copy."""
        await self.service.indexer.catch_up()

    async def settle(self) -> None:
        """Let refreshes behind readers' backs end, and mails go out."""
        await self.service.refresher.settled()
        await self.service.accounts.password_reset.settled()

    async def fill(self) -> None:
        """Fill the copy from the stand-in's Data Lake, and index it."""
        await self.service.bulk_loader.from_datalake(self.service.datalake, lambda _progress: None)
        await self.level()

    async def get(self, path: str, **params: str | int) -> httpx2.Response:
        """An answer of the service."""
        return await self.client.get(path, params=params)

    async def post(self, path: str, credential: str = "", /, **fields: object) -> httpx2.Response:
        """An answer of the service to a body with these fields, sent with a session or an API key, if any."""
        return await self.client.post(path, json=fields, headers=carrying(credential))

    async def sign_up(self, email: str = EMAIL, password: str = PASSWORD) -> SignedUp:
        """A new trial account."""
        answer = (await self.post("/v1/trial", name="Acme", email=email, password=password)).json()
        return SignedUp(email, password, answer["session"], answer["api_key"], answer)

    async def sign_in(self, email: str, password: str = PASSWORD) -> str:
        """A new session of a user."""
        return str((await self.post("/v1/login", email=email, password=password)).json()["session"])

    def tables(self) -> dict[str, Rows]:
        """Every row, to compare before with after; but of `schedule`, which the background writes at any time."""
        return {name: rows for name, rows in self.dumps.dump().items() if name != "ticks"}

    def rows_of(self, account_id: int) -> dict[str, Rows]:
        """Every row that is an account's, its people's or their sessions', by table."""
        tables = self.tables()
        people = {row["id"] for row in tables["users"] if row["account_id"] == account_id}
        own = {
            name: [row for row in rows if row.get("account_id") == account_id or row.get("user_id") in people]
            for name, rows in tables.items()
        }
        return {**own, "accounts": [row for row in tables["accounts"] if row["id"] == account_id]}


def carrying(credential: str) -> dict[str, str]:
    """Headers with a session or an API key as the contract has them sent; none for an empty one."""
    if not credential:
        return {}
    return {"Authorization": f"Bearer {credential}"} if credential.startswith("us_") else {"X-API-Key": credential}


@asynccontextmanager
async def on_stage(
    database_url: str,
    data_dir: Path,
    *,
    world: World | None = None,
    basic_udi_filter_works: bool = True,
    background: bool = True,
    through: Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport] = lambda way: way,
    provider: PaymentProvider | None = None,
    **overrides: object,
) -> AsyncIterator[Stage]:
    """A service that runs. `overrides` are settings; rate limits are off unless asked for.

    Without `background` nothing is rechecked or delivered but by the test. `through` is what a test puts in the way to
    the register. `provider` stands in for the payment provider; it needs payment settings beside it.
    """
    world = world or GeneratedWorld(120, seed=7)
    faults, clock, mail = Faults(), SteppedClock(), KeptMail()
    register_app = create_register(world, faults, basic_udi_filter_works=basic_udi_filter_works)
    values = {
        "data_dir": data_dir,
        "database_url": database_url,
        "register_url": f"{REGISTER}/eudamed",
        "datalake_url": f"{REGISTER}/datalake",
        "register_requests_per_minute": 100_000,
        "register_timeout": 5.0,
        "rate_limits": False,
        **overrides,
    }
    service = build_service(
        Settings(**values),  # type: ignore[arg-type]  # values are checked by the settings
        clock=clock,
        transport=through(InProcessTransport(register_app)),
        retry_policies=IMPATIENT,
        mailer=mail,
        passwords=quick_passwords(),
        provider=provider,
    )
    app = app_over(service)
    async with running(service, background=background):
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as client:
            with closing(Dumps(service.database)) as dumps:
                yield Stage(service, app, client, world, faults, clock, register_app.state.log, mail, dumps)
