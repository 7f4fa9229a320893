"""Days and times on pages of an account are those of whoever looks, and the pages name the zone."""

from typing import Any

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Role
from registerwatch.accounts.tables import users
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, StatusFilter, label
from registerwatch.register.models import Certificate
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, snapshot_of_device
from tests.files.lists.steps import ListSteps
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import EMAIL, NewAccount, ServiceHarness

BERLIN, LOS_ANGELES = "Europe/Berlin", "America/Los_Angeles"
COLLEAGUE = "colleague@acme.example"
UDI = a_udi(1)
LAST_DAY = "2027-01-15"
ISSUED = f"{CERTIFICATE_STATUS_PREFIX}issued"
HOUR = 3600


@pytest.fixture
async def colleague_pages(harness: ServiceHarness, owner_pages: PagesClient) -> PagesClient:
    """A colleague in Los Angeles, and the owner in Berlin."""
    caller = await owner_pages.caller()
    await harness.service.accounts.members.add_user(caller, COLLEAGUE, STRONG_PASSWORD)
    colleague = PagesClient(harness)
    await colleague.sign_in(COLLEAGUE, STRONG_PASSWORD)
    await owner_pages.post("/app/settings/time-zone", zone=BERLIN)
    await colleague.post("/app/settings/time-zone", zone=LOS_ANGELES)
    return colleague


@pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("hours", "hours_of_list"),
    [(15.5, 0), (19, 19)],
    ids=["the day of Los Angeles is that of UTC", "that of Berlin is, in which the list was matched"],
)
async def test_each_user_of_an_account_counts_days_in_their_own_zone_and_is_told_which(
    harness: ServiceHarness, owner_pages: PagesClient, colleague_pages: PagesClient, hours: float, hours_of_list: float
) -> None:
    harness.clock.move(hours_of_list * HOUR)
    list_id = await _device_with_a_certificate(harness, owner_pages)
    harness.clock.move((hours - hours_of_list) * HOUR)

    for pages, zone in ((owner_pages, BERLIN), (colleague_pages, LOS_ANGELES)):
        for name, (text, (before, after), foot) in (await _told(pages, list_id)).items():
            assert (before in text, after in text) == (zone != BERLIN, zone == BERLIN), (zone, name, text)
            assert f"Days and times are those of {zone.replace('_', ' ')}." in foot, (zone, name)
        public = await pages.page(f"/d/{UDI}")
        assert ("Expired" in public.facts["Certificates"]) == (hours == 19), "UTC, which everybody is shown"
        assert public.one("p", **{"class": "zone"}).text == "Days and times are those of UTC."


async def _device_with_a_certificate(harness: ServiceHarness, pages: PagesClient) -> int:
    """Let the account watch a device, and have it in a list; the id of the list."""
    market: dict[str, Any] = {"status": label(StatusFilter.ON.code), "status_code": StatusFilter.ON.code}
    certificate = Certificate("Z-1", expiry=LAST_DAY, status="Issued", status_code=ISSUED, type_code="x")
    reading = a_full_reading("u-1", UDI, trade_name="Pump", certs=(certificate,), **market)
    await harness.store(reading)
    seen = snapshot_of_device(reading.device, certificates_read=True, searched=True)
    caller = await pages.caller()
    async with harness.database.transaction() as connection:
        new = NewWatch(UDI, "Pump", encoded(seen), harness.now)
        await repository.add(connection, caller.account.id, [new], harness.now)
    steps = ListSteps(harness, NewAccount(EMAIL, "", session := await pages.rest_session(), session, {}))
    return await steps.kept(f"GTIN\n{UDI}\n")


