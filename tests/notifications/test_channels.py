"""A second channel beside webhooks: the outbox, leases, retries and the log serve it without knowing it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from registerwatch.accounts.models import Caller
from registerwatch.errors import InvalidInput
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.targets.targets import TargetService
from registerwatch.notifications.use_cases import CHANNELS
from registerwatch.platform.account_slots import AccountSlots
from tests.notifications.plain_channel import FULL, PlainChannel
from tests.notifications.steps import channels_of, queue_change
from tests.support.harness import ServiceHarness


@dataclass(frozen=True, slots=True)
class Plain:
    """The other channel, its targets, and a worker that serves both channels."""

    channel: PlainChannel
    targets: TargetService
    worker: DeliveryService
    owner: Caller


@pytest.fixture
async def plain(harness: ServiceHarness) -> Plain:
    caller, _ = await harness.owner_with_webhook()
    channel = PlainChannel(results=[FULL])
    worker = DeliveryService(harness.database, harness.clock, {**channels_of(harness), channel.name: channel})
    targets = TargetService(harness.database, harness.clock, worker, channel, AccountSlots(most=1, most_per_account=1))
    for name in ("#news", "#closed"):
        await targets.add(caller, name)
    await queue_change(harness, caller, number=2, channels={**channels_of(harness), channel.name: channel})
    return Plain(channel, targets, worker, caller)


async def test_a_target_gets_the_events_as_its_channel_renders_and_retries_them(
    harness: ServiceHarness, plain: Plain
) -> None:
    for claimed in await plain.worker.claim():
        await plain.worker.store([await plain.worker.deliver(claimed)])

    assert plain.channel.sent == [("#news", "watch.changed\nrecord 04012345678901\nrecord 04012345678901")] * 2
    (request,) = harness.receivers.requests
    assert len(json.loads(request.content)["events"]) == 2
    news, closed = await plain.targets.all(plain.owner.account.id)
    (delivery,) = await plain.targets.log(plain.owner, news.id)
    assert (delivery.is_accepted, delivery.attempts, delivery.status) == (True, 2, None)
    assert await plain.targets.log(plain.owner, closed.id) == []
    assert (await plain.targets.test(plain.owner, closed.id)).error == "closed"


async def test_a_node_that_does_not_know_a_channel_leaves_its_deliveries_to_others(
    harness: ServiceHarness, plain: Plain
) -> None:
    assert await harness.deliver_due() == 1
    assert [claimed.target.url for claimed in await plain.worker.claim()] == ["#news"]


async def test_targets_of_one_channel_are_none_of_another(harness: ServiceHarness, plain: Plain) -> None:
    (webhook,) = await harness.webhooks.all(plain.owner.account.id)
    assert [each.url for each in await plain.targets.all(plain.owner.account.id)] == ["#news", "#closed"]
    with pytest.raises(InvalidInput, match="no plain with this id"):
        await plain.targets.test(plain.owner, webhook.id)
    await plain.targets.remove(plain.owner, webhook.id)
    assert await harness.webhooks.all(plain.owner.account.id) == [webhook]
    with pytest.raises(InvalidInput, match="begins with #"):
        await plain.targets.add(plain.owner, "news")


async def test_every_channel_is_named_where_channels_are_described(harness: ServiceHarness) -> None:
    page = (Path(__file__).parents[2] / "docs" / "channels.md").read_text(encoding="utf-8")

    assert {*CHANNELS} == {*channels_of(harness)}, "`CHANNELS` names what `build_channels` builds"
    assert [each for each in CHANNELS if f"`{each}`" not in page] == [], "docs/channels.md lists every channel"
