"""What a delivery holds, how often it is tried, what is remembered of it, and sending it again."""

import asyncio
import json

import httpcore2
import pytest

from registerwatch.errors import InvalidInput
from registerwatch.notifications.tables import deliveries
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.platform.structs import replace
from registerwatch.watches.tables import events
from tests.accounts.actions import EMAIL
from tests.notifications.steps import (
    another_process,
    clear_secret,
    expected_signatures,
    expected_standard_signature,
    queue_change,
)
from tests.support.harness import WEBHOOK_URL, ServiceHarness

HOST = "hooks.acme.example"


async def test_a_change_arrives_with_the_contracts_body_and_headers(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller, number=2)
    assert await harness.deliver_due() == 1

    (request,) = harness.receivers.requests
    (row,) = await harness.rows(deliveries)
    stored = await harness.rows(events)
    assert (request.method, request.url) == ("POST", WEBHOOK_URL)
    assert json.loads(request.content) == {
        "id": row["id"],
        "type": "watch.changed",
        "created_at": "2027-01-15T08:00:00Z",
        "email": EMAIL,
        "events": [
            {
                "id": event["id"],
                "subject": "04012345678901",
                "label": "Trocar ü",
                "summary": "market status: a → b",
                "changes": [{"field": "market status", "old": "on the market", "new": "no longer on the market"}],
            }
            for event in stored
        ],
    }
    assert request.headers == {
        "Content-Type": "application/json",
        "Content-Length": str(len(request.content)),
        "Host": HOST,
        "User-Agent": "Registerwatch/1.0 (+service@acme.example)",
        "X-Service-Timestamp": "1800000000",
        "X-Service-Signature": expected_signatures(request, webhook.secret),
        "X-Service-Event": "watch.changed",
        "X-Service-Delivery": row["id"],
        "webhook-id": row["id"],
        "webhook-timestamp": "1800000000",
        "webhook-signature": expected_standard_signature(request, webhook.secret),
    }
    assert row["id"].startswith("whd_")


