"""Ends of certificates are told 90, 30, 7 and 0 days before, once each, whatever happens meanwhile."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import accounts
from registerwatch.copy.tables import certificates
from registerwatch.notifications.gathered_batches import GATHER_SECONDS
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.tables import deliveries
from registerwatch.platform.clock import date_in_words
from registerwatch.platform.db.tables import ticks
from registerwatch.register.certificate_states import shown_certificate
from registerwatch.register.models import Certificate
from registerwatch.watches import repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.news import expiry
from registerwatch.watches.news.expiry import ExpiryService
from registerwatch.watches.news.expiry_marks import (
    MARKS,
    NO_MARK,
    DueCertificate,
    EndingCertificate,
    days_of,
    due_certificates,
    mark_of,
    notice_of,
    when,
)
from registerwatch.watches.options import WatchOptions, with_options
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tables import watches
from registerwatch_standins.register.records import CertificateListing
from tests.mcp.messages import used
from tests.notifications.feeds import feed_reader
from tests.notifications.mail_steps import email_channel, mail_user
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.register.builders import UDI, a_full_reading, a_registered_certificate
from tests.support.harness import SRN, ServiceHarness
from tests.watches.certificate_steps import RECORD, a_device, read_all_scopes, sweep
from tests.watches.certificate_steps import list_certificate as list_in_register
from tests.watches.news_rows import list_certificate
from tests.watches.steps import add_webhook, take_awaiting

DAY = 24 * 3600


def day(harness: ServiceHarness, ahead: int = 0) -> str:
    """A day counted from today, as the register writes it."""
    return (datetime.fromtimestamp(harness.now, UTC).date() + timedelta(ahead)).isoformat()


async def store(harness: ServiceHarness, *certs: Certificate, uuid: str = "u-1", udi: str = UDI) -> None:
    """A read of the device finds these certificates."""
    read = a_full_reading(uuid, udi, certs=certs, manufacturer_srn=SRN, manufacturer_name="Acme")
    await harness.store(read)


async def run(harness: ServiceHarness, days: int = 0) -> int:
    """A run so many days later; how many events it told."""
    harness.clock.move(days * DAY)
    return await harness.service.watches.expiry.run()


async def told(harness: ServiceHarness, caller: Caller) -> Sequence[tuple[str, str]]:
    """The notices of an account, oldest first: certificate and how near its end is."""
    changes = [change for event in await harness.events(caller) for change in event.changes]
    return [(change.certificate or "", change.new) for change in changes if change.field == "cert_ends"]


async def long_account(harness: ServiceHarness, email: str = "first@acme.example", *subjects: str) -> Caller:
    """An account whose period does not end."""
    caller = await harness.owner_watching(email, *subjects)
    await harness.service.accounts.admin.set_period(email, None, harness.now + 2_000 * DAY)
    return caller


async def test_each_mark_is_told_once_to_who_watches_the_device(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    await add_webhook(harness, caller)
    ends = day(harness, 92)
    await store(
        harness, Certificate("Z-1", expiry=ends), Certificate("Z-2"), Certificate("Z-3", expiry=day(harness, 400))
    )
    await run(harness)

    for days in (1, 1, 1, 58, 1, 1, 22, 1, 6, 1):
        await run(harness, days)
        await run(harness)

    assert await told(harness, caller) == [
        ("Z-1", "in 90 days"),
        ("Z-1", "in 30 days"),
        ("Z-1", "in 7 days"),
        ("Z-1", "today"),
    ]
    found = await harness.events(caller)
    assert [(event.kind, event.severity) for event in found] == [
        ("expiry", "low"),
        ("expiry", "medium"),
        ("expiry", "high"),
        ("expiry", "high"),
    ]
    assert found[0].changes == [FieldChange("cert_ends", ends, "in 90 days", "Z-1")]
    assert all(event.visible_at is not None and event.created_at - event.visible_at < DAY for event in found)
    assert await take_awaiting(harness, caller) == [], "a sync tells what changed in the register"
    assert len(await harness.rows(deliveries)) == 4


async def test_a_certificate_without_an_end_date_any_more_is_not_told_until_it_has_one_again(
    harness: ServiceHarness,
) -> None:
    caller = await long_account(harness)
    ends = day(harness, 31)
    await store(harness, Certificate("Z-1", expiry=ends))
    await run(harness)

    await store(harness, Certificate("Z-1"))
    await run(harness, 1)
    assert await told(harness, caller) == []
    await store(harness, Certificate("Z-1", expiry=ends))
    await run(harness, 23)
    assert await told(harness, caller) == [("Z-1", "in 7 days")]


async def test_an_end_is_told_once_where_its_revision_is_lost_and_comes_back(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    ends = day(harness, 31)
    await store(harness, Certificate("Z-1", revision="01", expiry=ends))
    await run(harness)
    for revision in ("", "01"):
        await store(harness, Certificate("Z-1", revision=revision, expiry=ends))
        await run(harness, 1)

    assert await told(harness, caller) == [("Z-1", "in 30 days")]


async def test_the_end_of_a_certificate_that_is_no_longer_called_withdrawn_is_told(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    ends = day(harness, 31)
    status = "refdata.certificate-status.withdrawn"
    await store(harness, Certificate("Z-1", expiry=ends, status="Withdrawn", status_code=status))
    await run(harness)
    await run(harness, 1)
    assert await told(harness, caller) == []

    await store(harness, Certificate("Z-1", expiry=ends))
    await run(harness, 1)

    assert await told(harness, caller) == [("Z-1", "in 29 days")]


async def test_another_revision_without_an_end_date_silences_an_end_unless_its_status_has_ended_it(
    harness: ServiceHarness,
) -> None:
    withdrawn = "refdata.certificate-status.withdrawn"
    of_device, of_maker = await long_account(harness), await long_account(harness, "second@acme.example", SRN)
    ends = day(harness, 31)
    others = {"Z-1": "refdata.certificate-status.issued", "Z-2": withdrawn}
    listed = [Certificate(number, revision="02", status_code=status) for number, status in others.items()]
    await store(harness, *listed, *(Certificate(number, revision="01", expiry=ends) for number in others))
    async with harness.database.transaction() as connection:
        for number, status in others.items():
            await list_certificate(connection, number, ends, revision="01")
            second = {"id": f"{number} 02", "uuid": f"{number} 02", "revision": "02", "status_code": status}
            await list_certificate(connection, number, None, **second)
    await run(harness)

    await run(harness, 1)

    assert await told(harness, of_device) == [("Z-2", "in 30 days")]
    assert await told(harness, of_maker) == [("Z-2", "in 30 days")]


async def test_a_certificate_that_the_register_calls_expired_is_not_said_to_end_on_a_later_day(
    harness: ServiceHarness,
) -> None:
    expired = "refdata.certificate-status.expired"
    of_device, of_maker = await long_account(harness), await long_account(harness, "second@acme.example", SRN)
    ends = day(harness, 31)
    later: dict[str, Any] = {"revision": "02", "status_code": expired}
    odd = Certificate("Z-1", expiry=ends, status="Expired", status_code=expired)
    await store(harness, odd, Certificate("Z-2", revision="01", expiry=ends), Certificate("Z-2", expiry=None, **later))
    async with harness.database.transaction() as connection:
        await list_certificate(connection, "Z-1", ends, status_code=expired)
        await list_certificate(connection, "Z-2", ends, revision="01")
        await list_certificate(connection, "Z-2", day(harness, 400), id="Z-2 02", uuid="Z-2 02", **later)
    await run(harness)

    await run(harness, 1)

    assert await told(harness, of_device) == [("Z-2", "in 30 days")]
    assert await told(harness, of_maker) == [("Z-2", "in 30 days")]
    await run(harness, 30)
    assert "Z-1" not in dict([*await told(harness, of_device), *await told(harness, of_maker)])


async def test_an_end_says_how_the_certificate_stood_where_its_date_was_not_all(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    ends, later = day(harness, 31), day(harness, 400)
    prefix = "refdata.certificate-status."
    statuses = {"Z-1": "issued", "Z-2": "restricted", "Z-3": "suspended", "Z-4": "held-back"}
    begins_later: dict[str, Any] = {"valid_from": later, "status_code": f"{prefix}issued"}
    listed = {number: {"status_code": prefix + status} for number, status in statuses.items()} | {"Z-5": begins_later}
    async with harness.database.transaction() as connection:
        new = [NewWatch(subject) for subject in (UDI, SRN)]
        await repository.add(connection, caller.account.id, new, harness.now)
        for number, differs in listed.items():
            await list_certificate(connection, number, ends, **differs)
    await store(harness, *(Certificate(number, expiry=ends, **differs) for number, differs in listed.items()))
    await run(harness)
    await run(harness, 1)

    events = await harness.get_list(owner.api_key, "events")
    stood = {"Z-1": None, "Z-2": "Restricted", "Z-3": "Suspended", "Z-4": "Held back", "Z-5": "Not valid yet"}
    assert [event["subject"] for event in events] == [SRN, UDI]
    for event in events:
        assert {change["certificate"]: change.get("standing") for change in event["changes"]} == stood
    assert (await used(harness, "list_changes", owner.api_key)).payload["events"] == events
    items = await harness.get_list(owner.api_key, "items")
    assert {item["certificate"]: item.get("standing") for item in items} == stood
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    days = feed_reader.days_of((await harness.client.get(feed["expiring"])).content)
    text = " ".join(
        entry.text for entry in feed_reader.feed_of((await harness.client.get(feed["events"])).content).entries
    )
    for number, words in stood.items():
        called = "End of the certificate" if words is None else "End date of the certificate"
        beside = "" if words is None else f" ({words[:1].lower()}{words[1:]})"
        assert f"{called} ({number}): {date_in_words(ends)}, in 30 days{beside}\n" in text + "\n"
        assert any(f"ertificate {number}{beside}" in each.summary for each in days)

    await store(harness, *(Certificate(number, expiry=later, status_code=ISSUED) for number in listed))
    again = await harness.get_list(owner.api_key, "events")
    assert again[-2:] == events, "events keep the words of their time"


ISSUED, EXPIRED = "refdata.certificate-status.issued", "refdata.certificate-status.expired"


def listed_on(left: int, end: str) -> list[Certificate]:
    """What the register lists so many days before an end: most of it cannot be told for a time."""
    found = [Certificate("goes on", status_code=ISSUED), Certificate("superseded", "01", expiry=end)]
    if not 26 <= left <= 95:
        found.append(Certificate("not listed", expiry=end))
    if not 0 <= left <= 95:
        found.append(Certificate("not listed until its end", expiry=end))
    found.append(Certificate("expired early", expiry=end, status_code=EXPIRED if left <= 100 else ISSUED))
    found.append(Certificate("called expired", expiry=end, status_code=EXPIRED if 21 <= left <= 95 else ISSUED))
    found.append(Certificate("without a date", expiry=None if 21 <= left <= 95 else end))
    if 21 <= left <= 95:
        found.append(Certificate("superseded", "02", status_code=ISSUED))
    return found


async def test_a_certificate_whose_end_could_not_be_told_for_a_time_is_told_the_nearest_mark_that_was_passed(
    harness: ServiceHarness,
) -> None:
    of_device, of_maker = await long_account(harness), await long_account(harness, "second@acme.example", SRN)
    end, ever = day(harness, 130), dict[tuple[str, str], Certificate]()
    before = 130
    for left in (130, 100, 95, 90, 30, 25, 20, 7, 0, -1):
        harness.clock.move((before - left) * DAY)
        before, now = left, {(each.number, each.revision): each for each in listed_on(left, end)}
        await store(harness, *now.values())
        ever |= now
        async with harness.database.transaction() as connection:
            await connection.execute(delete(certificates))
            for key, each in ever.items():
                unlisted_at, name = None if key in now else 1, " ".join(key)
                differs = {"revision": each.revision, "status_code": each.status_code, "unlisted_at": unlisted_at}
                last = None if each.number == "goes on" or each.revision == "02" else end
                await list_certificate(
                    connection, each.number, each.expiry, id=name, uuid=name, last_expiry=last, **differs
                )
        await run(harness)

    marks: dict[str, list[str]] = {}
    for number, words in await told(harness, of_device):
        marks.setdefault(number, []).append(words)
    assert marks == {
        "not listed": ["in 25 days", "in 7 days", "today"],
        "not listed until its end": ["1 day ago"],
        "expired early": ["1 day ago"],
        "called expired": ["in 20 days", "in 7 days", "today"],
        "without a date": ["in 20 days", "in 7 days", "today"],
        "superseded": ["in 20 days", "in 7 days", "today"],
    }
    assert sorted(await told(harness, of_maker)) == sorted(await told(harness, of_device))


async def test_a_manufacturer_s_watch_tells_of_what_the_register_lists_for_it(harness: ServiceHarness) -> None:
    caller = await long_account(harness, "first@acme.example", SRN)
    quiet = await long_account(harness, "second@acme.example", SRN)
    async with harness.database.transaction() as connection:
        of_quiet = watches.c.account_id == quiet.account.id
        options = with_options("{}", WatchOptions(certificates=False))
        await connection.execute(update(watches).where(of_quiet).values(options=options))
        await list_certificate(connection, "Z-1", day(harness, 31))
        await list_certificate(connection, "undated", None)
        await list_certificate(connection, "gone", day(harness, 31), unlisted_at=1)
        await list_certificate(connection, "older version", day(harness, 31), is_latest=False)
        await list_certificate(connection, "another's", day(harness, 31), srn="DE-MF-000000009")
        status = "refdata.certificate-status.withdrawn"
        await list_certificate(connection, "withdrawn", day(harness, 31), status_code=status)
    await run(harness)

    assert await run(harness, 1) == 1
    async with harness.database.transaction() as connection:
        of_quiet = watches.c.account_id == quiet.account.id
        await connection.execute(update(watches).where(of_quiet).values(options="{}"))
    assert await run(harness, 1) == 0, "what an option left out is not made up for"
    async with harness.database.transaction() as connection:
        await connection.execute(update(certificates).where(certificates.c.id == "Z-1").values(expiry=day(harness, 7)))
    await run(harness, 1)

    assert await told(harness, caller) == [("Z-1", "in 30 days")]
    await run(harness, 6)
    assert await told(harness, caller) == [("Z-1", "in 30 days"), ("Z-1", "today")]
    assert await told(harness, quiet) == [("Z-1", "today")]


@pytest.mark.parametrize(
    ("status", "in_list", "in_read", "expected"),
    [
        ("issued", 40, 40, [("in 30 days", None)]),
        ("withdrawn", 40, 40, []),
        ("suspended", 40, 40, [("in 30 days", "Suspended")]),
        ("issued", 40, 400, []),
        ("issued", 400, 40, [("in 30 days", None)]),
    ],
)
async def test_the_end_of_a_manufacturer_s_certificate_is_told_as_its_page_has_it_by_the_newer_read_of_a_device(
    harness: ServiceHarness, status: str, in_list: int, in_read: int, expected: list[tuple[str, str | None]]
) -> None:
    device, pages = a_device(harness), PagesClient(harness)
    srn, end = device.manufacturer.srn, day(harness, in_read)
    harness.world.list_certificate(srn, number="C-9", revision="01", expiry=day(harness, in_list))
    await pages.sign_up()
    added = await pages.post("/app/watches/add", subject=srn)
    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).values(expires_at=harness.now + 10_000 * DAY))
    await sweep(harness)
    certificate = a_registered_certificate("C-9", RECORD, revision="01", expiry=end, status=status)
    harness.world.change(device.uuid, certificates=(certificate,))
    harness.clock.move(DAY)
    await harness.service.refresher.refresh(device.primary_di)
    await run(harness)
    await run(harness, 9)

    changes = [change for event in await harness.events(await pages.caller()) for change in event.changes]
    assert [(each.new, each.standing) for each in changes if each.field == "cert_ends"] == expected
    await pages.sign_in(password=STRONG_PASSWORD)
    [row] = [each for each in (await pages.page(added.headers["location"])).rows if each[0].startswith("C-9")]
    assert (date_in_words(end) in " ".join(row), "Ends in 30 days" in " ".join(row)) == (True, bool(expected))
    await harness.finish_background_work()
    await pages.client.aclose()


async def test_what_a_new_watch_shows_already_is_not_told(harness: ServiceHarness) -> None:
    await run(harness)
    caller = await long_account(harness)
    await store(harness, Certificate("near", expiry=day(harness, 20)), Certificate("nearer", expiry=day(harness, 8)))
    await run(harness, 1)
    assert await told(harness, caller) == [("nearer", "in 7 days")]

    await run(harness, 7)
    await run(harness, 5)
    assert await told(harness, caller) == [("nearer", "in 7 days"), ("nearer", "today"), ("near", "in 7 days")]


async def test_marks_that_were_passed_meanwhile_are_one_event_with_the_nearest(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    await store(harness, Certificate("Z-1", expiry=day(harness, 100)), Certificate("Z-2", expiry=day(harness, 75)))
    await run(harness)

    assert await run(harness, 77) == 1

    assert await told(harness, caller) == [("Z-2", "2 days ago"), ("Z-1", "in 23 days")]
    assert await run(harness, 60) == 1, "also long after its end, where no run was before"
    assert await run(harness, 1) == 0


async def test_an_extended_certificate_has_notices_of_its_own(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    await store(harness, Certificate("Z-1", expiry=day(harness, 8)))
    await run(harness)
    await run(harness, 1)
    await store(harness, Certificate("Z-1", expiry=day(harness, 31)))

    await run(harness, 1)
    await run(harness, 23)

    assert await told(harness, caller) == [("Z-1", "in 7 days"), ("Z-1", "in 30 days"), ("Z-1", "in 7 days")]


async def test_clocks_that_jump_and_second_nodes_tell_nothing_twice(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    await store(harness, Certificate("Z-1", expiry=day(harness, 31)))
    await run(harness)
    await run(harness, 1)

    await run(harness, -20)
    await run(harness, 20)
    service = harness.service
    other = ExpiryService(service.database, service.clock, service.notifications.outbox)
    harness.clock.move(23 * DAY)
    assert [await other.run(), await run(harness), await run(harness, -1), await run(harness, 1)] == [1, 0, 0, 0]

    assert await told(harness, caller) == [("Z-1", "in 30 days"), ("Z-1", "in 7 days")]


async def test_runs_side_by_side_and_one_after_a_killed_one_tell_nothing_twice(harness: ServiceHarness) -> None:
    other = "04099999999985"
    caller = await long_account(harness, "first@acme.example", UDI, other)
    for uuid, udi in (("u-1", UDI), ("u-2", other)):
        await store(harness, Certificate("Z-1", expiry=day(harness, 31)), uuid=uuid, udi=udi)
    await run(harness)
    yesterday = [row["slot"] for row in await harness.rows(ticks) if row["name"] == "expiry day"]
    harness.clock.move(DAY)
    service = harness.service
    nodes = [ExpiryService(service.database, service.clock, service.notifications.outbox) for _ in range(2)]

    assert sum(await asyncio.gather(*(each.run() for each in nodes))) == 2
    async with harness.database.transaction() as connection:  # as if the run had been killed before its end
        await connection.execute(update(ticks).where(ticks.c.name == "expiry day").values(slot=yesterday[0]))
    assert await run(harness) == 0

    assert await told(harness, caller) == [("Z-1", "in 30 days")] * 2


async def test_what_a_long_run_finds_is_one_mail_that_waits_for_the_last_of_it(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowOutbox(DeliveryOutbox):
        async def put(self, *args: Any, **times: Any) -> None:
            await super().put(*args, **times)
            harness.clock.move(15)  # twice for the events of one page of watches

    devices = [str(number) for number in range(4099999990010, 4099999990019)]
    caller = await long_account(harness, "first@acme.example", *devices)
    await mail_user(harness, caller, "ana@acme.example")
    await run(harness)
    for udi in devices:
        await store(harness, Certificate("Z-1", expiry=day(harness, 8)), uuid=udi, udi=udi)
    monkeypatch.setattr(expiry, "WATCHES_AT_A_TIME", 1)
    harness.clock.move(DAY)
    outbox = SlowOutbox(harness.database, harness.clock, email_channel(harness, harness.mail))
    await ExpiryService(harness.database, harness.clock, outbox).run()

    last = max(event.created_at for event in await harness.events(caller))
    [delivery] = await harness.rows(deliveries)
    assert last >= harness.now - 60
    assert delivery["due_at"] >= last + GATHER_SECONDS


async def test_an_account_that_is_back_is_told_the_nearest_mark_that_it_missed(harness: ServiceHarness) -> None:
    caller = await long_account(harness)
    await store(harness, Certificate("Z-1", expiry=day(harness, 80)))
    await run(harness)
    set_period = harness.service.accounts.admin.set_period
    await set_period("first@acme.example", None, harness.now)
    for days in (30, 40, 6):
        assert await run(harness, days) == 0

    await set_period("first@acme.example", None, harness.now + 100 * DAY)
    await run(harness, 1)

    assert await told(harness, caller) == [("Z-1", "in 3 days")]


async def test_an_account_that_is_back_is_told_of_a_certificate_that_came_near_its_end_meanwhile(
    harness: ServiceHarness,
) -> None:
    caller = await long_account(harness)
    await store(harness, Certificate("Z-1", expiry=day(harness, 100)))
    await run(harness)
    set_period = harness.service.accounts.admin.set_period
    await set_period("first@acme.example", None, harness.now)
    for days in (20, 40):
        assert await run(harness, days) == 0

    await set_period("first@acme.example", None, harness.now + 100 * DAY)
    await run(harness, 15)
    await run(harness, 1)

    assert await told(harness, caller) == [("Z-1", "in 25 days")]


async def test_the_end_of_a_revision_is_not_told_while_a_later_one_goes_on(harness: ServiceHarness) -> None:
    caller = await long_account(harness, "first@acme.example", SRN, UDI)
    near, far = day(harness, 91), day(harness, 900)
    await store(harness, Certificate("Z-1", "1", expiry=near), Certificate("Z-1", "2", expiry=far))
    async with harness.database.transaction() as connection:
        await list_certificate(connection, "Z-2", near, id="c-1", uuid="u-1", revision="1")
        await list_certificate(connection, "Z-2", None, id="c-2", uuid="u-2", revision="2")
        await list_certificate(connection, "Z-3", near, id="c-3", uuid="u-3", revision="1")
        await list_certificate(connection, "Z-3", day(harness, 10), id="c-4", uuid="u-4", revision="0")
    await run(harness)

    await run(harness, 2)

    assert await told(harness, caller) == [("Z-3", "in 89 days")]


def test_the_end_of_a_revision_is_told_unless_another_one_of_its_body_ends_later() -> None:
    def told_of(*known: tuple[str, str, str, str]) -> set[str]:
        """Bodies and revisions of those that are told, of body, number, revision and end."""
        certificates = [
            Certificate(number, revision, expiry=end or None, notified_body=body)
            for body, number, revision, end in known
        ]
        shown = [EndingCertificate(shown_certificate(each, START), each.expiry or "") for each in certificates]
        due = due_certificates(shown, START, START + timedelta(90))
        return {"/".join(msgspec.json.decode(each.key)) for each in due if each.may_report}

    first, second, later = "2026-01-10", "2026-01-20", "2027-01-01"
    one = ("0123", "Z", "01", first)
    assert told_of(one, ("0123", "Z", "02", first)) == {"0123/Z/01", "0123/Z/02"}
    assert told_of(one, ("0123", "Z", "02", second), ("0123", "Z", "03", first)) == {"0123/Z/02"}
    assert told_of(one, ("0123", "Z", "01", later)) == {"0123/Z/01"}, "it is no other revision"
    assert told_of(one, ("0123", "Z", "01", later), ("0123", "Z", "02", second)) == set()
    assert told_of(one, ("0482", "Z", "02", later), ("0123", "Y", "02", later)) == {"0123/Z/01"}
    assert told_of(one, ("", "Z", "02", later)) == told_of(("", "Z", "01", first), ("0123", "Z", "02", "")) == set()
    assert told_of(("0123", "", "01", first), ("0123", "", "02", later)) == {"0123//01"}, "none is known to be the same"
    many = told_of(*(("0123", "Z", str(each), second) for each in range(20_000)))
    assert len(many) == 20_000, "also of many that are due, in one pass"


async def test_devices_that_share_a_certificate_are_told_in_one_delivery_and_as_one_cause(
    harness: ServiceHarness,
) -> None:
    other = "04099999999985"
    caller = await long_account(harness, "first@acme.example", UDI, other)
    await add_webhook(harness, caller)
    for uuid, udi in (("u-1", UDI), ("u-2", other)):
        await store(harness, Certificate("Z-1", revision="01", expiry=day(harness, 8)), uuid=uuid, udi=udi)
    await run(harness)

    assert await run(harness, 1) == 2

    found = await harness.events(caller)
    assert len({event.cause for event in found}) == 1
    assert [change.revision for event in found for change in event.changes] == ["01", "01"]
    assert len(await harness.rows(deliveries)) == 1


DAYS = st.integers(-200, 400)
START = date(2026, 1, 1)


@given(
    end=DAYS,
    created=st.integers(0, 100),
    steps=st.lists(st.tuples(st.integers(-40, 200), st.booleans()), max_size=12),
)
def test_marks_go_one_way_and_none_is_told_twice(end: int, created: int, steps: list[tuple[int, bool]]) -> None:
    certificate = DueCertificate("k", "Z-1", START + timedelta(end))
    known: int | None = None
    last, told_marks = START, []
    for step, may_report in steps:
        today = last + timedelta(step)
        seen_on = max(last, START + timedelta(created))
        notice = notice_of(certificate, known, seen_on, today, may_report=may_report)
        if notice is not None:
            assert may_report or not notice.is_reported
            known = notice.mark
            if notice.is_reported:
                told_marks.append(notice.mark)
        last = today

    assert told_marks == sorted(set(told_marks), reverse=True)


@given(st.integers(-40, 200))
def test_days_have_a_mark_and_words(days: int) -> None:
    mark = mark_of(days)

    assert mark in {*MARKS, NO_MARK}
    assert days <= mark
    assert all(days > each for each in MARKS if each < mark)
    assert days_of(when(days)) == max(days, 0)


async def watch_certificate(
    harness: ServiceHarness, number: str, **differs: str | None
) -> tuple[str, CertificateListing]:
    """An account with watches of a device and of its manufacturer, and the device's certificate."""
    device = a_device(harness)
    certificate = list_in_register(harness, device, number, **differs)
    await sweep(harness)
    await read_all_scopes(harness)
    owner = await harness.sign_up("first@acme.example")
    await harness.service.accounts.admin.set_period("first@acme.example", None, harness.now + 2_000 * DAY)
    await harness.post_watches(owner.api_key, device.primary_di, device.manufacturer.srn)
    await harness.finish_background_work()
    await run(harness)
    return owner.api_key, certificate


