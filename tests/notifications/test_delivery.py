"""What a delivery holds, how often it is tried, what is remembered of it, and sending it again."""

import asyncio
import json
from dataclasses import replace

import httpcore2
import pytest

from registerwatch.errors import InvalidInput
from registerwatch.notifications.delivery import LEASE_SECONDS
from tests.accounts.acting import EMAIL
from tests.notifications.post_room import URL, PostRoom, signatures

pytestmark = pytest.mark.anyio

HOST = "hooks.acme.example"


async def test_a_change_arrives_with_the_contracts_body_and_headers(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller, number=2)
    assert await room.deliver() == 1

    (request,) = room.receivers.requests
    (row,) = await room.rows()
    events = await room.events()
    assert (request.method, request.url) == ("POST", URL)
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
            for event in events
        ],
    }
    assert request.headers == {
        "Content-Type": "application/json",
        "Content-Length": str(len(request.content)),
        "Host": HOST,
        "User-Agent": "Registerwatch/1.0 (+service@acme.example)",
        "X-Service-Timestamp": "1800000000",
        "X-Service-Signature": signatures(request, webhook.secret),
        "X-Service-Event": "watch.changed",
        "X-Service-Delivery": row["id"],
    }
    assert row["id"].startswith("whd_")


async def test_the_word_in_the_headers_is_a_setting(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller)
    worker = room.another_worker(service_name="Acme")
    (claimed,) = await worker.claim()
    await worker.deliver(claimed)

    (request,) = room.receivers.requests
    assert request.headers["X-Acme-Signature"] == signatures(request, webhook.secret, word="Acme")
    assert not any(name.startswith("x-service") for name in request.headers)


async def test_every_address_gets_each_delivery_under_its_own_id_and_secret(room: PostRoom) -> None:
    caller, first = await room.with_first()
    other = await room.webhook_service.add(caller, "https://other.acme.example/")
    stranger, theirs = await room.with_first("stranger@other.example", "https://other.example/")
    await room.change(caller)
    assert await room.deliver() == 2

    at_first, at_other = room.receivers.at(HOST)[0], room.receivers.at("other.acme.example")[0]
    assert at_first.headers["X-Service-Signature"] == signatures(at_first, first.secret)
    assert at_other.headers["X-Service-Signature"] == signatures(at_other, other.secret)
    assert at_first.headers["X-Service-Delivery"] != at_other.headers["X-Service-Delivery"]
    assert room.receivers.at("other.example") == []
    await room.change(stranger, caller, batch="both")
    assert await room.deliver() == 3
    (at_theirs,) = room.receivers.at("other.example")
    assert at_theirs.headers["X-Service-Signature"] == signatures(at_theirs, theirs.secret)
    assert b"stranger@other.example" in at_theirs.content
    assert EMAIL.encode() not in at_theirs.content


async def test_a_batch_is_one_delivery_however_often_it_is_put(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    for _ in range(3):
        await room.change(caller, due_in=60)
    room.clock.move(60)
    assert await room.deliver() == 1
    assert len(json.loads(room.receivers.requests[0].content)["events"]) == 3


async def test_while_secrets_overlap_both_sign_and_then_the_new_one_alone(room: PostRoom) -> None:
    caller, old = await room.with_first()
    new = await room.webhook_service.rotate(caller, old.id)
    for batch, secrets in (("within", [new.secret, old.secret]), ("after", [new.secret])):
        await room.change(caller, batch=batch)
        await room.deliver()
        request = room.receivers.requests[-1]
        assert request.headers["X-Service-Signature"] == signatures(request, *secrets)
        room.clock.move(24 * 3600)


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
    room: PostRoom, answers: list[int | Exception], attempts: int, is_accepted: bool, status: int | None
) -> None:
    caller, webhook = await room.with_first()
    room.receivers.answers[HOST] = list(answers)
    await room.change(caller)
    began = room.clock.now()
    await room.deliver()

    requests, (row,) = room.receivers.requests, await room.rows()
    assert len(requests) == attempts
    assert room.clock.slept == [0.4, 0.8][: attempts - 1]
    assert len({request.content for request in requests}) == 1
    assert len({request.headers["X-Service-Delivery"] for request in requests}) == 1
    for request, pause in zip(requests, [0.0, 0.4, 1.2], strict=False):
        assert request.headers["X-Service-Timestamp"] == str(int(began + pause))
        assert request.headers["X-Service-Signature"] == signatures(request, webhook.secret)
    assert (row["attempts"], bool(row["is_accepted"]), row["status"]) == (attempts, is_accepted, status)
    assert (row["error"] == "") is is_accepted
    assert (row["finished_at"], row["due_at"]) == (int(room.clock.now()), None)

    seen = await room.first(caller)
    assert (seen.last_at, seen.last_ok, seen.last_error) == (row["finished_at"], is_accepted, row["error"])
    assert await room.deliver() == 0


