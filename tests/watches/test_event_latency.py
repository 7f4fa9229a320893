"""How quickly events are told, of all accounts."""

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_latency import WINDOW_SECONDS, Latency, latency_of
from registerwatch.watches.events.event_repository import NewEvent
from tests.register.builders import PROPERTY
from tests.support.harness import ServiceHarness


@PROPERTY
@given(st.lists(st.integers(-10, 100_000), min_size=1, max_size=60))
def test_figures_are_of_events_that_there_were(seconds: list[int]) -> None:
    latency = latency_of(seconds)

    shown = [max(0, each) for each in seconds]
    assert latency.median in shown
    assert 2 * sum(each <= latency.median for each in shown) >= len(shown)
    assert 100 * sum(each <= latency.p95 for each in shown) >= 95 * len(shown)
    assert latency.median <= latency.p95


async def test_events_of_the_last_hour_of_which_it_is_known_are_counted_by_kind(harness: ServiceHarness) -> None:
    assert await harness.service.event_latencies.of_last_hour() == {}
    caller = await harness.owner()
    new = [NewEvent(caller.account.id, 1, "SUBJECT", "Label", "a: b → c", [], False)] * 4
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, new, harness.now)
        await connection.execute(text("UPDATE events SET visible_at = created_at - 60 * id"))
        await connection.execute(text("UPDATE events SET kind = 'portfolio' WHERE id = 2"))
        await connection.execute(text("UPDATE events SET visible_at = NULL WHERE id = 3"))

    found = await harness.service.event_latencies.of_last_hour()
    harness.clock.move(WINDOW_SECONDS)
    later = await harness.service.event_latencies.of_last_hour()

    assert found == {"portfolio": Latency(1, 120, 120), "record": Latency(2, 60, 240)}
    assert later == {}
