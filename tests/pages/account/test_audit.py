"""The audit trail in the browser: filters in the address, pages in both directions, a file."""

import csv
import io

from sqlalchemy import text

from registerwatch.accounts.audit import audit_trail
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.audit.audit_pages import PAGE_LINES
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import accessibility_problems
from tests.support.harness import EMAIL, ServiceHarness

HOSTILE = '=HYPERLINK("x")<script>'


async def write(harness: ServiceHarness, number: int) -> None:
    """Lines of the operator, an hour after each other."""
    async with harness.database.transaction() as connection:
        for each in range(number):
            harness.clock.move(3_600)
            subject = HOSTILE if each == 0 else f"line {each}"
            await audit_trail.add(
                connection, 1, now=harness.now, actor="operator", action=Action.PLAN_CHANGED, subject=subject
            )


async def test_the_trail_is_filtered_by_the_address_and_read_page_by_page(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await write(harness, PAGE_LINES)
    first = await owner_pages.page("/app/audit")
    assert accessibility_problems(first) == []
    assert len(first.rows) == PAGE_LINES
    assert first.rows[0][1:] == ["operator", "Plan changed", f"line {PAGE_LINES - 1}"]

    second = await owner_pages.page(first.link("Older →"))
    assert second.rows == [["15 Jan 2027, 08:00", EMAIL, "Account opened", ""]]
    assert (await owner_pages.page(second.link("← Newer"))).rows == first.rows

    billing = await owner_pages.page("/app/audit", about="billing", by="operator")
    assert len(billing.rows) == PAGE_LINES
    assert [each["value"] for each in billing.all("option") if "selected" in each.attributes] == ["operator"]
    assert (await owner_pages.page("/app/audit", about="keys")).main.count("No line is like that") == 1
    mine = await owner_pages.page(second.link(EMAIL))
    assert [row[2] for row in mine.rows] == ["Account opened"]


async def test_days_are_those_of_the_users_zone(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await write(harness, 20)
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE users SET time_zone = 'Pacific/Auckland'"))

    day = await owner_pages.page("/app/audit", **{"from": "2027-01-16", "to": "2027-01-16"})

    assert day.rows[-1][0] == "16 Jan 2027, 00:00"
    assert day.rows[0][0] == "16 Jan 2027, 17:00"
    assert day.one("input", id="from")["value"] == "2027-01-16"


async def test_the_file_has_every_line_and_no_formula(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await write(harness, PAGE_LINES + 2)

    response = await owner_pages.get("/app/audit.csv?about=billing")

    assert response.headers["content-disposition"] == 'attachment; filename="audit-trail.csv"'
    header, *lines = csv.reader(io.StringIO(response.text.removeprefix("\ufeff")))
    assert header[1:4] == ["Who", "What", "To whom or what"]
    assert len(lines) == PAGE_LINES + 2
    assert lines[-1][3] == f"'{HOSTILE}"
    assert HOSTILE not in (await owner_pages.get("/app/audit?about=billing")).text


async def test_bad_addresses_are_refused_and_members_are_not_let_in(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    bad = (
        "about=all",
        "from=31.3.2027",
        "to=9999-12-31",
        "before=x",
        "after=-1",
        "before=1&after=2",
        f"before={2**63}",
    )
    for query in bad:
        for path in ("/app/audit", "/app/audit.csv"):
            assert (await owner_pages.get(f"{path}?{query}")).status_code == 400, query
    assert (await owner_pages.get("/app/audit?by=%00%F0%9F%92%A9")).status_code == 200
    await harness.post(
        "/v1/users", await owner_pages.rest_session(), email="member@acme.example", password="another long phrase"
    )
    await owner_pages.sign_in("member@acme.example", "another long phrase")
    assert (await owner_pages.get("/app/audit")).status_code == 403
    assert (await owner_pages.get("/app/audit.csv")).status_code == 403