async def test_without_a_secret_nothing_is_delivered(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller, batch="before")
    await room.forget_secret(webhook)
    await room.change(caller, batch="after")
    await room.deliver()
    result = await room.webhook_service.test(caller, None)

    assert room.receivers.requests == []
    assert [row["batch"] for row in await room.rows() if row["type"] == "watch.changed"] == ["before"]
    assert (result.is_accepted, result.status) == (False, None)


async def test_a_test_is_signed_and_brings_no_events(room: PostRoom) -> None:
    caller, first = await room.with_first()
    other = await room.webhook_service.add(caller, "https://other.acme.example/")
    for webhook, webhook_id, host in ((first, None, HOST), (other, other.id, "other.acme.example")):
        result = await room.webhook_service.test(caller, webhook_id)
        (request,) = room.receivers.at(host)
        assert (result.is_accepted, result.status, result.error) == (True, 200, "")
        assert json.loads(request.content) == {
            "id": result.delivery_id,
            "type": "watch.test",
            "created_at": "2027-01-15T08:00:00Z",
            "email": EMAIL,
            "events": [],
        }
        assert request.headers["X-Service-Event"] == "watch.test"
        assert request.headers["X-Service-Signature"] == signatures(request, webhook.secret)
    assert await room.deliver() == 0


