"""Lists of watches: what a filter finds, how it is counted and sorted."""

from collections.abc import Sequence
from typing import get_args

from sqlalchemy import insert, update

from registerwatch.accounts.models import Caller
from registerwatch.platform.structs import replace
from registerwatch.watches import repository
from registerwatch.watches.models import FAILING_AFTER, NO_CERTIFICATES, NOT_REGISTERED, OVERDUE_AFTER, HealthState
from registerwatch.watches.questions.listed_watches import PAGE_ROWS, WatchFilter, WatchOrder
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded
from registerwatch.watches.tables import events, watches
from tests.support.harness import ServiceHarness
from tests.watches.builders import a_snapshot

DRAEGER = a_snapshot(manufacturer_name='DRÄGERWERK "AG"', manufacturer_srn="DE-MF-000000007", trade_name="Savina")
NUL = a_snapshot(manufacturer_name="nul\x00byte")


async def add(harness: ServiceHarness, caller: Caller, *new: NewWatch) -> None:
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, new, harness.now)


async def change(harness: ServiceHarness, subject: str, **values: object) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(update(watches).where(watches.c.subject == subject).values(values))


async def note_event(harness: ServiceHarness, caller: Caller, subject: str, created_at: int) -> None:
    watch = await harness.watch(caller, subject)
    about = {"watch_id": watch.id, "subject": subject, "label": watch.label, "summary": "", "changes": "[]"}
    kept = {"account_id": caller.account.id, "created_at": created_at, "awaits_sync": False}
    async with harness.database.transaction() as connection:
        await connection.execute(insert(events).values(**about, **kept, severity="low", fields=","))


async def labels(
    harness: ServiceHarness, caller: Caller, chosen: WatchFilter | None = None, order: WatchOrder = WatchOrder.NAME
) -> Sequence[str]:
    """The names on the first page, after a look at what must hold for every list."""
    listing, wanted = harness.service.watches.listing, chosen or WatchFilter()
    page = await listing.page(caller, wanted, order)
    names = [row.watch.label for row in page.rows]
    reverse = await listing.page(caller, wanted, order, is_descending=True)
    assert [row.watch.label for row in reversed(reverse.rows)] == names
    assert page.counts.matching == len(names)
    assert [row.watch.label async for row in listing.all(caller, wanted, order)] == names
    for row in page.rows:
        assert wanted.state in (None, row.watch.health(harness.now))
    return names


