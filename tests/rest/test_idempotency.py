"""`Idempotency-Key`: a POST that is sent again makes nothing again."""

import asyncio
import hmac
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import httpx2
import pytest
from sqlalchemy import insert

from registerwatch.accounts.limits.idempotency import (
    ABANDONED_SECONDS,
    KEPT_SECONDS,
    MAX_KEPT_LENGTH,
    MAX_REQUESTS,
    RequestQuota,
)
from registerwatch.accounts.tables import api_keys, idempotent_requests
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import NewAccount, ServiceHarness, auth_headers

HOOK = {"url": "https://hooks.acme.example/"}
KEY = "0b9f1f0e-5c5f-4d7e-9a39-2f6a5f1f7c11"


async def post(
    harness: ServiceHarness, path: str, credential: str, body: dict[str, Any] | None = None, key: str = KEY
) -> httpx2.Response:
    """The answer to a POST with a key."""
    headers = {**auth_headers(credential), "Idempotency-Key": key}
    return await harness.client.post(path, json=body or {}, headers=headers)


async def test_a_request_that_is_sent_again_gets_the_first_answer_and_makes_nothing(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    fields = {"channel": "webhook", **HOOK}
    first, again, other = [
        await post(harness, "/v1/channels", owner.api_key, fields, key) for key in (KEY, KEY, "another")
    ]

    assert first.status_code == again.status_code == other.status_code == 200
    assert first.json() == again.json() != other.json()
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    assert len(await harness.get_list(owner.api_key, "webhooks")) == 2


async def test_a_lost_answer_of_a_sync_can_be_asked_for_again(harness: ServiceHarness, owner: NewAccount) -> None:
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(60)
    first, again, later = [await post(harness, "/v1/sync", owner.api_key, key=key) for key in (KEY, KEY, "another")]

    assert first.json()["events"]
    assert again.json() == first.json()
    assert later.json()["events"] == []


async def test_a_key_that_is_told_once_is_neither_made_again_nor_kept(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    first, again = [await post(harness, "/v1/keys", owner.api_key, {"label": "ERP"}) for _ in range(2)]

    assert (first.status_code, again.status_code, again.json()["code"]) == (200, 409, "idempotency-conflict")
    assert first.json()["api_key"] not in str(await harness.rows(idempotent_requests))
    assert len((await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).json()["keys"]) == 2


async def test_what_is_remembered_of_a_request_does_not_help_to_guess_its_password(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    address, body = b"POST /v1/password?", b'{"password": "a guess of eight"}'
    headers = {**auth_headers(owner.api_key), "Idempotency-Key": KEY, "Content-Type": "application/json"}
    answers = [await harness.client.post("/v1/password", content=body, headers=headers) for _ in range(2)]
    [remembered] = await harness.rows(idempotent_requests)
    [key] = await harness.rows(api_keys)

    joined = b"".join(b"%d:%b" % (len(part), part) for part in (address, body))
    stored = [key["digest"].encode(), remembered["digest"].encode()]
    guesses = [sha256(joined).hexdigest(), *(hmac.new(each, joined, sha256).hexdigest() for each in stored)]
    assert [each.headers.get("idempotent-replayed") for each in answers] == [None, "true"]
    assert remembered["fingerprint"] not in guesses


async def test_the_answers_that_an_account_has_kept_are_bounded_and_the_newest_stay(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    fields = {"csv": "\n".join("é" * 150 + str(number) for number in range(500)), "dry_run": True}
    answers = []
    for number in range(20):
        answers.append(await post(harness, "/v1/import", owner.api_key, fields, f"{number}"))
        harness.clock.move(1)
    kept = [row["body"] for row in await harness.rows(idempotent_requests) if row["body"] is not None]
    first, last = [await post(harness, "/v1/import", owner.api_key, fields, key) for key in ("0", "19")]

    assert sum(len(answer.text) for answer in answers) > MAX_KEPT_LENGTH >= sum(len(body) for body in kept)
    assert (first.status_code, first.json()["code"]) == (409, "idempotency-conflict")
    assert (last.text, last.headers["idempotent-replayed"]) == (answers[-1].text, "true")


async def fill(harness: ServiceHarness, quota: RequestQuota, number: int) -> None:
    """Let the first account have sent so many requests with a key today."""
    row = {"account_id": 1, "fingerprint": "", "started_at": int(harness.clock.now()), "places": quota}
    async with harness.database.transaction() as connection:
        await connection.execute(
            insert(idempotent_requests), [{"digest": f"{quota} {each}", **row} for each in range(number)]
        )


async def test_who_may_not_manage_takes_no_places_of_those_who_may_or_of_forms(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    made = await harness.post("/v1/keys", owner.api_key, scope="watch")
    [device] = harness.unique_devices(1)
    pages = PagesClient(harness)
    await pages.sign_in()
    await fill(harness, RequestQuota.OTHERS, MAX_REQUESTS)

    taken = await post(harness, "/v1/watches", made.json()["api_key"], {"subject": device.primary_di})
    managing = [await post(harness, "/v1/webhooks", each, HOOK) for each in (owner.api_key, owner.session)]
    form = await pages.post("/app/webhooks", url="https://other.acme.example/", form="its own token")

    assert (taken.status_code, taken.json()["code"]) == (429, "rate-limited")
    assert [each.status_code for each in managing] == [200, 200]
    assert form.headers["location"].startswith("/app/webhooks/")


async def test_answers_of_those_who_may_not_manage_drop_none_of_those_who_may(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    key = (await harness.post("/v1/keys", owner.api_key, scope="watch")).json()["api_key"]
    first = await post(harness, "/v1/webhooks", owner.api_key, HOOK)
    fields = {"csv": "\n".join("é" * 150 + str(number) for number in range(500)), "dry_run": True}
    for number in range(20):
        harness.clock.move(1)
        await post(harness, "/v1/import", key, fields, f"{number}")
    again = await post(harness, "/v1/webhooks", owner.api_key, HOOK)

    assert (again.text, again.headers["idempotent-replayed"]) == (first.text, "true")


async def test_an_account_sends_a_bounded_number_of_requests_with_a_key_in_a_day(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await fill(harness, RequestQuota.MANAGERS, MAX_REQUESTS - 1)
    last, one_more, again = [await post(harness, "/v1/webhooks", owner.api_key, HOOK, key) for key in ("a", "b", "a")]
    without = await harness.post("/v1/webhooks", owner.api_key, **HOOK)
    harness.clock.move(KEPT_SECONDS)
    next_day = await post(harness, "/v1/webhooks", owner.api_key, HOOK, "b")

    assert [each.status_code for each in (last, one_more, again, without, next_day)] == [200, 429, 200, 200, 200]
    assert again.json() == last.json()


async def test_a_key_of_another_request_is_refused(harness: ServiceHarness, owner: NewAccount) -> None:
    await post(harness, "/v1/webhooks", owner.api_key, {"url": "https://hooks.acme.example/"})
    answers = [
        await post(harness, "/v1/webhooks", owner.api_key, {"url": "https://other.acme.example/"}),
        await post(harness, "/v1/feeds", owner.api_key),
    ]

    assert [answer.status_code for answer in answers] == [409, 409]
    assert len(await harness.get_list(owner.api_key, "webhooks")) == 1


async def test_keys_of_two_accounts_have_nothing_to_do_with_each_other(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    stranger = await harness.sign_up("stranger@other.example")
    fields = {"url": "https://hooks.acme.example/"}
    mine, theirs = [await post(harness, "/v1/webhooks", each.api_key, fields) for each in (owner, stranger)]

    assert mine.json()["webhook"]["secret"] != theirs.json()["webhook"]["secret"]
    assert "idempotent-replayed" not in theirs.headers


async def test_a_request_that_failed_can_be_sent_again(harness: ServiceHarness, owner: NewAccount) -> None:
    bad = await post(harness, "/v1/webhooks", owner.api_key, {"url": "http://localhost/"})
    with patch.object(harness.webhooks, "add", side_effect=ZeroDivisionError):
        broken = await post(harness, "/v1/webhooks", owner.api_key, {"url": "https://hooks.acme.example/"})
    good = await post(harness, "/v1/webhooks", owner.api_key, {"url": "https://hooks.acme.example/"})

    assert (bad.status_code, broken.status_code, good.status_code) == (400, 500, 200)


async def test_of_two_at_once_one_is_carried_out(harness: ServiceHarness, owner: NewAccount) -> None:
    fields = {"url": "https://hooks.acme.example/"}
    answers = await asyncio.gather(*(post(harness, "/v1/webhooks", owner.api_key, fields) for _ in range(5)))

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.text for answer in answers if answer.status_code == 200}) == 1
    assert len(await harness.get_list(owner.api_key, "webhooks")) == 1


async def test_a_request_that_was_broken_off_is_carried_out_after_a_while(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    store = harness.service.accounts.idempotency
    fields = {"url": "https://hooks.acme.example/"}
    with patch.object(store, "end"):
        await post(harness, "/v1/webhooks", owner.api_key, fields)
    soon = await post(harness, "/v1/webhooks", owner.api_key, fields)
    harness.clock.move(ABANDONED_SECONDS)
    later = await post(harness, "/v1/webhooks", owner.api_key, fields)

    assert (soon.status_code, later.status_code) == (409, 200)


async def test_answers_are_forgotten_after_a_day(harness: ServiceHarness, owner: NewAccount) -> None:
    fields = {"url": "https://hooks.acme.example/"}
    await post(harness, "/v1/webhooks", owner.api_key, fields)
    harness.clock.move(KEPT_SECONDS + 1)
    await harness.service.accounts.pruner.prune()

    assert await harness.rows(idempotent_requests) == []
    assert "idempotent-replayed" not in (await post(harness, "/v1/webhooks", owner.api_key, fields)).headers


@pytest.mark.parametrize("key", ["", "a" * 256, "two words"])
async def test_a_key_that_is_none_is_refused(harness: ServiceHarness, owner: NewAccount, key: str) -> None:
    assert (await post(harness, "/v1/feeds", owner.api_key, key=key)).status_code == 400


async def test_who_has_no_credential_is_refused_and_leaves_nothing(harness: ServiceHarness) -> None:
    assert (await post(harness, "/v1/feeds", "rw_nobody")).status_code == 401
    assert await harness.rows(idempotent_requests) == []