async def test_a_test_that_is_not_accepted_says_why_and_is_remembered(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    room.receivers.answers[HOST] = [500, 500, 418]
    result = await room.webhook_service.test(caller, None)
    seen = await room.first(caller)

    assert (result.is_accepted, result.status, result.error) == (False, 418, "the receiver answered 418")
    assert (seen.last_ok, seen.last_error) == (False, result.error)


async def test_a_test_without_an_address_is_refused(room: PostRoom) -> None:
    caller = await room.owner()
    await room.webhook_service.add(caller, URL)
    with pytest.raises(InvalidInput, match="No webhook address"):
        await room.webhook_service.test(caller, None)


async def test_the_log_shows_the_newest_50_deliveries(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    for number in range(52):
        await room.change(caller, batch=str(number))
        room.clock.move(1)
    log = await room.webhook_service.log(caller, webhook.id)
    assert [delivery.batch for delivery in log] == [str(number) for number in range(51, 1, -1)]
    assert all(delivery.body is None and delivery.is_accepted is None for delivery in log)


async def test_a_delivery_is_sent_again_with_the_same_id_and_to_the_byte(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    room.receivers.answers[HOST] = [500, 500, 500]
    await room.change(caller)
    await room.deliver()
    room.clock.move(3600)
    (delivery,) = await room.webhook_service.log(caller, webhook.id)
    await room.change(caller, batch="batch", subject="another")
    await room.webhook_service.send_again(caller, webhook.id, delivery.id)
    assert await room.deliver() == 1

    first, last = room.receivers.requests[0], room.receivers.requests[-1]
    assert last.content == first.content == (delivery.body or "").encode()
    assert last.headers["X-Service-Delivery"] == delivery.id
    assert last.headers["X-Service-Timestamp"] > first.headers["X-Service-Timestamp"]
    assert last.headers["X-Service-Signature"] == signatures(last, webhook.secret)
    (again,) = await room.webhook_service.log(caller, webhook.id)
    assert (again.is_accepted, again.attempts, again.status, again.error) == (True, 4, 200, "")


@pytest.mark.parametrize("delivery_id", ["whd_unknown", "", "\x00", "'", "ü" * 1000])
async def test_what_was_not_delivered_to_a_webhook_cannot_be_sent_again(room: PostRoom, delivery_id: str) -> None:
    caller, webhook = await room.with_first()
    with pytest.raises(InvalidInput, match="no delivery with this id"):
        await room.webhook_service.send_again(caller, webhook.id, delivery_id)


async def test_what_has_not_ended_is_not_sent_again(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller)
    (delivery,) = await room.webhook_service.log(caller, webhook.id)
    with pytest.raises(InvalidInput):
        await room.webhook_service.send_again(caller, webhook.id, delivery.id)
    await room.deliveries.claim()
    with pytest.raises(InvalidInput):
        await room.webhook_service.send_again(caller, webhook.id, delivery.id)


async def test_an_address_that_is_removed_meanwhile_takes_its_deliveries_along(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller, batch="under way")
    await room.change(caller, batch="waiting", due_in=60)
    room.receivers.asleep[HOST] = asyncio.Event()
    (claimed,) = await room.deliveries.claim()
    under_way = asyncio.create_task(room.deliveries.deliver(claimed))
    await room.receivers.wait_for(HOST)
    await room.webhook_service.remove(caller, webhook.id)
    room.receivers.asleep[HOST].set()
    await room.deliveries.store([await under_way])

    assert await room.rows() == []
    room.clock.move(LEASE_SECONDS * 2)
    assert await room.deliver() == 0


async def test_an_address_that_is_changed_gets_what_was_waiting(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller)
    await room.webhook_service.set_first(caller, "https://new.acme.example/")
    await room.deliver()
    assert [request.headers["Host"] for request in room.receivers.requests] == ["new.acme.example"]


async def test_what_ended_long_ago_is_forgotten_and_what_waits_is_not(room: PostRoom) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller, batch="ended")
    await room.deliver()
    await room.webhook_service.test(caller, None)
    await room.change(caller, batch="waiting", due_in=7200)
    room.clock.move(3600)
    assert await room.deliveries.forget(3601) == 0
    assert await room.deliveries.forget(3599) == 2
    assert [row["batch"] for row in await room.rows()] == ["waiting"]
    assert webhook.id == (await room.first(caller)).id


async def test_a_test_whose_end_was_never_stored_is_forgotten_too(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    room.receivers.asleep[HOST] = asyncio.Event()
    test = asyncio.create_task(room.webhook_service.test(caller, None))
    await room.receivers.wait_for(HOST)
    test.cancel()
    await asyncio.gather(test, return_exceptions=True)
    assert len(await room.rows()) == 1
    room.clock.move(3600)
    assert await room.deliveries.forget(60) == 1


async def test_how_much_waits_and_since_when_is_known(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    assert await room.deliveries.waiting() == (0, None)
    now = int(room.clock.now())
    await room.change(caller, batch="now")
    await room.change(caller, batch="later", due_in=60)
    assert await room.deliveries.waiting() == (2, now)
    await room.deliver()
    assert await room.deliveries.waiting() == (1, now + 60)
    assert room.deliveries.results == {"accepted": 1, "failed": 0}


async def test_ends_are_stored_all_or_none(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.webhook_service.add(caller, "https://other.acme.example/")
    await room.change(caller)
    ended = [await room.deliveries.deliver(each) for each in await room.deliveries.claim()]
    broken = replace(ended[1], attempts=object())  # type: ignore[arg-type]
    with pytest.raises(Exception, match="object"):
        await room.deliveries.store([ended[0], broken])
    assert [row["finished_at"] for row in await room.rows()] == [None, None]
    assert room.deliveries.results == {"accepted": 0, "failed": 0}
