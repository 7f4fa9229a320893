"""The same change has the same words wherever people read of it: on pages, in mails, in chats, in feeds."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import update

from registerwatch.accounts.tables import users
from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.feeds.atom import PageLinks, atom
from registerwatch.notifications.feeds.models import Feed, FeedPage
from registerwatch.notifications.use_cases import CHATS
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.events.event_pages import GroupPage
from registerwatch.watches.events.event_repository import NewEvent, add_events
from registerwatch.watches.events.event_rules import is_version_alone
from registerwatch.watches.events.event_selection import EventSelection, EventView
from registerwatch.watches.models import Event
from tests.notifications.channels.sample_events import AT, an_event, mail_about
from tests.notifications.channels.test_chat import body_about, texts_in
from tests.notifications.feeds.feed_reader import feed_of
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
SEEN_AT = AT + 15 * 3600 + 1800
"""2027-01-15, 23:30 UTC: the day after in Athens, where the readers are."""


@dataclass(frozen=True)
class Told:
    """What people read of a change, in a row of a table."""

    field: str
    before: str | None
    """None where there is no before."""
    after: str


@dataclass(frozen=True)
class Sample:
    """An event with what people read of it."""

    told: Told
    changes: Sequence[FieldChange]
    line: str
    """The change in one line."""
    line_in_utc: str = ""
    """What feeds say, whose readers have no time zone, where that differs."""

    @property
    def name(self) -> str:
        return f"{self.told.field}, {self.told.before}"


def a_sample(
    field: str, before: str | None, after: str, *changes: FieldChange, line: str = "", line_in_utc: str = ""
) -> Sample:
    values = after if before is None else f"{before} → {after}"
    return Sample(Told(field, before, after), changes, line or f"{field}: {values}", line_in_utc)


NAMED = [FieldChange("device_registered", "", name, device=f"0401{name}") for name in ("Zolid", "Savina")]
SAMPLES = [
    a_sample(
        "Market status",
        "On the EU market",
        "No longer placed on the EU market",
        FieldChange("status", "On the EU market", "No longer placed on the EU market"),
    ),
    a_sample("New certificate", None, "Z-1", FieldChange("certificate", "", "Z-1", "Z-1")),
    a_sample(
        "New certificate (revision 01)",
        None,
        "Z-1 (withdrawn)",
        FieldChange("certificate", "", "Z-1", "Z-1", revision="01", standing="Withdrawn"),
    ),
    a_sample("Certificate number", "Z-1", "Z-2", FieldChange("certificate", "Z-1", "Z-2", "Z-2")),
    a_sample(
        "Certificate status (Z-1)", "Issued", "Suspended", FieldChange("cert_status", "Issued", "Suspended", "Z-1")
    ),
    a_sample(
        "Certificate expiry (Z-1)",
        "24 Dec 2026",
        "1 Mar 2030",
        FieldChange("cert_expiry", "2026-12-24", "2030-03-01", "Z-1"),
    ),
    a_sample("Certificate expiry (Z-1)", "nothing", "1 Mar 2030", FieldChange("cert_expiry", "", "2030-03-01", "Z-1")),
    a_sample(
        "End of the certificate (Z-1)",
        None,
        "22 Jan 2027, in 6 days",
        FieldChange("cert_ends", "2027-01-22", "in 7 days", "Z-1"),
        line_in_utc="End of the certificate (Z-1): 22 Jan 2027, in 7 days",
    ),
    a_sample(
        "End date of the certificate (Z-1, revision 01)",
        None,
        "22 Jan 2027, in 6 days (suspended)",
        FieldChange("cert_ends", "2027-01-22", "in 7 days", "Z-1", revision="01", standing="Suspended"),
        line_in_utc="End date of the certificate (Z-1, revision 01): 22 Jan 2027, in 7 days (suspended)",
    ),
    a_sample("Refused application for a certificate", None, "A-17", FieldChange("cert_refused", "", "A-17")),
    a_sample(
        "Devices registered",
        None,
        "12: Zolid, Savina and 10 more",
        FieldChange("devices_registered", "", "12"),
        *NAMED,
        line="12 devices registered: Zolid, Savina and 10 more",
    ),
    a_sample(
        "Devices on the market again",
        None,
        "3: Pump (0401), Pump (0402), Savina",
        FieldChange("devices_on_market", "", "3"),
        FieldChange("device_on_market", "", "Pump", device="0401"),
        FieldChange("device_on_market", "", "Pump", device="0402"),
        FieldChange("device_on_market", "", "Savina", device="0403"),
        line="3 devices on the market again: Pump (0401), Pump (0402), Savina",
    ),
    a_sample(
        "Devices off the market", None, "1", FieldChange("devices_off_market", "", "1"), line="1 device off the market"
    ),
    a_sample(
        "Device off the market", None, "Savina (0401)", FieldChange("device_off_market", "", "Savina", device="0401")
    ),
    a_sample("Version of the record", "4", "5", FieldChange("version", "4", "5")),
    a_sample("Date of the market status", "nothing", "3 Jan 2027", FieldChange("status_date", "", "2027-01-03")),
    a_sample("Recall state", "Open", "Ordered", FieldChange("recall_state", "Open", "Ordered")),
]


SENT = [each for each in SAMPLES if not is_version_alone(each.changes)]
"""What people are sent: a new version alone is not."""


def in_mail_text(event: Event) -> Told:
    text = mail_about(event, now=event.created_at).text
    compared = re.search(r"\n\n  (.+)\n    before: (.+)\n    after:  (.+)\n", text)
    if compared:
        return Told(*compared.groups())
    alone = re.search(r"\n\n  (.+)\n    (.+)\n", text)
    assert alone, text
    return Told(alone[1], None, alone[2])


def in_mail_html(event: Event) -> Told:
    [[field, *values]] = [row for row in Markup(mail_about(event, now=event.created_at).html).rows if len(row) > 1]
    return Told(field, values[0] if len(values) == 2 else None, values[-1])


def in_chat(service: ChatService, now: int = SEEN_AT) -> Callable[[Event], Sequence[str]]:
    def lines(event: Event) -> Sequence[str]:
        texts = texts_in(body_about(service, event, now=now), "text", "content", "description")
        unescaped = (re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text) for text in texts)
        return [line.lstrip("-• ") for text in unescaped for line in text.splitlines()]

    return lines


def in_feed(event: Event) -> Sequence[str]:
    shown = FeedPage(Feed(7, "ft_ab…wxyz", SEEN_AT), GroupPage([EventGroup([event])], None))
    links = PageLinks("https://a", "https://a", None)
    [entry] = feed_of(atom(shown, public_url="https://watch.example", links=links)).entries
    return [entry.title.removeprefix(f"{event.label}: "), *entry.text.splitlines()]


ROWS: dict[str, Callable[[Event], Told]] = {"text": in_mail_text, "HTML": in_mail_html}
LINES: dict[str, Callable[[Event], Sequence[str]]] = {
    **{service.name: in_chat(service) for service in CHATS},
    "feed": in_feed,
}


@pytest.mark.parametrize("form", ROWS)
def test_a_mail_has_the_row_of_a_change(form: str) -> None:
    found = {each.name: ROWS[form](an_event(*each.changes, at=SEEN_AT)) for each in SENT}

    assert found == {each.name: each.told for each in SENT}


@pytest.mark.parametrize("surface", LINES)
def test_chats_and_feeds_have_the_line_of_a_change_and_no_iso_date(surface: str) -> None:
    samples = SAMPLES if surface == "feed" else SENT
    found = {each.name: LINES[surface](an_event(*each.changes, at=SEEN_AT)) for each in samples}

    expected = {each.name: (surface == "feed" and each.line_in_utc) or each.line for each in samples}
    assert {name: lines for name, lines in found.items() if expected[name] not in lines} == {}
    assert not ISO_DATE.search(str(found))


async def in_events(pages: PagesClient) -> Told:
    row = (await pages.page("/app/events")).rows[1]
    return Told(row[3], *row[4:6])


async def in_watch(pages: PagesClient) -> Told:
    return Told(*(await pages.page("/app/watches/1")).rows[0])


async def in_today(pages: PagesClient) -> str:
    [change] = [
        each.text for each in (await pages.page("/app")).all("td") if each.attributes.get("data-label") == "Change"
    ]
    return change


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_pages_have_the_row_and_the_line_of_a_change(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    caller = await owner_pages.caller()
    await owner_pages.post("/app/watches/add", subject="DE-MF-000012345")
    harness.clock.move(SEEN_AT - harness.now)
    found = {}
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(time_zone="Europe/Athens"))
    for each in SAMPLES:
        new = NewEvent(caller.account.id, 1, "DE-MF-000012345", "Acme", "", each.changes, False)
        async with harness.database.transaction() as connection:
            await add_events(connection, [new], harness.now)
        found[each.name] = await in_events(owner_pages), await in_watch(owner_pages), await in_today(owner_pages)
        await harness.service.watches.marks.archive_matching(caller, EventSelection(EventView.ALL), MAX_ROW_ID)

    assert {name: [_plain(rows[0]), _plain(rows[1]), rows[2]] for name, rows in found.items()} == {
        each.name: [_plain(each.told), _plain(each.told), each.line] for each in SAMPLES
    }


ENDS = FieldChange("cert_ends", "2027-01-22", "in 7 days", "Z-1")
LATER = [
    (6 * 86_400, "certificate Z-1 ends today", ", today"),
    (8 * 86_400, "end date of certificate Z-1: 22 Jan 2027", ""),
]
"""Seconds after `SEEN_AT`, and how near the end is then in Athens, in a subject and behind the date. One that has
passed since may have been extended.
"""


@pytest.mark.parametrize(("seconds", "in_subject", "when"), LATER)
def test_a_digest_counts_days_from_the_readers_day_on_which_it_is_put_together(
    seconds: int, in_subject: str, when: str
) -> None:
    event, now = an_event(ENDS, at=SEEN_AT), SEEN_AT + seconds

    mail = mail_about(event, now=now)
    assert mail.subject == f"High: {in_subject} (Ceramill Zolid)"
    assert f"22 Jan 2027{when}\n" in mail.text
    assert f"22 Jan 2027{when}" in [cell for row in Markup(mail.html).rows for cell in row]
    for service in CHATS:
        assert f"End of the certificate (Z-1): 22 Jan 2027{when}" in in_chat(service, now)(event), service.name


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_pages_count_days_from_the_readers_today(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    caller = await owner_pages.caller()
    await owner_pages.post("/app/watches/add", subject="DE-MF-000012345")
    harness.clock.move(SEEN_AT - harness.now)
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(time_zone="Europe/Athens"))
        new = NewEvent(caller.account.id, 1, "DE-MF-000012345", "Acme", "", [ENDS], False)
        await add_events(connection, [new], harness.now)
    for seconds, _, when in LATER:
        harness.clock.move(SEEN_AT + seconds - harness.now)
        found = await in_events(owner_pages), await in_watch(owner_pages), await in_today(owner_pages)
        words = f"22 Jan 2027{when}"
        assert (found[0].after, found[1].after, found[2]) == (words, words, f"End of the certificate (Z-1): {words}")
        assert f"2027-01-22{when}" in (await owner_pages.get("/app/events.csv", view="all")).text


def _plain(told: Told) -> Told:
    """Without the signs by which pages and texts set a number apart, or say that there is no before."""
    before = None if told.before in (None, "–") else told.before
    return Told(re.sub("[()]", "", told.field), before, told.after)
