"""Steps of tests about webhooks: something is queued, another process delivers, a signature is checked."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlalchemy import insert, text

from registerwatch.accounts.models import Caller
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import Target
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.tables import deliveries
from registerwatch.notifications.use_cases import build_channels
from registerwatch.platform.net.safe_http import SafeHttpClient
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from tests.support.harness import ServiceHarness

CHANGE = FieldChange(field="market status", old="on the market", new="no longer on the market")


class SignedRequest(Protocol):
    """A request, whoever received it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By the names that the contract gives them."""

    @property
    def content(self) -> bytes:
        """The body, to the byte."""


async def queue_change(
    harness: ServiceHarness,
    *callers: Caller,
    batch: str = "batch",
    due_in: int = 0,
    subject: str = "04012345678901",
    number: int = 1,
    channels: Mapping[str, Channel] | None = None,
    changes: Sequence[FieldChange] = (CHANGE,),
) -> None:
    """Store events of these accounts, and their delivery to all targets of the accounts."""
    outbox = DeliveryOutbox(harness.database, harness.clock, channels or channels_of(harness))
    new = [
        NewEvent(caller.account.id, 1, subject, "Trocar ü", "market status: a → b", changes, True)
        for caller in callers
        for _ in range(number)
    ]
    now = harness.now
    async with harness.database.transaction() as connection:
        stored = await event_repository.add_events(connection, new, now)
        await outbox.put(connection, batch, stored, due_at=now + due_in, now=now)


async def queue_deliveries(harness: ServiceHarness, webhook: Target, number: int) -> None:
    """Store deliveries to one webhook that are due."""
    row = {
        "account_id": webhook.account_id,
        "webhook_id": webhook.id,
        "type": "watch.changed",
        "created_at": harness.now,
        "due_at": harness.now - 100,
        "leased_until": 0,
        "attempts": 0,
        "error": "",
    }
    ids = [f"whd_{webhook.id}_{index}" for index in range(number)]
    async with harness.database.transaction() as connection:
        await connection.execute(insert(deliveries), [{**row, "id": each, "batch": each} for each in ids])


async def clear_secret(harness: ServiceHarness, webhook: Target) -> None:
    """Take a webhook's secret away, as no use case does."""
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE webhooks SET secret = '' WHERE id = :id"), {"id": webhook.id})


def another_process(
    harness: ServiceHarness, kind: type[DeliveryService] = DeliveryService, *, service_name: str = "Service"
) -> DeliveryService:
    """What delivers in another process over the same database."""
    return kind(harness.database, harness.clock, channels_of(harness, service_name))


def channels_of(harness: ServiceHarness, service_name: str = "Service") -> Mapping[str, Channel]:
    """The channels over the harness's receivers."""
    http_client = SafeHttpClient(harness.receivers, allow_private=False, seconds=5.0)
    settings = harness.service.settings.model_copy(update={"service_name": service_name})
    return build_channels(settings, http_client, harness.mail, harness.clock)


def expected_signatures(request: SignedRequest, *secrets: str, word: str = "Service") -> str:
    """What the signature header must be, computed from the contract's words and not by the product's code."""
    timestamp = request.headers[f"X-{word}-Timestamp"]
    signed = timestamp.encode("ascii") + b"." + request.content
    return " ".join("sha256=" + hmac.HMAC(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets)


def expected_standard_signature(request: SignedRequest, secret: str) -> str:
    """What Standard Webhooks says that one secret signs, also not by the product's code."""
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.content
    return "v1," + base64.b64encode(hmac.HMAC(key, signed, hashlib.sha256).digest()).decode()
