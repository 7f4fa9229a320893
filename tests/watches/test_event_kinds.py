"""What an event is about is stored with it."""

import pytest
from sqlalchemy import text

from registerwatch.watches import repository
from registerwatch.watches.models import EventKind
from registerwatch.watches.repository import NewEvent
from tests.support.harness import ServiceHarness

pytestmark = pytest.mark.anyio


async def test_an_event_keeps_its_kind_and_a_kind_of_a_later_release_is_listed_as_it_is(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner()
    new = [NewEvent(caller.account.id, 1, "SUBJECT", "Label", "a: b → c", [], "batch", False)] * 2
    async with harness.database.transaction() as connection:
        await repository.add_events(connection, new, 0)
        await connection.execute(text("UPDATE events SET kind = 'later' WHERE id = (SELECT max(id) FROM events)"))

    assert [event.kind for event in await harness.events(caller)] == [EventKind.RECORD, "later"]