async def news(harness: ServiceHarness, key: str) -> Sequence[tuple[str, str]]:
    """Severity and words of the certificate changes of an account, oldest first."""
    found = await harness.get_list(key, "events")
    return [(event["severity"], change["new"]) for event in reversed(found) for change in event["changes"]]


@pytest.mark.parametrize("ahead", [-400, -1, 0, 7])
async def test_an_end_that_is_moved_to_the_past_or_within_a_week_is_as_severe_as_its_report(
    harness: ServiceHarness, ahead: int
) -> None:
    key, certificate = await watch_certificate(harness, "Z-1")
    ends = day(harness, ahead)

    harness.world.change_certificate(certificate.uuid, expiry=ends)
    await sweep(harness)
    await harness.post_sync(key)
    await run(harness)

    assert await news(harness, key) == [("high", ends)] * 2


@pytest.mark.parametrize("ahead", [8, 4_000])
async def test_an_end_that_is_moved_to_a_later_day_is_less_severe(harness: ServiceHarness, ahead: int) -> None:
    key, certificate = await watch_certificate(harness, "Z-1")
    ends = day(harness, ahead)

    harness.world.change_certificate(certificate.uuid, expiry=ends)
    await sweep(harness)
    await harness.post_sync(key)

    assert await news(harness, key) == [("medium", ends)] * 2


