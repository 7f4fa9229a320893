"""Events page by page: every event once, in order, whatever is written meanwhile."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.platform.db.engine import Database
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from tests.mcp.messages import using
from tests.support.harness import ERROR_FIELDS, NewAccount, ServiceHarness, auth_headers

SUBJECT, OTHER = "04099999999992", "04099999999985"
WITHDRAWN = FieldChange("cert_status", "Issued", "Withdrawn", "Z-1")
MOVED = FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")
RENAMED = FieldChange("reference", "R-1", "R-2")


async def new_events(
    harness: ServiceHarness, owner: NewAccount, *changes: FieldChange, subject: str = SUBJECT
) -> list[NewEvent]:
    """One event of the account for each change, not stored yet."""
    caller = await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    return [NewEvent(caller.account.id, 1, subject, "Label", "a: b → c", [each], False) for each in changes]


async def store(harness: ServiceHarness, new: Sequence[NewEvent]) -> None:
    """Store events in a transaction of their own."""
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, new, harness.now)


async def get(harness: ServiceHarness, owner: NewAccount, query: str = "") -> httpx2.Response:
    return await harness.client.get(f"/v1/events{query}", headers=auth_headers(owner.api_key))


async def page(harness: ServiceHarness, owner: NewAccount, query: str) -> dict[str, Any]:
    answer = await get(harness, owner, query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert set(found) == {"events", "next", "more"}
    return found


def ids(answer: dict[str, Any]) -> list[int]:
    return [each["id"] for each in answer["events"]]


async def test_every_event_is_listed_once_and_oldest_first_also_those_that_come_meanwhile(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await store(harness, await new_events(harness, owner, *[RENAMED] * 250))
    seen: list[int] = []
    place, pages, more = 0, 0, True
    while more:
        answer = await page(harness, owner, f"?after={place}&limit=100")
        seen += ids(answer)
        place, more, pages = answer["next"], answer["more"], pages + 1
        if pages < 3:
            await store(harness, await new_events(harness, owner, *[RENAMED] * 10))

    assert pages == 3
    assert len(seen) == len(set(seen)) == 270
    assert seen == sorted(seen)
    await store(harness, await new_events(harness, owner, WITHDRAWN))
    [late] = (await page(harness, owner, f"?after={place}"))["events"]
    assert late["changes"][0]["new"] == "Withdrawn"
    nothing = await page(harness, owner, f"?after={late['id']}")
    assert nothing == {"events": [], "next": late["id"], "more": False}


async def test_an_event_that_is_committed_later_is_not_passed_over(harness: ServiceHarness, owner: NewAccount) -> None:
    """Two transactions store events, and the first one to begin is the last one to end."""
    first, second = await new_events(harness, owner, RENAMED), await new_events(harness, owner, WITHDRAWN)
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, first, harness.now)
        other = asyncio.create_task(store(harness, second))
        await _ended_or_waits(other, harness.database)
        read = await page(harness, owner, "?after=0")
    await other

    read_later = await page(harness, owner, f"?after={read['next']}")

    assert len(ids(read) + ids(read_later)) == 2


async def test_a_reader_beside_many_writers_gets_every_event_once(harness: ServiceHarness, owner: NewAccount) -> None:
    new = await new_events(harness, owner, *[RENAMED] * 3)
    writers = [asyncio.create_task(store(harness, new)) for _ in range(20)]
    seen: list[int] = []
    place, more = 0, True
    while more or not all(writer.done() for writer in writers):
        answer = await page(harness, owner, f"?after={place}&limit=7")
        seen += ids(answer)
        place, more = answer["next"], answer["more"]
        await asyncio.sleep(0)  # on SQLite a read waits for nothing, so that writers would never go on
    await asyncio.gather(*writers)
    seen += ids(await page(harness, owner, f"?after={place}"))

    assert len(seen) == len(set(seen)) == 60
    assert seen == sorted(seen)


async def _ended_or_waits(task: asyncio.Task[None], database: Database) -> None:
    """Return when the transaction of a task has ended, or waits for another one. SQLite has one at a time."""
    waiting = text(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database"
        " WHERE datname = current_database())"
    )
    async with asyncio.timeout(30), database.reading() as connection:
        while database.kind == "postgresql" and not task.done():
            if (await connection.execute(waiting)).scalar_one():
                return


async def test_kinds_severities_and_a_subject_choose_what_is_listed(harness: ServiceHarness, owner: NewAccount) -> None:
    await store(harness, await new_events(harness, owner, WITHDRAWN, MOVED, RENAMED))
    await store(harness, await new_events(harness, owner, MOVED, subject=OTHER))
    first, second, third, fourth = ids(await page(harness, owner, "?after=0"))
    chosen = {
        "severity=high": [first],
        "severity=high&severity=low": [first, third],
        "kind=expiry": [second, fourth],
        "kind=expiry&kind=certificate": [first, second, fourth],
        "kind=portfolio": [],
        f"subject={OTHER[:4]}%20{OTHER[4:]}": [fourth],
        f"kind=expiry&severity=medium&subject={SUBJECT}": [second],
        "severity=high&kind=expiry": [],
    }
    for query, expected in chosen.items():
        assert ids(await page(harness, owner, f"?after=0&{query}")) == expected, query
        assert ids(await page(harness, owner, f"?{query}")) == expected[::-1], query


async def test_without_after_the_newest_are_listed_and_next_leads_to_what_comes(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await store(harness, await new_events(harness, owner, RENAMED, RENAMED, RENAMED))
    plain = (await get(harness, owner)).json()

    newest = await page(harness, owner, "?limit=2")

    assert set(plain) == {"events"}, "the answer without parameters is the contract's"
    assert (ids(newest), newest["more"]) == (ids(plain)[:2], True)
    await store(harness, await new_events(harness, owner, WITHDRAWN))
    assert len(ids(await page(harness, owner, f"?after={newest['next']}"))) == 1


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "after=99999999999999999999",
        "limit=0",
        "limit=1001",
        "kind=later",
        "severity=urgent",
        "subject=",
        "afer=5",
    ],
)
async def test_what_is_no_parameter_or_no_value_of_one_is_refused(
    harness: ServiceHarness, owner: NewAccount, query: str
) -> None:
    answer = await get(harness, owner, f"?{query}")

    assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS)


async def test_a_stranger_lists_nothing_of_another_account(harness: ServiceHarness, owner: NewAccount) -> None:
    await store(harness, await new_events(harness, owner, RENAMED))
    stranger = await harness.sign_up("stranger@other.example")

    assert (await page(harness, stranger, "?after=0"))["events"] == []


async def test_the_tool_lists_the_same_pages(harness: ServiceHarness, owner: NewAccount) -> None:
    await store(harness, await new_events(harness, owner, *[RENAMED] * 60, WITHDRAWN))

    async def told(**arguments: object) -> Any:
        answer = await harness.client.post(
            "/mcp", json=using("list_changes", arguments), headers=auth_headers(owner.api_key)
        )
        result = answer.json()["result"]
        return httpx2.Response(200, text=result["content"][0]["text"]).json()

    first = await told(after=0)
    assert first == await page(harness, owner, "?after=0&limit=50")
    assert first["more"]
    assert await told(after=first["next"]) == await page(harness, owner, f"?after={first['next']}")
    assert ids(await told(severity=["high"])) == ids(await page(harness, owner, "?severity=high"))
    assert set(await told()) == {"events"}
    assert "known are" in (await told(kind=["later"]))["error"]
    assert (await told(after=-1))["error"]
