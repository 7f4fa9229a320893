"""What sweeps found is told to each watch of the manufacturer once, from its baseline on."""

from collections.abc import Sequence

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.notifications.tables import deliveries
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.models import Event
from registerwatch.watches.news.news import WatchNews
from registerwatch.watches.options import WatchOptions, with_options
from registerwatch.watches.questions.watch_details import WatchEdit
from registerwatch.watches.tables import events, watches
from tests.support.harness import SRN, ServiceHarness
from tests.watches.news_rows import add_certificate_news, add_device_news, list_certificates, list_devices
from tests.watches.steps import add_webhook, take_awaiting

OTHER_SRN = "DE-MF-000000009"
DAY = 24 * 3600


async def tell(harness: ServiceHarness, srn: str = SRN) -> None:
    """Tell watches of devices and certificates, as the ends of two sweeps do."""
    news = WatchNews(harness.service.notifications.outbox)
    async with harness.database.transaction() as connection:
        await news.notify_portfolio(connection, srn, now=harness.now)
    async with harness.database.transaction() as connection:
        await news.notify_certificates(connection, now=harness.now)


async def register(harness: ServiceHarness, *dis: str, change: str = "registered", srn: str = SRN) -> None:
    """A sweep finds devices."""
    async with harness.database.transaction() as connection:
        await add_device_news(connection, *dis, change=change, srn=srn, visible_at=harness.now)


async def change_certificate(harness: ServiceHarness, *changes: FieldChange, srn: str = SRN) -> None:
    """A sweep finds a certificate changed."""
    async with harness.database.transaction() as connection:
        await add_certificate_news(connection, *changes, srn=srn, visible_at=harness.now)


async def list_all(harness: ServiceHarness) -> None:
    """Complete lists of devices and of certificates begin now."""
    async with harness.database.transaction() as connection:
        await list_devices(connection, harness.now)
        await list_certificates(connection, harness.now)


async def watching(harness: ServiceHarness, email: str = "first@acme.example") -> Caller:
    """An account that watches the manufacturer and has its baseline."""
    caller = await harness.owner_watching(email, SRN)
    await list_all(harness)
    await tell(harness)
    return caller


def named(event: Event) -> Sequence[tuple[str, str, str | None]]:
    return [(change.field, change.new, change.device) for change in event.changes]


NEW, EXTENDED = (
    FieldChange("certificate", "", "Z-1", "Z-1"),
    FieldChange("cert_expiry", "2027-01-01", "2030-01-01", "Z-1"),
)


async def test_devices_that_were_found_together_are_one_event_and_told_once(harness: ServiceHarness) -> None:
    first, second = await watching(harness), await watching(harness, "second@acme.example")
    elsewhere = await harness.owner_watching("elsewhere@acme.example", OTHER_SRN)
    await add_webhook(harness, first)
    harness.clock.move(60)
    await register(harness, "0401", "0402")
    await register(harness, "0403", change="off_market")
    await register(harness, "0404", change="renamed_by_a_later_release")

    await tell(harness)
    await tell(harness)

    for caller in (first, second):
        [event] = await harness.events(caller)
        assert named(event) == [
            ("devices_off_market", "1", None),
            ("devices_registered", "2", None),
            ("device_off_market", "Device 0403", "0403"),
            ("device_registered", "Device 0401", "0401"),
            ("device_registered", "Device 0402", "0402"),
        ]
        assert event.summary == "devices_off_market:  → 1; devices_registered:  → 2"
        assert (event.kind, event.severity, event.visible_at) == ("portfolio", "high", harness.now)
        assert event.subject == SRN
    assert await harness.events(elsewhere) == []
    assert len(await harness.rows(deliveries)) == 1, "the account without a webhook gets none"
    assert await take_awaiting(harness, first) == [event.summary], "the next sync lists it"


