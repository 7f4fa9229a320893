"""A certificate that is withdrawn when it comes is told as that by the watch of its device and by that of its
manufacturer, wherever people and programs look.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.mcp.messages import used
from tests.notifications.feeds.feed_reader import feed_of
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import accessibility_problems
from tests.support.harness import EMAIL, WEBHOOK_URL, NewAccount, ServiceHarness, ServiceStarter

NUMBERS = {"Z-1": "withdrawn", "Z-2": "restricted", "Z-3": "issued"}
STOOD = {"Z-1": "Withdrawn", "Z-2": "Restricted", "Z-3": None}
LINES = ("New certificate: Z-1 (withdrawn)", "New certificate: Z-2 (restricted)", "New certificate: Z-3")
HOUR = 3_600

Events = Sequence[Mapping[str, Any]]


async def test_a_certificate_that_comes_withdrawn_is_told_as_that_wherever_it_is_told(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=GeneratedWorld(120, seed=7)) as harness:
        owner, device = await _told_of_new_certificates(harness)

        events = await harness.get_list(owner.api_key, "events")
        _check_events(events, device)
        await _check_programs(harness, owner, events)
        _check_mail(harness)
        await _check_pages_and_feed(harness, owner, events)


async def _told_of_new_certificates(harness: ServiceHarness) -> tuple[NewAccount, Registration]:
    """Who watches a device and its manufacturer, of which the register lists three certificates from one day on."""
    device = next(each for each in harness.unique_devices(60) if each.basic_udi and not each.certificates)
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    await harness.post("/v1/channels", owner.session, channel="email", choice={"frequency": "at-once"})
    await harness.post("/v1/webhook", owner.session, url=WEBHOOK_URL)
    await harness.post_watches(owner.api_key, device.primary_di, device.manufacturer.srn)
    await harness.post_sync(owner.api_key)
    await _sweep(harness)
    harness.mail.mails.clear()
    for number, status in NUMBERS.items():
        codes = (device.basic_udi or "",)
        harness.world.list_certificate(device.manufacturer.srn, number=number, status=status, basic_udis=codes)
    await _sweep(harness)
    await harness.post_sync(owner.api_key)
    harness.clock.move(HOUR)
    await harness.deliver_due()
    return owner, device


async def _sweep(harness: ServiceHarness) -> None:
    harness.clock.move(HOUR)
    await harness.service.certificate_sweep.run_where_due(every=0)
    while await harness.service.certificate_sweep.read_due_scopes():
        pass
    await harness.finish_background_work()


def _told(changes: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    """How each new certificate stood."""
    assert {(each["field"], each["old"]) for each in changes} == {("certificate", "")}
    return {each["new"]: each.get("standing") for each in changes}


def _check_events(events: Events, device: Registration) -> None:
    assert {each["subject"] for each in events} == {device.primary_di, device.manufacturer.srn}
    assert [(each["severity"], _told(each["changes"])) for each in events] == [("high", STOOD)] * 2


async def _check_programs(harness: ServiceHarness, owner: NewAccount, events: Events) -> None:
    posted = [json.loads(each.content) for each in harness.receivers.requests if each.url == WEBHOOK_URL]
    delivered = [event for body in posted for event in body["events"]]
    assert {each["id"]: each["changes"] for each in delivered} == {each["id"]: each["changes"] for each in events}
    assert (await used(harness, "list_changes", owner.api_key)).payload["events"] == events


def _check_mail(harness: ServiceHarness) -> None:
    [mail] = [each for each in harness.mail.mails if each.to == EMAIL]
    assert mail.subject == "High: new certificate Z-1 is withdrawn, 3 changes of 2 watches"
    for number, words in STOOD.items():
        beside = f" ({words.lower()})" if words else ""
        assert mail.text.count(f"  New certificate\n    {number}{beside}\n") == 1, "both watches together"


async def _check_pages_and_feed(harness: ServiceHarness, owner: NewAccount, events: Events) -> None:
    pages = PagesClient(harness)
    await pages.sign_in(EMAIL)
    for address in ("/app", "/app/events", *(f"/app/watches/{each['watch_id']}" for each in events)):
        page = await pages.page(address)
        assert accessibility_problems(page) == []
        assert "Z-1 (withdrawn)" in page.main, address
    rows = list(csv.DictReader(io.StringIO((await pages.get("/app/events.csv")).text.removeprefix("\ufeff"))))
    assert {row["After"] for row in rows} == {"Z-1 (withdrawn)", "Z-2 (restricted)", "Z-3"}
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]["events"]
    for entry in feed_of((await harness.client.get(feed)).content).entries:
        assert set(LINES) <= set(entry.text.splitlines())
