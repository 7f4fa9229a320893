"""The log of failed reads of a watch, on both databases."""

from uuid import UUID

from registerwatch.accounts.models import Caller
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate, Completeness
from registerwatch.watches import repository
from registerwatch.watches.models import NO_CERTIFICATES, NOT_REGISTERED
from registerwatch.watches.reading import read_failures
from registerwatch.watches.reading.read_failures import MAX_KEPT
from registerwatch.watches.tables import read_failures as table
from tests.register.builders import UDI, a_full_reading, a_udi
from tests.support.harness import ServiceHarness
from tests.support.statements import counted_statements
from tests.watches.steps import tried_at


async def fail(harness: ServiceHarness, reason: str = "It is tired.", *, after: int = 60) -> None:
    """A read fails some time later."""
    harness.clock.move(after)
    async with harness.database.transaction() as connection:
        ids = await repository.note_failure(connection, UDI, reason, harness.now)
        await read_failures.note(connection, ids, reason, harness.now)


async def log_of(harness: ServiceHarness, caller: Caller) -> list[tuple[str, int, int, bool]]:
    """Reason, times, length and whether it has ended, the newest first."""
    watch = await harness.watch(caller)
    async with harness.database.reading() as connection:
        found = await read_failures.of_watch(connection, caller.account.id, watch.id)
    return [(each.reason, each.times, each.last_at - each.first_at, each.ended_at is not None) for each in found]


async def test_failures_in_a_row_are_one_line_until_another_reason_or_a_success(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    other = await harness.owner_watching("other@acme.example")
    for reason in ("It is tired.", "It is tired.", "It is away.", "It is tired."):
        await fail(harness, reason)
    assert await log_of(harness, caller) == [
        ("It is tired.", 1, 0, False),
        ("It is away.", 1, 0, True),
        ("It is tired.", 2, 60, True),
    ]

    await harness.store(a_full_reading("u-1", UDI, certs=(Certificate("Z-1"),)))

    log = await log_of(harness, caller)
    assert [ended for *_, ended in log] == [True, True, True]
    assert await log_of(harness, other) == log
    await fail(harness)
    assert (await log_of(harness, caller))[0] == ("It is tired.", 1, 0, False)
    assert len(await log_of(harness, caller)) == 4


async def test_the_newest_lines_of_each_watch_are_kept_and_go_with_it(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    for number in range(MAX_KEPT + 2):
        await fail(harness, f"Reason {number}")
    late = await harness.owner_watching("late@acme.example")
    await fail(harness, "Reason of both")

    log = await log_of(harness, caller)
    assert [len(log), log[0][0], log[-1][0]] == [MAX_KEPT, "Reason of both", "Reason 3"]
    assert len(await log_of(harness, late)) == 1
    await harness.service.watches.service.remove(caller, (await harness.watch(caller)).id)
    assert len(await harness.rows(table)) == 1


async def test_every_way_in_which_a_read_fails_is_in_the_log_of_that_account_alone(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    watch = await harness.watch(caller)
    await harness.service.watches.details.read_register(caller, watch.id)  # the stand-in has no such device
    whole = a_full_reading("u-1", UDI)
    await harness.store(replace(whole, completeness=Completeness.ALL_BUT_CERTIFICATES))
    harness.clock.move(60)
    harness.faults.fail("any", "http-500")
    await harness.service.watches.details.read_register(caller, watch.id)

    unreadable, partial, unknown = await log_of(harness, caller)
    assert "500" in unreadable[0]
    assert (partial[0], unknown[0]) == (NO_CERTIFICATES, NOT_REGISTERED)
    async with harness.database.reading() as connection:
        assert await read_failures.of_watch(connection, caller.account.id + 1, watch.id) == []


async def test_a_failure_of_a_subject_that_thousands_watch_takes_few_statements(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    with counted_statements() as statements:
        await fail(harness)
        first = len(statements)
        await fail(harness)

    assert first <= 8
    assert len(statements) - first <= 5
    assert (await log_of(harness, caller))[0][1] == 2


async def test_watches_are_due_where_a_strangers_read_finds_first_that_a_device_is_listed_no_more(
    harness: ServiceHarness,
) -> None:
    listed = harness.separate_devices(1)[0]
    device = harness.world.register(replace(listed, uuid=str(UUID(int=7)), primary_di=a_udi(7)))
    await harness.owner_watching("a@acme.example", device.primary_di)
    await harness.service.refresher.refresh(device.primary_di)
    harness.world.remove(device.uuid)
    for _ in range(2):
        harness.clock.move(120)
        await harness.get("/v1/refresh", q=device.primary_di)
        assert await tried_at(harness) == [0]

    await harness.service.watches.recheck.run()

    assert 0 not in await tried_at(harness)
    harness.clock.move(120)
    await harness.get("/v1/refresh", q=device.primary_di)
    assert 0 not in await tried_at(harness), "it is known"