@pytest.mark.parametrize("ahead", [0, 1, 7, 30])
async def test_an_end_that_a_change_told_on_the_same_day_is_not_reported_beside_it(
    harness: ServiceHarness, ahead: int
) -> None:
    key, certificate = await watch_certificate(harness, "Z-1")
    harness.clock.move(DAY)
    ends = day(harness, ahead)

    harness.world.change_certificate(certificate.uuid, expiry=ends)
    await sweep(harness)
    await harness.post_sync(key)
    before = await news(harness, key)
    await run(harness)

    assert [new for _, new in before] == [ends] * 2
    assert await news(harness, key) == before
    await run(harness, ahead)
    later = [("high", "today")] * 2 if ahead else []
    assert await news(harness, key) == [*before, *later]


@pytest.mark.parametrize(("ahead", "severity"), [(-400, "high"), (0, "high"), (7, "high"), (8, "low")])
async def test_a_certificate_without_an_end_date_that_gets_a_near_or_past_one_is_severe(
    harness: ServiceHarness, ahead: int, severity: str
) -> None:
    key, certificate = await watch_certificate(harness, "Z-1", expiry=None)
    ends = day(harness, ahead)

    harness.world.change_certificate(certificate.uuid, expiry=ends)
    await sweep(harness)
    await harness.post_sync(key)
    await run(harness)

    assert await news(harness, key) == [(severity, ends)] * 2


async def test_an_end_that_is_moved_away_and_back_is_not_reported_beside_the_change(harness: ServiceHarness) -> None:
    ends, later = day(harness, 36), day(harness, 800)
    key, certificate = await watch_certificate(harness, "Z-1", expiry=ends)
    await run(harness, 7)
    for moved, days in ((later, 23), (ends, 1)):
        harness.world.change_certificate(certificate.uuid, expiry=moved)
        await sweep(harness)
        await harness.post_sync(key)
        await run(harness, days)

    told = [("medium", "in 29 days"), ("medium", later), ("high", ends)]
    assert await news(harness, key) == [each for each in told for _ in range(2)]
    await run(harness, 5)
    assert (await news(harness, key))[6:] == [("high", "today")] * 2
