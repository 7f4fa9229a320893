"""The audit trail: all of it can be read, little is written for what changes nothing or is done again and again."""

from typing import Any

import pytest

from registerwatch.accounts.audit.audit import MAX_LINES_A_DAY, MAX_SUBJECT_LENGTH
from tests.support.harness import (
    EMAIL,
    ERROR_FIELDS,
    PASSWORD,
    WEBHOOK_URL,
    NewAccount,
    ServiceHarness,
    ServiceStarter,
    auth_headers,
)

DAY = 24 * 3600


async def audit(harness: ServiceHarness, owner: NewAccount, query: str = "") -> dict[str, Any]:
    answer = await harness.client.get(f"/v1/audit{query}", headers=auth_headers(owner.api_key))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def save_webhooks(harness: ServiceHarness, owner: NewAccount, number: int) -> None:
    """Save one address after the other."""
    for each in range(number):
        answer = await harness.post("/v1/webhook", owner.api_key, url=f"{WEBHOOK_URL}/{each}")
        assert answer.status_code == 200


def said(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(entry["action"], entry["subject"]) for entry in entries]


async def test_a_webhook_that_is_saved_again_as_it_is_leaves_one_line(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    for _ in range(101):
        assert (await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)).status_code == 200

    entries = (await audit(harness, owner))["entries"]

    assert said(entries) == [("webhook changed", WEBHOOK_URL), ("account opened", "")]


async def test_whatever_is_written_later_everything_before_can_be_read(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await harness.post("/v1/keys", owner.api_key, label="of an intruder")
    await save_webhooks(harness, owner, 120)

    seen, query = list[dict[str, Any]](), "?limit=40"
    while query:
        page = await audit(harness, owner, query)
        seen += page["entries"]
        query = f"?limit=40&before={page['before']}" if page["more"] else ""

    ids = [entry["id"] for entry in seen]
    assert ids == sorted(set(ids), reverse=True)
    assert [action for action, _ in said(seen)][-2:] == ["key created", "account opened"]
    assert [entry["id"] for entry in (await audit(harness, owner, "?after=0&limit=1000"))["entries"]] == ids[::-1]
    assert set(await audit(harness, owner, f"?before={ids[-1]}")) == {"entries", "more"}


async def test_what_is_done_again_and_again_is_counted_in_one_line_a_day(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await save_webhooks(harness, owner, MAX_LINES_A_DAY + 37)
    last = f"{WEBHOOK_URL}/{MAX_LINES_A_DAY + 36}"

    entries = (await audit(harness, owner, "?limit=1000"))["entries"]

    assert len(entries) == MAX_LINES_A_DAY + 2
    assert (entries[0]["subject"], entries[0]["repeated"]) == (last, 37)
    assert "last_at" in entries[0]
    assert not any("repeated" in entry for entry in entries[1:])
    harness.clock.move(DAY)
    await save_webhooks(harness, owner, 1)
    assert said((await audit(harness, owner, "?limit=1"))["entries"]) == [("webhook changed", f"{WEBHOOK_URL}/0")]


async def test_lines_of_one_actor_hide_nothing_of_another(harness: ServiceHarness, owner: NewAccount) -> None:
    await save_webhooks(harness, owner, MAX_LINES_A_DAY + 5)

    await harness.post("/v1/webhook", owner.session, url="https://other.example/")

    first = (await audit(harness, owner, "?limit=1"))["entries"][0]
    assert (first["actor"], first["subject"]) == (EMAIL, "https://other.example/")
    assert "repeated" not in first


async def test_passwords_keys_and_users_have_a_line_each_time(harness: ServiceHarness, owner: NewAccount) -> None:
    for number in range(MAX_LINES_A_DAY + 5):
        assert (await harness.post("/v1/password", owner.api_key, password=f"{PASSWORD} {number}")).status_code == 200

    entries = (await audit(harness, owner, "?limit=1000"))["entries"]

    assert [entry["action"] for entry in entries].count("password changed") == MAX_LINES_A_DAY + 5


async def test_keys_of_an_account_change_passwords_keys_and_users_so_often_a_day(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        answers = []
        for number in range(510):
            answers.append((await harness.post("/v1/keys", owner.api_key)).status_code)
            harness.clock.move(1 if number % 200 else 60)

    assert (answers.count(429), answers[-1]) == (10, 429)


async def test_a_line_has_a_bound(harness: ServiceHarness, owner: NewAccount) -> None:
    url = f"{WEBHOOK_URL}/{'x' * 1_500}"
    assert (await harness.post("/v1/webhook", owner.api_key, url=url)).status_code == 200

    [entry] = (await audit(harness, owner, "?limit=1"))["entries"]

    assert entry["subject"] == f"{url[: MAX_SUBJECT_LENGTH - 1]}…"


@pytest.mark.parametrize("query", ["?before=-1", "?before=x", "?before=99999999999999999999", "?after=1&before=2"])
async def test_a_place_that_is_none_is_refused(harness: ServiceHarness, owner: NewAccount, query: str) -> None:
    answer = await harness.client.get(f"/v1/audit{query}", headers=auth_headers(owner.api_key))

    assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS)
