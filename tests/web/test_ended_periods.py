"""After an account's period has ended its watches are not read: no surface may look as if nothing had changed."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from icalendar import Calendar
from openpyxl import load_workbook

from registerwatch.accounts.plans import PlanName
from tests.files.lists.steps import ListSteps
from tests.mcp.messages import used
from tests.notifications.feeds.feed_reader import Entry, ReadFeed, days_of, feed_of
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_registered_certificate
from tests.support.harness import EMAIL, NewAccount, ServiceHarness, auth_headers

DAY = 24 * 3600
NOTICE = (
    "The period of the account ended on 22 Jan 2027, 08:00 UTC: its watches are not read any more. That no change is"
    " shown since then does not mean that there was none."
)
HEADLINE = "The period of the account has ended: its watches are not read any more"
LISTS = ("/v1/watches", "/v1/watches?limit=5", "/v1/expiring", "/v1/events", "/v1/events?after=0")
PAGES = ("/app", "/app/watches", "/app/events", "/app/certificates", "/app/lists", "/app/watches/1")
FILES = (
    *("/app/watches.csv", "/app/watches.xlsx", "/app/certificates.csv"),
    *("/v1/lists/1/lines.csv", "/v1/lists/1/lines.xlsx", "/app/lists/1/lines.csv"),
)


class Surfaces:
    """What an account is shown that watches one device, whose certificate ends in some weeks."""

    def __init__(self, harness: ServiceHarness, owner: NewAccount, udi: str, feed: Mapping[str, str]) -> None:
        self.harness, self.owner, self.udi, self.feed = harness, owner, udi, feed
        self.pages = PagesClient(harness)

    async def saying(self) -> dict[str, bool]:
        """Of every surface, whether it says that the period has ended."""
        said = {path: (await self.answer(path)).get("notice") == NOTICE for path in LISTS}
        for arguments in ({}, {"limit": 5}):
            tool = await used(self.harness, "list_watches", self.owner.api_key, **arguments)
            said[f"list_watches {arguments}"] = tool.payload.get("notice") == NOTICE
        said |= {path: NOTICE in (await self.pages.page(path)).main for path in PAGES}
        for filters in ("", "&severity=high"):
            said[f"entry {filters}"] = HEADLINE in [each.title for each in await self.entries(filters)]
        for filters in ("", "&severity=high", "&before=99"):
            said[f"subtitle {filters}"] = (await self.read(filters)).subtitle == NOTICE
        calendar = await self.fetched(self.feed["expiring"])
        [certificate] = [each for each in days_of(calendar) if each.summary.startswith("Certificate ")]
        said["certificate in the calendar"] = NOTICE in certificate.description
        said["description of the calendar"] = NOTICE in str(Calendar.from_ical(calendar)["x-wr-caldesc"])
        said["day in the calendar"] = HEADLINE in [each.summary for each in days_of(calendar)]
        for path in FILES:
            [_, row] = await self.rows(path)
            said[path] = any(str(cell).endswith("; period ended") for cell in row)
        said["scanned codes"] = (
            "yes; period ended" in (await self.pages.post("/app/scan", codes=self.udi, step="csv")).text
        )
        file = (await self.pages.get("/app/events.csv")).headers["content-disposition"]
        said["/app/events.csv"] = "registerwatch-events-until-2027-01-22.csv" in file
        return said

    async def answer(self, path: str) -> dict[str, Any]:
        """What REST answers."""
        found: dict[str, Any] = (await self.harness.client.get(path, headers=auth_headers(self.owner.api_key))).json()
        return found

    async def fetched(self, address: str) -> bytes:
        """What is at an address of a feed, as a reader without a key fetches it."""
        parts = urlsplit(address)
        return (await self.harness.client.get(f"{parts.path}?{parts.query}")).content

    async def read(self, filters: str = "") -> ReadFeed:
        """The feed as a reader sees it."""
        found = feed_of(await self.fetched(self.feed["events"] + filters))
        assert found.problem is None
        return found

    async def entries(self, filters: str = "") -> Sequence[Entry]:
        """The entries of the feed."""
        return (await self.read(filters)).entries

    async def rows(self, path: str) -> Sequence[Sequence[object]]:
        """The rows of a file."""
        if path.startswith("/app"):
            file = await self.pages.get(path)
        else:
            file = await self.harness.client.get(path, headers=auth_headers(self.owner.api_key))
        assert file.status_code == 200, path
        if path.endswith(".csv"):
            return list(csv.reader(io.StringIO(file.content.decode("utf-8-sig"), newline="")))
        [sheet] = load_workbook(io.BytesIO(file.content)).worksheets
        return list(sheet.iter_rows(values_only=True))


@pytest.fixture
async def surfaces(harness: ServiceHarness) -> Surfaces:
    """Those of an account that was just opened."""
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    harness.world.change(device.uuid, certificates=(a_registered_certificate("Z-1"),))
    await harness.post_watches(owner.api_key, device.primary_di)
    await ListSteps(harness, owner).kept(f"GTIN\n{device.primary_di}\n")
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    found = Surfaces(harness, owner, device.primary_di, feed)
    await found.pages.sign_in()
    return found


async def test_every_surface_says_that_watches_are_not_read_any_more_until_the_account_goes_on(
    harness: ServiceHarness, surfaces: Surfaces
) -> None:
    harness.clock.move(7 * DAY - 1)
    assert {name for name, is_said in (await surfaces.saying()).items() if is_said} == set()

    harness.clock.move(1)
    assert {name for name, is_said in (await surfaces.saying()).items() if not is_said} == set()

    await harness.service.accounts.admin.set_period(EMAIL, PlanName.STANDARD, harness.now + 30 * DAY)
    assert {name for name, is_said in (await surfaces.saying()).items() if is_said} == set()
    assert "period_ended_at" not in await surfaces.answer("/v1/watches")


async def test_an_end_is_one_entry_and_one_day_that_keep_their_ids_and_another_end_is_another_one(
    harness: ServiceHarness, surfaces: Surfaces
) -> None:
    seen: list[tuple[str, str]] = []
    harness.clock.move(6 * DAY)
    await harness.post_sync(surfaces.owner.api_key)
    for days in (1, 30, 20):
        harness.clock.move(days * DAY)
        [entry] = await surfaces.entries()
        days_shown = days_of(await surfaces.fetched(surfaces.feed["expiring"]))
        seen.append((entry.id, next(each.uid for each in days_shown if each.summary == HEADLINE)))
        assert entry.link.endswith("/app/billing")
        assert (entry.terms, entry.text, entry.is_dated) == (["period-ended"], NOTICE, True)
    assert len(set(seen)) == 1, "of the watch that nobody has read for months the entry of the end says why"

    await harness.service.accounts.admin.set_period(EMAIL, PlanName.STANDARD, harness.now + 30 * DAY)
    harness.clock.move(31 * DAY)
    [*_, again] = [each for each in await surfaces.entries() if each.title == HEADLINE]
    assert again.id != seen[0][0]


async def test_programs_are_told_when_the_period_ended(harness: ServiceHarness, surfaces: Surfaces) -> None:
    harness.clock.move(9 * DAY)

    ended = {(await surfaces.answer(path))["period_ended_at"] for path in LISTS}
    me = await surfaces.answer("/v1/me")

    assert ended == {me["expires_at"]} == {"2027-01-22T08:00:00Z"}


async def test_what_could_not_be_read_before_the_end_stays_in_the_feed(
    harness: ServiceHarness, surfaces: Surfaces
) -> None:
    harness.clock.move(4 * DAY)
    before = [each.terms for each in await surfaces.entries()]
    harness.clock.move(4 * DAY)

    assert [each.terms for each in await surfaces.entries()] == [["period-ended"], *before]
    assert before == [["overdue"]]