async def test_the_name_in_the_headers_and_of_the_sender_is_a_setting(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    worker = another_process(harness, service_name="Acme")
    (claimed,) = await worker.claim()
    await worker.deliver(claimed)

    (request,) = harness.receivers.requests
    assert request.headers["X-Acme-Signature"] == expected_signatures(request, webhook.secret, word="Acme")
    assert request.headers["User-Agent"] == "Acme/1.0 (+service@acme.example)"
    assert not any(name.lower().startswith("x-service") for name in request.headers)


async def test_every_address_gets_each_delivery_under_its_own_id_and_secret(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    other = await harness.webhooks.add(caller, "https://other.acme.example/")
    stranger, theirs = await harness.owner_with_webhook("stranger@other.example", "https://other.example/")
    await queue_change(harness, caller)
    assert await harness.deliver_due() == 2

    at_first, at_other = harness.receivers.at(HOST)[0], harness.receivers.at("other.acme.example")[0]
    assert at_first.headers["X-Service-Signature"] == expected_signatures(at_first, first.secret)
    assert at_other.headers["X-Service-Signature"] == expected_signatures(at_other, other.secret)
    assert at_first.headers["X-Service-Delivery"] != at_other.headers["X-Service-Delivery"]
    assert harness.receivers.at("other.example") == []
    await queue_change(harness, stranger, caller, batch="both")
    assert await harness.deliver_due() == 3
    (at_theirs,) = harness.receivers.at("other.example")
    assert at_theirs.headers["X-Service-Signature"] == expected_signatures(at_theirs, theirs.secret)
    assert b"stranger@other.example" in at_theirs.content
    assert EMAIL.encode() not in at_theirs.content


async def test_a_batch_is_one_delivery_however_often_it_is_put(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    for _ in range(3):
        await queue_change(harness, caller, due_in=60)
    harness.clock.move(60)
    assert await harness.deliver_due() == 1
    assert len(json.loads(harness.receivers.requests[0].content)["events"]) == 3


async def test_an_event_of_a_batch_that_was_sent_gets_a_delivery_of_its_own(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    assert await harness.deliver_due() == 1
    await queue_change(harness, caller, subject="another", due_in=900)
    assert await harness.deliver_due() == 1

    first, last = (json.loads(request.content) for request in harness.receivers.requests)
    assert first["id"] != last["id"]
    assert [event["subject"] for event in last["events"]] == ["another"]


async def test_while_secrets_overlap_both_sign_and_then_the_new_one_alone(harness: ServiceHarness) -> None:
    caller, old = await harness.owner_with_webhook()
    new = await harness.webhooks.rotate(caller, old.id)
    for batch, secrets in (("within", [new.secret, old.secret]), ("after", [new.secret])):
        await queue_change(harness, caller, batch=batch)
        await harness.deliver_due()
        request = harness.receivers.requests[-1]
        assert request.headers["X-Service-Signature"] == expected_signatures(request, *secrets)
        harness.clock.move(24 * 3600)


@pytest.mark.parametrize(
    ("answers", "attempts", "is_accepted", "status"),
    [
        ([200], 1, True, 200),
        ([302, 404, 202], 3, True, 202),
        ([httpcore2.ConnectError("refused"), httpcore2.ReadError("gone"), 200], 3, True, 200),
        ([500, 502, 503], 3, False, 503),
        ([400, 410, httpcore2.ReadError("gone")], 3, False, None),
    ],
)
async def test_there_are_up_to_three_attempts_with_pauses(
    harness: ServiceHarness, answers: list[int | Exception], attempts: int, is_accepted: bool, status: int | None
) -> None:
    caller, webhook = await harness.owner_with_webhook()
    harness.receivers.answers[HOST] = list(answers)
    await queue_change(harness, caller)
    began = harness.clock.now()
    await harness.deliver_due()

    requests, (row,) = harness.receivers.requests, await harness.rows(deliveries)
    assert len(requests) == attempts
    assert harness.clock.slept == [0.4, 0.8][: attempts - 1]
    assert len({request.content for request in requests}) == 1
    assert len({request.headers["X-Service-Delivery"] for request in requests}) == 1
    for request, pause in zip(requests, [0.0, 0.4, 1.2], strict=False):
        assert request.headers["X-Service-Timestamp"] == str(int(began + pause))
        assert request.headers["X-Service-Signature"] == expected_signatures(request, webhook.secret)
    assert (row["attempts"], bool(row["is_accepted"]), row["status"]) == (attempts, is_accepted, status)
    assert (row["error"] == "") is is_accepted
    assert (row["finished_at"], row["due_at"]) == (harness.now, None)

    seen = await harness.first_webhook(caller)
    assert (seen.last_at, seen.last_ok, seen.last_error) == (row["finished_at"], is_accepted, row["error"])
    assert await harness.deliver_due() == 0


async def test_without_a_secret_nothing_is_delivered(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="before")
    await clear_secret(harness, webhook)
    await queue_change(harness, caller, batch="after")
    await harness.deliver_due()
    result = await harness.webhooks.test(caller, None)

    assert harness.receivers.requests == []
    assert [row["batch"] for row in await harness.rows(deliveries) if row["type"] == "watch.changed"] == ["before"]
    assert (result.is_accepted, result.status) == (False, None)


async def test_a_test_is_signed_and_brings_no_events(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    other = await harness.webhooks.add(caller, "https://other.acme.example/")
    for webhook, webhook_id, host in ((first, None, HOST), (other, other.id, "other.acme.example")):
        result = await harness.webhooks.test(caller, webhook_id)
        (request,) = harness.receivers.at(host)
        assert (result.is_accepted, result.status, result.error) == (True, 200, "")
        assert json.loads(request.content) == {
            "id": result.delivery_id,
            "type": "watch.test",
            "created_at": "2027-01-15T08:00:00Z",
            "email": EMAIL,
            "events": [],
        }
        assert request.headers["X-Service-Event"] == "watch.test"
        assert request.headers["X-Service-Signature"] == expected_signatures(request, webhook.secret)
    assert await harness.deliver_due() == 0


async def test_a_test_that_is_not_accepted_says_why_and_is_remembered(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    harness.receivers.answers[HOST] = [500, 500, 418]
    result = await harness.webhooks.test(caller, None)
    seen = await harness.first_webhook(caller)

    assert (result.is_accepted, result.status, result.error) == (False, 418, "the receiver answered 418")
    assert (seen.last_ok, seen.last_error) == (False, result.error)


async def test_a_test_without_an_address_is_refused(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    await harness.webhooks.add(caller, WEBHOOK_URL)
    with pytest.raises(InvalidInput, match="No webhook address"):
        await harness.webhooks.test(caller, None)


async def test_the_log_shows_the_newest_50_deliveries(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    for number in range(52):
        await queue_change(harness, caller, batch=str(number))
        harness.clock.move(1)
    log = await harness.webhooks.log(caller, webhook.id)
    assert [delivery.batch for delivery in log] == [str(number) for number in range(51, 1, -1)]
    assert all(delivery.body is None and delivery.is_accepted is None for delivery in log)


async def test_a_delivery_is_sent_again_with_the_same_id_and_to_the_byte(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    harness.receivers.answers[HOST] = [500, 500, 500]
    await queue_change(harness, caller)
    await harness.deliver_due()
    harness.clock.move(3600)
    (delivery,) = await harness.webhooks.log(caller, webhook.id)
    await queue_change(harness, caller, batch="batch", subject="another")
    await harness.webhooks.send_again(caller, webhook.id, delivery.id)
    assert await harness.deliver_due() == 2

    first, *_, last = [each for each in harness.receivers.requests if b"another" not in each.content]
    assert last.content == first.content == (delivery.body or "").encode()
    assert last.headers["X-Service-Delivery"] == delivery.id
    assert last.headers["X-Service-Timestamp"] > first.headers["X-Service-Timestamp"]
    assert last.headers["X-Service-Signature"] == expected_signatures(last, webhook.secret)
    (again,) = [each for each in await harness.webhooks.log(caller, webhook.id) if each.id == delivery.id]
    assert (again.is_accepted, again.attempts, again.status, again.error) == (True, 4, 200, "")


@pytest.mark.parametrize("delivery_id", ["whd_unknown", "", "\x00", "'", "ü" * 1000])
async def test_what_was_not_delivered_to_a_webhook_cannot_be_sent_again(
    harness: ServiceHarness, delivery_id: str
) -> None:
    caller, webhook = await harness.owner_with_webhook()
    with pytest.raises(InvalidInput, match="no delivery with this id"):
        await harness.webhooks.send_again(caller, webhook.id, delivery_id)


async def test_what_has_not_ended_is_not_sent_again(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    (delivery,) = await harness.webhooks.log(caller, webhook.id)
    with pytest.raises(InvalidInput):
        await harness.webhooks.send_again(caller, webhook.id, delivery.id)
    await harness.deliveries.claim()
    with pytest.raises(InvalidInput):
        await harness.webhooks.send_again(caller, webhook.id, delivery.id)


async def test_an_address_that_is_removed_meanwhile_takes_its_deliveries_along(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="under way")
    await queue_change(harness, caller, batch="waiting", due_in=60)
    harness.receivers.delays[HOST] = asyncio.Event()
    (claimed,) = await harness.deliveries.claim()
    under_way = asyncio.create_task(harness.deliveries.deliver(claimed))
    await harness.receivers.wait_for(HOST)
    await harness.webhooks.remove(caller, webhook.id)
    harness.receivers.delays[HOST].set()
    await harness.deliveries.store([await under_way])

    assert await harness.rows(deliveries) == []
    harness.clock.move(LEASE_SECONDS * 2)
    assert await harness.deliver_due() == 0


async def test_an_address_that_is_changed_gets_what_was_waiting(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    await harness.webhooks.set_first(caller, "https://new.acme.example/")
    await harness.deliver_due()
    assert [request.headers["Host"] for request in harness.receivers.requests] == ["new.acme.example"]


async def test_what_ended_long_ago_is_forgotten_and_what_waits_is_not(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="ended")
    await harness.deliver_due()
    await harness.webhooks.test(caller, None)
    await queue_change(harness, caller, batch="waiting", due_in=7200)
    harness.clock.move(3600)
    assert await harness.deliveries.forget(3601) == 0
    assert await harness.deliveries.forget(3599) == 2
    assert [row["batch"] for row in await harness.rows(deliveries)] == ["waiting"]
    assert webhook.id == (await harness.first_webhook(caller)).id


async def test_a_test_whose_end_was_never_stored_is_forgotten_too(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    harness.receivers.delays[HOST] = asyncio.Event()
    test = asyncio.create_task(harness.webhooks.test(caller, None))
    await harness.receivers.wait_for(HOST)
    test.cancel()
    await asyncio.gather(test, return_exceptions=True)
    assert len(await harness.rows(deliveries)) == 1
    harness.clock.move(3600)
    assert await harness.deliveries.forget(60) == 1


async def test_how_much_waits_and_since_when_is_known(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    assert await harness.deliveries.waiting() == (0, None)
    now = harness.now
    await queue_change(harness, caller, batch="now")
    await queue_change(harness, caller, batch="later", due_in=60)
    assert await harness.deliveries.waiting() == (2, now)
    await harness.deliver_due()
    assert await harness.deliveries.waiting() == (1, now + 60)
    assert harness.deliveries.results == {"accepted": 1, "failed": 0}


async def test_ends_are_stored_all_or_none(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await harness.webhooks.add(caller, "https://other.acme.example/")
    await queue_change(harness, caller)
    ended = [await harness.deliveries.deliver(each) for each in await harness.deliveries.claim()]
    broken = replace(ended[1], attempts=object())  # type: ignore[arg-type]
    with pytest.raises(Exception, match="object"):
        await harness.deliveries.store([ended[0], broken])
    assert [row["finished_at"] for row in await harness.rows(deliveries)] == [None, None]
    assert harness.deliveries.results == {"accepted": 0, "failed": 0}