async def _told(pages: PagesClient, list_id: int) -> dict[str, tuple[str, tuple[str, str], str]]:
    """By page its text, words that are there before and after the certificate has ended, and its foot."""
    states = "ends within 90 days", "expired"
    asked = {
        "/app": ("today is the last day", "ended yesterday"),
        "/app/watches": states,
        "/app/watches/1": states,
        "/app/certificates": states,
        "/app/lists": ("found", "no valid certificate"),
        f"/app/lists/{list_id}": states,
    }
    found = {path: (await pages.page(path), words) for path, words in asked.items()}
    found["scan"] = Markup.of(await pages.post("/app/scan", code=UDI, codes="")), states
    shown = {
        name: (page.main.casefold(), words, page.one("p", **{"class": "zone"}).text)
        for name, (page, words) in found.items()
    }
    files = {path: (await pages.get(path)).text for path in ("/app/watches.csv", f"/app/lists/{list_id}/lines.csv")}
    zone = shown["/app"][2]
    return {**shown, **{path: (text.casefold(), states, zone) for path, text in files.items()}}


@pytest.mark.parametrize(
    ("named", "zone"),
    [
        ("Asia/Kolkata", "Asia/Kolkata"),
        ("", "UTC"),
        ("Mars/Olympus", "UTC"),
        ("Etc/GMT+5", "UTC"),
        ("x" * 9_000, "UTC"),
    ],
)
async def test_a_new_user_has_the_zone_that_the_browser_names_or_utc(
    harness: ServiceHarness, browser_client: PagesClient, named: str, zone: str
) -> None:
    form = await browser_client.page("/signup")
    assert form.one("input", name="zone").attributes["value"] == "", "without script it stays empty"
    fields = {"email": EMAIL, "password": STRONG_PASSWORD, "company": "Acme", "zone": named}
    assert (await browser_client.post("/signup", **fields)).status_code == 303

    assert f"those of {zone}." in (await browser_client.page("/app")).one("p", **{"class": "zone"}).text


async def test_instants_in_lines_of_the_audit_trail_are_those_of_whoever_reads(
    harness: ServiceHarness, owner_pages: PagesClient, colleague_pages: PagesClient
) -> None:
    admin, accounts = harness.service.accounts.admin, harness.service.accounts
    await admin.set_period(EMAIL, None, harness.now + 8 * HOUR)
    caller = await owner_pages.caller()
    await harness.service.notifications.channels.pause(caller, harness.now + HOUR)
    for name in ("until 2027-99-99T99:99:99Z", "until 0001-01-01T00:00:00Z", "<b>2027-01-15T08:00:00Z"):
        await accounts.profiles.rename_account(caller, name)
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(role=Role.OWNER))

    for pages, zone, ended, paused in (
        (owner_pages, "Europe/Berlin", "15 Jan 2027, 17:00", "15 Jan 2027, 10:00"),
        (colleague_pages, "America/Los Angeles", "15 Jan 2027, 08:00", "15 Jan 2027, 01:00"),
    ):
        page = await pages.page("/app/audit")
        assert f"Days and times are those of {zone}." in page.one("p", **{"class": "zone"}).text
        told = [row[3] for row in page.rows]
        assert f"trial until {ended}" in told
        assert f"all channels paused until {paused}" in told
        assert "<b>2027-01-15T08:00:00Z" in told, "a name stays as it was given"
        assert "until 2027-99-99T99:99:99Z" in told, "and so does what is no instant"
    file = (await owner_pages.get("/app/audit.csv")).text
    assert "trial until 2027-01-15T16:00:00Z" in file


async def test_mails_to_owners_have_times_of_each_of_their_zones(
    harness: ServiceHarness, owner_pages: PagesClient, colleague_pages: PagesClient
) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(update(users).values(role=Role.OWNER, confirmed_at=1))
    await harness.finish_background_work()
    harness.mail.mails.clear()
    caller = await owner_pages.caller()

    await harness.service.accounts.api_keys.create(caller, "key")
    await harness.finish_background_work()

    assert {mail.to: mail.text.partition("):")[0].rpartition("\n")[2] + ")" for mail in harness.mail.mails} == {
        EMAIL: f"15 Jan 2027, 09:00 ({BERLIN})",
        COLLEAGUE: "15 Jan 2027, 00:00 (America/Los Angeles)",
    }