async def test_every_word_has_to_be_in_the_name_the_subject_or_the_manufacturer(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    await add(
        harness,
        caller,
        NewWatch("04011111111117", "Savina 300", encoded(DRAEGER), harness.now),
        NewWatch("04022222222224", "100 % cotton_pad", encoded(NUL), harness.now),
        NewWatch("DE-MF-000000007", "Drägerwerk"),
    )

    async def found(text: str) -> Sequence[str]:
        return await labels(harness, caller, WatchFilter.of(text))

    assert await found("savina") == ["Savina 300"]
    assert await found("dräger 300") == ["Savina 300"]
    assert await found("DRÄGER") == ["Drägerwerk", "Savina 300"]
    assert await found("de-mf-000000007") == ["Drägerwerk", "Savina 300"]
    assert await found("0401 1111 1111 17") == ["Savina 300"]
    assert await found("savina cotton") == []
    assert await found('"ag"') == ["Savina 300"]
    for name in ("manufacturer", "field_set", "srn"):
        assert await found(name) == []  # how a snapshot is stored is nothing to find
    assert await found("0 %") == ["100 % cotton_pad"]
    assert await found("cotton_") == ["100 % cotton_pad"]
    assert await found("c_tton") == await found("%%%") == await found("\x00 noth\x00ing") == []
    assert len(await found("  ")) == 3


async def test_counts_by_state_are_those_that_the_states_would_list(harness: ServiceHarness) -> None:
    caller, now = await harness.owner(), harness.now
    names = ["fine", "failing", "unread", "overdue", "unknown", "partial", "partial till now", "SRN"]
    await add(harness, caller, *(NewWatch(f"0401111111111{place}", name) for place, name in enumerate(names[:-1])))
    await add(harness, caller, NewWatch("DE-MF-000000007", "SRN"))
    await change(harness, "04011111111110", last_sync=now)
    long, before = {"failing_since": now - FAILING_AFTER}, now - FAILING_AFTER
    await change(harness, "04011111111111", last_sync=before, last_error="no answer", **long)
    await change(harness, "04011111111113", last_sync=now - OVERDUE_AFTER)
    await change(harness, "04011111111114", last_error=NOT_REGISTERED, **long)
    await change(harness, "04011111111115", last_sync=before, last_error=NO_CERTIFICATES, **long)
    await change(harness, "04011111111116", last_sync=now - 60, last_error="no answer", **long)
    listing = harness.service.watches.listing

    counts = (await listing.page(caller, WatchFilter(kind="udi"), WatchOrder.NAME)).counts

    assert counts.of_state(None) == counts.matching == 7
    assert (counts.of(counts.chosen.state, None), counts.of(counts.chosen.state, "srn")) == (8, 1)
    for state, name in [("ok", "fine"), ("overdue", "overdue"), ("unknown", "unknown"), ("failing", "failing")]:
        assert counts.of_state(state) == 1  # type: ignore[arg-type]
        assert await labels(harness, caller, WatchFilter(state=state)) == [name]  # type: ignore[arg-type]
    partial = "what was read in part a minute ago is not failing, although the last try brought nothing"
    assert await labels(harness, caller, WatchFilter(state="partial")) == ["partial", "partial till now"], partial
    for row in (await listing.page(caller, WatchFilter(), WatchOrder.NAME)).rows:
        [alike] = [
            state
            for state in get_args(HealthState)
            if row.watch.label in await labels(harness, caller, WatchFilter(state=state))
        ]
        assert row.watch.health(now) == alike
    assert await labels(harness, caller, WatchFilter(state="unread")) == ["SRN", "unread"]
    assert await labels(harness, caller, WatchFilter("un", state="unread", kind="udi")) == ["unread"]


async def test_watches_are_sorted_by_each_column_and_tell_their_last_change(harness: ServiceHarness) -> None:
    caller, now = await harness.owner(), harness.now
    await add(harness, caller, NewWatch("3", "b"), NewWatch("1", "A"), NewWatch("2", "c"))
    await change(harness, "1", last_sync=now)
    await change(harness, "2", last_sync=now - 60)
    await note_event(harness, caller, "2", now - 60)
    await note_event(harness, caller, "3", now - 30)
    await note_event(harness, caller, "2", now)

    assert await labels(harness, caller, order=WatchOrder.NAME) == ["A", "b", "c"]
    assert await labels(harness, caller, order=WatchOrder.SUBJECT) == ["A", "c", "b"]
    assert await labels(harness, caller, order=WatchOrder.LAST_READ) == ["b", "c", "A"]
    assert await labels(harness, caller, order=WatchOrder.ADDED) == ["b", "A", "c"]
    assert await labels(harness, caller, order=WatchOrder.LAST_CHANGE) == ["A", "b", "c"]
    page = await harness.service.watches.listing.page(caller, WatchFilter(), WatchOrder.NAME)
    assert [row.changed_at for row in page.rows] == [None, now - 30, now]


async def test_tags_restrict_a_list_to_watches_that_have_all_of_them(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    await add(harness, caller, NewWatch("1", "a"), NewWatch("2", "b"), NewWatch("3", "c"))
    for name, text in (("1", "ward 3, pump"), ("2", "ward 3")):
        await harness.service.watches.tags.set(caller, (await harness.watch(caller, name)).id, text)

    assert await labels(harness, caller, WatchFilter(tags=("ward 3",))) == ["a", "b"]
    assert await labels(harness, caller, WatchFilter(tags=("ward 3", "pump"))) == ["a"]
    assert await labels(harness, caller, WatchFilter.of(tags=("no\x00ne",))) == []
    page = await harness.service.watches.listing.page(caller, WatchFilter(), WatchOrder.NAME)
    assert [row.tags for row in page.rows] == [["pump", "ward 3"], ["ward 3"], ()]


async def test_a_page_beyond_the_last_is_the_last_and_nobody_sees_others_watches(harness: ServiceHarness) -> None:
    caller, stranger = await harness.owner(), await harness.owner("b@acme.example")
    await add(harness, caller, *(NewWatch(f"{each:04}") for each in range(PAGE_ROWS + 1)))
    listing = harness.service.watches.listing

    second = await listing.page(caller, WatchFilter(), WatchOrder.SUBJECT, page=2)
    beyond = await listing.page(caller, WatchFilter(), WatchOrder.SUBJECT, page=10**9)

    assert ([row.watch.subject for row in second.rows], second.page) == ([f"{PAGE_ROWS:04}"], 2)
    assert replace(beyond, counts=second.counts) == second
    assert len([row async for row in listing.all(caller, WatchFilter(), WatchOrder.NAME)]) == PAGE_ROWS + 1
    nothing = await listing.page(stranger, WatchFilter(), WatchOrder.NAME)
    assert (nothing.rows, nothing.counts.matching, nothing.page) == ([], 0, 1)
