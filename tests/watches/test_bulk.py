"""Doing one thing to many watches."""

import pytest

from registerwatch.errors import CapReached, InvalidInput
from registerwatch.watches.bulk import MAX_CHOSEN, Selection
from registerwatch.watches.questions.listed_watches import WatchFilter
from registerwatch.watches.tables import events, watch_tags, watches
from registerwatch.watches.tags import MAX_TAGS_OF_WATCH
from tests.support.harness import SRN, UDI, ServiceHarness
from tests.watches.test_listed_watches import change, note_event


async def test_tags_and_removal_reach_what_was_chosen_and_nothing_else(harness: ServiceHarness) -> None:
    bulk, tags = harness.service.watches.bulk, harness.service.watches.tags
    caller = await harness.owner_watching("a@acme.example", UDI, SRN, "04011111111117")
    stranger = await harness.owner_watching("b@acme.example", UDI)
    first, second, third = [watch.id for watch in await harness.service.watches.service.all(caller)]
    others = (await harness.watch(stranger)).id
    devices = Selection(matching=WatchFilter(kind="udi"))
    await note_event(harness, caller, UDI, harness.now)

    assert await bulk.add_tag(caller, Selection([first, second, others, 10**15]), "Ward 3") == 2
    assert await bulk.add_tag(caller, devices, "pumps") == 2
    assert await bulk.remove_tag(caller, Selection([first, others]), "ward 3") == 1

    assert [await tags.of_watch(caller, each) for each in (first, second, third)] == [["pumps"], ["Ward 3"], ["pumps"]]
    assert await tags.counts(stranger) == {}
    assert await bulk.ids(caller, devices) == [first, third]
    assert await bulk.delete(caller, Selection([others, first])) == 1
    assert [row["id"] for row in await harness.rows(watches)] == [second, third, others]
    assert len(await harness.rows(events)) == 1
    assert await bulk.delete(caller, Selection(matching=WatchFilter())) == 2
    assert await harness.rows(watch_tags) == []
    assert [row["id"] for row in await harness.rows(watches)] == [others]


async def test_none_and_too_many_are_refused_and_nothing_is_half_done(harness: ServiceHarness) -> None:
    bulk, tags = harness.service.watches.bulk, harness.service.watches.tags
    caller = await harness.owner_watching("a@acme.example", UDI, SRN)
    ids = [watch.id for watch in await harness.service.watches.service.all(caller)]
    await tags.set(caller, ids[1], ",".join(map(str, range(MAX_TAGS_OF_WATCH))))

    for selection in (Selection(), Selection([10**15]), Selection(matching=WatchFilter("nothing"))):
        with pytest.raises(InvalidInput, match="Choose one or more"):
            await bulk.delete(caller, selection)
    with pytest.raises(InvalidInput, match="at once"):
        await bulk.delete(caller, Selection(range(MAX_CHOSEN + 1)))
    with pytest.raises(CapReached, match="at most 20 tags"):
        await bulk.add_tag(caller, Selection(ids), "one more")

    assert await tags.of_watch(caller, ids[0]) == ()
    assert await bulk.add_tag(caller, Selection(ids), "7") == 2


async def test_what_is_chosen_by_state_is_what_is_in_it_then(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching("a@acme.example", UDI, SRN)
    await change(harness, UDI, last_sync=harness.now)

    assert await harness.service.watches.bulk.delete(caller, Selection(matching=WatchFilter(state="ok"))) == 1
    assert [row["subject"] for row in await harness.rows(watches)] == [SRN]
