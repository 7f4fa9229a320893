"""What tests of webhooks do: sign up, save addresses, let something happen, deliver, look at what arrived."""

import asyncio
import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpcore2
from sqlalchemy import Table, insert, select, text

from registerwatch.accounts.models import Caller
from registerwatch.accounts.wiring import Accounts
from registerwatch.db.engine import Database
from registerwatch.db.tables import deliveries, events
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.models import Webhook
from registerwatch.notifications.outbox import Outbox
from registerwatch.notifications.webhooks import WebhookService
from registerwatch.settings import Settings
from registerwatch.watches import repository as watch_repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.repository import NewEvent
from tests.accounts.acting import EMAIL, owner_of
from tests.support.clocks import SteppedClock

URL = "https://hooks.acme.example/registerwatch"
CHANGE = FieldChange(field="market status", old="on the market", new="no longer on the market")


class Signed(Protocol):
    """A request, whoever took it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By the names that the contract gives them."""

    @property
    def content(self) -> bytes:
        """The body, to the byte."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request that arrived."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes


async def _arrived(request: httpcore2.Request) -> Arrived:
    assert isinstance(request.stream, AsyncIterable)
    content = b"".join([chunk async for chunk in request.stream])
    headers = {name.decode(): value.decode() for name, value in request.headers}
    return Arrived(request.method.decode(), bytes(request.url).decode(), headers, content)


@dataclass
class Receivers:
    """Every receiver there is, without sockets: keeps what arrives and answers by the script of its host.

    An answer is a status, or an error instead of one. Who is in `asleep` answers when the event is set.
    """

    requests: list[Arrived] = field(default_factory=list)
    answers: defaultdict[str, list[int | Exception]] = field(default_factory=lambda: defaultdict(list))
    asleep: dict[str, asyncio.Event] = field(default_factory=dict)
    under_way: Counter[str] = field(default_factory=Counter)
    most_under_way: Counter[str] = field(default_factory=Counter)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Take one request, as a pool of connections does."""
        arrived = await _arrived(request)
        host = arrived.headers["Host"]
        async with self.arrived:
            self.requests.append(arrived)
            self.arrived.notify_all()
        self.under_way[host] += 1
        self.most_under_way[host] = max(self.most_under_way[host], self.under_way[host])
        try:
            if host in self.asleep:
                await self.asleep[host].wait()
        finally:
            self.under_way[host] -= 1
        answer = self.answers[host].pop(0) if self.answers[host] else 200
        if isinstance(answer, Exception):
            raise answer
        return httpcore2.Response(answer, content=b"ok")

    def at(self, host: str) -> list[Arrived]:
        """What arrived at one host."""
        return [request for request in self.requests if request.headers["Host"] == host]

    async def wait_for(self, host: str, count: int = 1) -> list[Arrived]:
        """What arrived at one host, once it is so much."""
        async with asyncio.timeout(10), self.arrived:
            await self.arrived.wait_for(lambda: len(self.at(host)) >= count)
        return self.at(host)


@dataclass(frozen=True, slots=True)
class PostRoom:
    """Accounts and their webhooks in one database."""

    database: Database
    clock: SteppedClock
    accounts: Accounts
    settings: Settings
    http_client: SafeHttpClient
    receivers: Receivers
    webhook_service: WebhookService
    deliveries: DeliveryService

    async def owner(self, email: str = EMAIL) -> Caller:
        """The owner of a new account."""
        return await owner_of(self.accounts, email)

    async def with_first(self, email: str = EMAIL, url: str = URL) -> tuple[Caller, Webhook]:
        """The owner of a new account that has a first address."""
        caller = await self.owner(email)
        await self.webhook_service.set_first(caller, url)
        return caller, await self.first(caller)

    async def first(self, caller: Caller) -> Webhook:
        """The account's first webhook as it is now."""
        return next(each for each in await self.webhook_service.all(caller.account.id) if each.is_first)

    async def change(
        self, *callers: Caller, batch: str = "batch", due_in: int = 0, subject: str = "04012345678901", number: int = 1
    ) -> None:
        """Something that these accounts watch changed: an event, and its delivery to all of their addresses."""
        now = int(self.clock.now())
        new = [
            NewEvent(caller.account.id, 1, subject, "Trocar ü", "market status: a → b", [CHANGE], batch, True)
            for caller in callers
            for _ in range(number)
        ]
        async with self.database.transaction() as connection:
            await watch_repository.add_events(connection, new, now)
            outbox = Outbox(self.database, self.clock)
            await outbox.put(connection, batch, [each.account.id for each in callers], due_at=now + due_in, now=now)

    async def deliver(self) -> int:
        """Everything that is due, one after the other. How much it was."""
        claimed = await self.deliveries.claim()
        for each in claimed:
            await self.deliveries.store([await self.deliveries.deliver(each)])
        return len(claimed)

    def another_worker(
        self, kind: type[DeliveryService] = DeliveryService, *, service_name: str = "Service"
    ) -> DeliveryService:
        """What delivers in another process."""
        return kind(
            self.database, self.clock, self.http_client, service=service_name, user_agent=self.settings.user_agent
        )

    async def rows(self) -> list[dict[str, Any]]:
        """Every delivery."""
        return await self._all(deliveries)

    async def events(self) -> list[dict[str, Any]]:
        """Every event."""
        return await self._all(events)

    async def _all(self, table: Table) -> list[dict[str, Any]]:
        async with self.database.reading() as connection:
            found = await connection.execute(select(table).order_by(*table.primary_key.columns))
            return [dict(row) for row in found.mappings()]

    async def backlog(self, webhook: Webhook, number: int) -> None:
        """Deliveries to one address that are due."""
        now = int(self.clock.now())
        row = {
            "account_id": webhook.account_id,
            "webhook_id": webhook.id,
            "type": "watch.changed",
            "created_at": now,
            "due_at": now - 100,
            "leased_until": 0,
            "attempts": 0,
            "error": "",
        }
        ids = [f"whd_{webhook.id}_{index}" for index in range(number)]
        async with self.database.transaction() as connection:
            await connection.execute(insert(deliveries), [{**row, "id": each, "batch": each} for each in ids])

    async def forget_secret(self, webhook: Webhook) -> None:
        """Take an address's secret away, as no use case does."""
        async with self.database.transaction() as connection:
            await connection.execute(text("UPDATE webhooks SET secret = '' WHERE id = :id"), {"id": webhook.id})


def signatures(request: Signed, *secrets: str, word: str = "Service") -> str:
    """What the signature header must be: made anew from the contract's words, not by the product's code."""
    timestamp = request.headers[f"X-{word}-Timestamp"]
    signed = timestamp.encode("ascii") + b"." + request.content
    return " ".join("sha256=" + hmac.HMAC(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets)
