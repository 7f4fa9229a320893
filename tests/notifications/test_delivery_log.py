"""The log of deliveries: by outcome, page by page, with times taken and since when a target fails."""

from registerwatch.notifications.delivery.delivery_log import PAGE_ROWS, SHOWN_BODY_LENGTH
from registerwatch.notifications.models import LogCounts, Outcome
from tests.notifications.steps import queue_change, queue_deliveries
from tests.support.harness import ServiceHarness

HOST = "hooks.acme.example"


async def test_deliveries_are_counted_and_shown_by_outcome(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    log, account_id = harness.service.notifications.log, caller.account.id
    harness.receivers.answers[HOST] = [200, 500, 500, 500]
    for batch in ("accepted", "failed"):
        harness.clock.move(60)
        await queue_change(harness, caller, batch=batch)
        await harness.deliver_due()
    harness.clock.move(60)
    await queue_change(harness, caller, batch="later", number=20, due_in=600)

    everything = await log.page(account_id, webhook.id, None, 1)

    assert everything is not None
    assert everything.counts == LogCounts(accepted=1, failed=1, under_way=1)
    assert [each.outcome for each in everything.deliveries] == [Outcome.UNDER_WAY, Outcome.FAILED, Outcome.ACCEPTED]
    assert [(each.status, each.attempts) for each in everything.deliveries] == [(None, 0), (500, 3), (200, 1)]
    assert [each.milliseconds is None for each in everything.deliveries] == [True, False, False]
    for outcome in Outcome:
        page = await log.page(account_id, webhook.id, outcome, 1)
        assert page is not None
        assert [each.outcome for each in page.deliveries] == [outcome]
        assert page.counts.of(outcome) == 1


async def test_pages_follow_each_other_without_gaps(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_deliveries(harness, webhook, PAGE_ROWS + 3)

    pages = [
        await harness.service.notifications.log.page(caller.account.id, webhook.id, Outcome.UNDER_WAY, number)
        for number in (1, 2, 3)
    ]

    ids = [[each.id for each in page.deliveries] for page in pages if page is not None]
    assert [len(each) for each in ids] == [PAGE_ROWS, 3, 0]
    assert len({delivery for page in ids for delivery in page}) == PAGE_ROWS + 3


async def test_a_long_body_is_cut_and_can_be_had_whole(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller, number=40)
    await harness.deliver_due()
    log, [request] = harness.service.notifications.log, harness.receivers.requests

    page = await log.page(caller.account.id, webhook.id, None, 1)

    assert page is not None
    [shown] = page.deliveries
    assert shown.body is not None
    assert shown.is_cut
    assert (len(shown.body), shown.length) == (SHOWN_BODY_LENGTH, len(request.content.decode()))
    whole = await log.delivery(caller.account.id, webhook.id, shown.id)
    assert whole is not None
    assert whole.body == request.content.decode()


async def test_a_target_fails_since_the_first_failure_after_its_last_success(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    other = await harness.webhooks.add(caller, "https://other.acme.example/")
    harness.receivers.answers[HOST] = [500, 500, 500, 200, 500, 500, 500, 500, 500, 500]
    failed_at = []
    for batch in ("failed", "accepted", "failed again", "and again"):
        harness.clock.move(600)
        await queue_change(harness, caller, batch=batch)
        await harness.deliver_due()
        failed_at.append(harness.now)

    assert await harness.service.notifications.log.failing_since(caller.account.id) == {webhook.id: failed_at[2]}
    assert other.id not in await harness.service.notifications.log.failing_since(caller.account.id)


async def test_nobody_reads_the_log_of_another_account(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    await harness.deliver_due()
    log, stranger = harness.service.notifications.log, await harness.owner("stranger@other.example")
    own = await log.page(caller.account.id, webhook.id, None, 1)
    assert own is not None

    assert await log.page(stranger.account.id, webhook.id, None, 1) is None
    assert await log.delivery(stranger.account.id, webhook.id, own.deliveries[0].id) is None
    assert await log.delivery(caller.account.id, webhook.id, "\x00ü") is None
    assert await log.failing_since(stranger.account.id) == {}
