"""What an event is about and how much it matters is stored with it, and shown wherever events are."""

from typing import Any

from sqlalchemy import text

from registerwatch.register.models import Certificate
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.models import EventKind
from tests.notifications.feeds.feed_reader import feed_of
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness
from tests.watches.builders import ISSUED, OFF, ON, WITHDRAWN

UDI = a_udi(1)


async def test_an_event_keeps_its_kind_and_a_kind_of_a_later_release_is_listed_as_it_is(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner()
    new = [NewEvent(caller.account.id, 1, "SUBJECT", "Label", "a: b → c", [], False)] * 2
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, new, 0)
        await connection.execute(text("UPDATE events SET kind = 'later' WHERE id = (SELECT max(id) FROM events)"))

    assert [event.kind for event in await harness.events(caller)] == [EventKind.RECORD, "later"]


async def store(harness: ServiceHarness, cert_status: str, **differs: Any) -> None:
    """Store a full reading of a device with one certificate."""
    certificate = Certificate("Z-1", status=cert_status.rpartition(".")[2].capitalize(), status_code=cert_status)
    fields = {"version": 1, "status_code": ON, "trade_name": "Alpha", **differs}
    await harness.store(a_full_reading("u-1", UDI, certs=(certificate,), **fields))


async def an_account_with_three_events(harness: ServiceHarness) -> str:
    """An API key: a certificate was withdrawn, then the device left the market, then it got another reference."""
    key = (await harness.sign_up()).api_key
    await harness.post("/v1/import", key, csv=UDI)
    await store(harness, ISSUED)
    await store(harness, WITHDRAWN)
    await store(harness, WITHDRAWN, status_code=OFF)
    await store(harness, WITHDRAWN, status_code=OFF, reference="R-2")
    return key


async def test_rest_the_tool_and_the_feed_say_what_an_event_is_about_and_how_much_it_matters(
    harness: ServiceHarness,
) -> None:
    key = await an_account_with_three_events(harness)
    expected = [("record", "low"), ("record", "high"), ("certificate", "high")]

    events = await harness.get_list(key, "events")
    feed = (await harness.post("/v1/feeds", key)).json()["feed"]
    entries = feed_of((await harness.client.get(feed["events"].partition("8000")[2])).content).entries
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_changes"}}
    told = (await harness.client.post("/mcp", json=call, headers={"X-API-Key": key})).json()["result"]["content"]

    assert [(each["kind"], each["severity"]) for each in events] == expected
    assert [tuple(each.terms) for each in entries] == expected
    assert told[0]["text"].count('"severity":"high"') == 2
    assert "Certificate status (Z-1): Issued → Withdrawn" in entries[-1].text
