"""Watches, the audit trail and deliveries page by page; without parameters these lists are as they always were."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.watches import service
from tests.mcp.messages import using
from tests.register.builders import a_udi
from tests.support.harness import ERROR_FIELDS, WEBHOOK_URL, NewAccount, ServiceHarness, auth_headers


async def get(harness: ServiceHarness, owner: NewAccount, path: str) -> dict[str, Any]:
    answer = await harness.client.get(path, headers=auth_headers(owner.api_key))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def pages(harness: ServiceHarness, owner: NewAccount, path: str, name: str) -> AsyncIterator[list[Any]]:
    """The ids on every page of a list, from where `path` begins."""
    address, more = path, True
    while more:
        answer = await get(harness, owner, address)
        assert set(answer) == {name, "next", "more"}
        yield [row["id"] for row in answer[name]]
        address, more = f"{path.partition('&after')[0]}&after={answer['next']}", answer["more"]


async def test_watches_come_page_by_page_and_whole_without_parameters(
    harness: ServiceHarness, owner: NewAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.post("/v1/import", owner.api_key, csv="\n".join(a_udi(number) for number in range(23)))
    whole = await get(harness, owner, "/v1/watches")
    monkeypatch.setattr(service, "MAX_QUICK", 22)
    assert await get(harness, owner, "/v1/watches") == whole, "many are read in another way"
    seen: list[int] = []
    async for ids in pages(harness, owner, "/v1/watches?limit=10", "watches"):
        assert 0 < len(ids) <= 10
        if not seen:
            await harness.client.delete(f"/v1/watches/{ids[0]}", headers=auth_headers(owner.api_key))
            await harness.post("/v1/import", owner.api_key, csv=a_udi(99))
        seen += ids

    assert set(whole) == {"watches"}
    assert seen[:23] == [watch["id"] for watch in whole["watches"]]
    assert len(seen) == len(set(seen)) == 24, "one was removed after it was listed, and one came meanwhile"


async def test_the_tool_lists_the_same_pages_of_watches(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post("/v1/import", owner.api_key, csv="\n".join(a_udi(number) for number in range(3)))
    expected = await get(harness, owner, "/v1/watches?limit=2")

    answer = await harness.client.post(
        "/mcp", json=using("list_watches", {"limit": 2}), headers=auth_headers(owner.api_key)
    )

    assert expected["more"]
    assert f'"next":{expected["next"]},"more":true' in answer.json()["result"]["content"][0]["text"]


async def test_the_audit_trail_comes_page_by_page_oldest_first(harness: ServiceHarness, owner: NewAccount) -> None:
    for _ in range(7):
        await harness.sign_in(owner.email)
    plain = await get(harness, owner, "/v1/audit")
    seen: list[int] = []
    async for ids in pages(harness, owner, "/v1/audit?limit=3&after=0", "entries"):
        if not seen:
            await harness.sign_in(owner.email)
        seen += ids

    assert set(plain) == {"entries"}
    assert seen[:8] == [entry["id"] for entry in reversed(plain["entries"])]
    assert len(seen) == len(set(seen)) == 9
    newest = await get(harness, owner, "/v1/audit?limit=2")
    assert [entry["id"] for entry in newest["entries"]] == seen[:-3:-1]
    assert newest["more"]


async def test_a_line_of_the_audit_trail_that_is_committed_later_is_not_passed_over(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    """Ending a feed waits for a transaction that wrote a line before, as everything that writes one does."""
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    caller = await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    async with harness.database.transaction() as connection:
        await account_repository.locked(connection, caller)
        await account_repository.note(
            connection, caller.account.id, now=harness.now, actor="operator", action=Action.PLAN_CHANGED
        )
        ending = asyncio.create_task(harness.service.feeds.end(caller, feed["id"]))
        await _ended_or_waits(ending, harness)
        read = await get(harness, owner, "/v1/audit?after=0")
    await ending

    later = await get(harness, owner, f"/v1/audit?after={read['next']}")

    actions = [entry["action"] for entry in read["entries"] + later["entries"]]
    assert actions == ["account opened", "feed made", "plan changed", "feed ended"]


async def _ended_or_waits(task: asyncio.Task[None], harness: ServiceHarness) -> None:
    """Return when the transaction of a task has ended, or waits for another one. SQLite has one at a time."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(30), harness.database.reading() as connection:
        while harness.database.kind == "postgresql" and not task.done():
            if (await connection.execute(waiting)).scalar_one():
                return


async def test_deliveries_come_page_by_page_newest_first(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    [webhook] = (await get(harness, owner, "/v1/webhooks"))["webhooks"]
    path = f"/v1/webhooks/{webhook['id']}/deliveries"
    for number in range(7):
        await harness.post("/v1/webhook/test", owner.api_key)
        harness.clock.move(number % 2)  # some of them have the same time
    plain = await get(harness, owner, path)
    seen: list[str] = []
    async for ids in pages(harness, owner, f"{path}?limit=3", "deliveries"):
        if not seen:
            harness.clock.move(60)
            await harness.post("/v1/webhook/test", owner.api_key)
        seen += ids

    assert set(plain) == {"deliveries"}
    assert seen == [each["id"] for each in plain["deliveries"]]
    end = await get(harness, owner, f"{path}?limit=3&after={seen[-1]}")
    assert end == {"deliveries": [], "next": seen[-1], "more": False}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=7.0", "after=-1", "after=99999999999999999999", "page=2"]
)
@pytest.mark.parametrize("path", ["/v1/watches", "/v1/audit"])
async def test_what_is_no_parameter_or_no_value_of_one_is_refused(
    harness: ServiceHarness, owner: NewAccount, path: str, query: str
) -> None:
    answer = await harness.client.get(f"{path}?{query}", headers=auth_headers(owner.api_key))

    assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS)


async def test_a_delivery_that_is_not_there_is_no_place_to_go_on_from(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    [webhook] = (await get(harness, owner, "/v1/webhooks"))["webhooks"]

    for query in ("after=whd_nobodys", "after=%00", "after=", "limit=0", "limit=1001", "page=2"):
        answer = await harness.client.get(
            f"/v1/webhooks/{webhook['id']}/deliveries?{query}", headers=auth_headers(owner.api_key)
        )
        assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS), query