async def test_an_event_of_many_devices_has_their_number_and_names_fifty(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    await register(harness, *(f"0{number}" for number in range(1000, 2234)))

    await tell(harness)

    [event] = await harness.events(caller)
    assert event.summary == "devices_registered:  → 1234"
    assert len(event.changes) == 51
    assert event.changes[50].device == "01049"


async def test_certificates_are_told_to_all_their_watches_in_few_statements(harness: ServiceHarness) -> None:
    callers = [await watching(harness, f"{number}@acme.example") for number in range(3)]
    await change_certificate(harness, NEW)
    await change_certificate(harness, EXTENDED, FieldChange("cert_status", "Issued", "Suspended", "Z-1"))
    await change_certificate(harness, NEW, srn=OTHER_SRN)

    await tell(harness)
    await tell(harness)

    for caller in callers:
        [event] = await harness.events(caller)
        assert event.changes == [NEW, EXTENDED, FieldChange("cert_status", "Issued", "Suspended", "Z-1")]
        assert (event.kind, event.severity) == ("certificate", "high")
    assert len({row["cause"] for row in await harness.rows(events)}) == 1


async def test_an_event_of_many_certificates_says_how_many_there_are(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    for _ in range(60):
        await change_certificate(harness, EXTENDED)

    await tell(harness)

    [event] = await harness.events(caller)
    assert len(event.changes) == 50
    assert event.summary.endswith("; and 10 more")


async def test_nothing_of_before_the_baseline_is_told(harness: ServiceHarness) -> None:
    await register(harness, "0401")
    await change_certificate(harness, NEW)
    async with harness.database.transaction() as connection:
        await list_devices(connection, harness.now - 1)
        await list_certificates(connection, harness.now - 1)
    caller = await harness.owner_watching("first@acme.example", SRN)
    await tell(harness)
    [row] = await harness.rows(watches)
    assert (row["portfolio_seen"], row["certificates_seen"]) == (None, None), "the lists began before the watch"

    harness.clock.move(60)
    await register(harness, "0402")
    await list_all(harness)
    await tell(harness)
    await register(harness, "0403")
    await change_certificate(harness, EXTENDED)
    await tell(harness)

    assert [event.changes[-1] for event in await harness.events(caller)] == [
        FieldChange("device_registered", "", "Device 0403", device="0403"),
        EXTENDED,
    ]


@pytest.mark.parametrize(("age", "is_told"), [(DAY - 60, True), (DAY + 60, False)])
async def test_a_new_watch_takes_a_list_as_its_baseline_that_is_younger_than_a_day(
    harness: ServiceHarness, age: int, is_told: bool
) -> None:
    await register(harness, "0401")
    await list_all(harness)
    harness.clock.move(age)
    added, imported = await harness.owner("first@acme.example"), await harness.owner("second@acme.example")
    await harness.service.watches.service.add(added, SRN)
    await harness.service.watches.imports.add_all(imported, SRN)
    for caller in (added, imported):
        assert await harness.events(caller) == []

    await register(harness, "0402")
    await tell(harness)

    expected = ["devices_registered:  → 1"] if is_told else []
    assert await harness.summaries(added) == await harness.summaries(imported) == expected


async def test_what_a_switched_off_option_left_out_is_never_told(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    watch, details = await harness.watch(caller, SRN), harness.service.watches.details
    off = WatchOptions(portfolio=False, certificates=False)
    await details.change(caller, watch.id, WatchEdit(options=off))
    await register(harness, "0401")
    await change_certificate(harness, NEW)
    await tell(harness)
    await register(harness, "0402")
    await change_certificate(harness, NEW)

    await details.change(caller, watch.id, WatchEdit())
    await tell(harness)
    await register(harness, "0403")
    await change_certificate(harness, EXTENDED)
    await tell(harness)

    assert [event.changes[-1].new for event in await harness.events(caller)] == ["Device 0403", "2030-01-01"]


async def test_an_option_that_is_switched_on_long_after_the_last_list_waits_for_the_next(
    harness: ServiceHarness,
) -> None:
    caller = await watching(harness)
    watch, details = await harness.watch(caller, SRN), harness.service.watches.details
    await details.change(caller, watch.id, WatchEdit(options=WatchOptions(portfolio=False)))
    harness.clock.move(3 * DAY)

    await details.change(caller, watch.id, WatchEdit())
    await register(harness, "0401")
    await tell(harness)
    await list_all(harness)
    await tell(harness)
    await register(harness, "0402")
    await tell(harness)

    assert [event.changes[-1].device for event in await harness.events(caller)] == ["0402"]


async def test_an_account_whose_period_has_ended_is_told_when_it_is_back(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    set_period = harness.service.accounts.admin.set_period
    await set_period("first@acme.example", None, harness.now)
    await register(harness, "0401")
    await change_certificate(harness, NEW)
    await tell(harness)
    assert await harness.events(caller) == []

    await set_period("first@acme.example", None, harness.now + DAY)
    await register(harness, "0402")
    await tell(harness)

    assert await harness.summaries(caller) == ["devices_registered:  → 2", "certificate:  → Z-1"]


async def test_a_watch_that_does_not_notify_has_its_events_listed_alone(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    await add_webhook(harness, caller)
    async with harness.database.transaction() as connection:
        quiet = with_options("{}", WatchOptions(notifies=False))
        await connection.execute(update(watches).values(options=quiet))
    await register(harness, "0401")

    await tell(harness)

    assert len(await harness.events(caller)) == 1
    assert await harness.rows(deliveries) == []


async def test_a_transaction_that_fails_tells_nothing_and_moves_nothing(harness: ServiceHarness) -> None:
    caller = await watching(harness)
    await register(harness, "0401")
    news = WatchNews(harness.service.notifications.outbox)
    with pytest.raises(RuntimeError):
        async with harness.database.transaction() as connection:
            await news.notify_portfolio(connection, SRN, now=harness.now)
            found = await event_repository.chosen_events(
                connection, caller.account.id, EventFilter(), after=None, most=5
            )
            assert found
            raise RuntimeError
    assert await harness.events(caller) == []

    await tell(harness)

    assert len(await harness.events(caller)) == 1
