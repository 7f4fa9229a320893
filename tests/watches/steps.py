"""Steps of tests about watches: what the next sync would list, what the recheck would read."""

import json
from typing import Any

from registerwatch.accounts.models import Caller
from registerwatch.notifications.tables import deliveries, delivery_events
from registerwatch.notifications.targets import target_repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.reading import recheck_repository
from registerwatch.watches.tables import watches
from tests.register.builders import a_registered_certificate
from tests.support.harness import NewAccount, ServiceHarness


async def add_webhook(harness: ServiceHarness, caller: Caller) -> int:
    """Give the account a webhook."""
    async with harness.database.transaction() as connection:
        columns = {"channel": "webhook", "url": "https://a.example", "secret": "whsec_1", "is_first": True}
        return await target_repository.add(connection, caller.account.id, columns, 0)


async def told_by_deliveries(harness: ServiceHarness) -> dict[str, list[dict[str, Any]]]:
    """The events that deliveries without a body tell, by the deliveries' ids."""
    told: dict[str, list[dict[str, Any]]] = {row["id"]: [] for row in await harness.rows(deliveries)}
    for row in await harness.rows(delivery_events):
        told[row["delivery_id"]] += [json.loads(line) for line in row["events"].split("\n")]
    return told


async def take_awaiting(harness: ServiceHarness, caller: Caller) -> list[str]:
    """The summaries that the account's next sync would list; they count as listed now."""
    async with harness.database.transaction() as connection:
        return [event.summary for event in await event_repository.take_awaiting(connection, caller.account.id)]


async def due_subjects(harness: ServiceHarness, limit: int = 100) -> list[str]:
    """Subjects in the order that the recheck reads them."""
    async with harness.database.reading() as connection:
        turns = await recheck_repository.due(connection, harness.now, limit)
    return [turn.subject for turn in turns if turn.subject is not None]


async def tried_at(harness: ServiceHarness) -> list[int]:
    """When each watch was tried last, 0 where it is due at once."""
    return [max(row["tried_at"], 0) for row in await harness.rows(watches)]


SEARCHED = a_registered_certificate("Z-2", "certificate-search")


async def sync(harness: ServiceHarness, owner: NewAccount, after: float = 60) -> list[str]:
    """What a sync tells some time later."""
    harness.clock.move(after)
    return [event["summary"] for event in (await harness.post_sync(owner.api_key))["events"]]
