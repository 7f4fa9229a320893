"""The page of certificates: groups, views, the chart, what nobody could read."""

import csv
import io
from datetime import UTC, datetime, timedelta

from registerwatch.platform.structs import replace
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX
from registerwatch.watches import repository
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import SeenCertificate, encoded
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import a_udi
from tests.support.harness import SRN, ServiceHarness
from tests.watches.builders import a_certificate, a_snapshot, without_certificates

PATH = "/app/certificates"
SUSPENDED = "refdata.certificate-status.suspended"
HOSTILE = '<script>alert(1)</script>"=1+1'


def in_days(harness: ServiceHarness, days: int) -> str:
    return str(datetime.fromtimestamp(harness.clock.now(), UTC).date() + timedelta(days=days))


def a_watch(number: int, *certs: SeenCertificate, maker: str = "Acme", srn: str = SRN) -> NewWatch:
    snapshot = a_snapshot(*certs, manufacturer_name=maker, manufacturer_srn=srn)
    return NewWatch(a_udi(number), f"Device {number}", encoded(snapshot), 1_800_000_000)


async def watch(harness: ServiceHarness, pages: PagesClient, *new: NewWatch) -> None:
    caller = await pages.caller()
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, new, harness.now)


async def test_certificates_are_shown_by_group_manufacturer_device_and_month(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    empty = await owner_pages.page(PATH)
    assert "You watch no device yet" in empty.main
    assert accessibility_problems(empty) == []
    soon = a_certificate(HOSTILE, "02", in_days(harness, 12), notified_body="0123")
    shared = a_certificate("Z-2", expiry=in_days(harness, 100), is_unconfirmed=True)
    ended = a_certificate("Z-3", expiry=in_days(harness, -1), status_code=SUSPENDED)
    await watch(
        harness,
        owner_pages,
        a_watch(1, soon, shared),
        a_watch(2, shared),
        a_watch(3, ended, a_certificate("Z-4"), maker="<b>Other", srn="FR-MF-000000001"),
        a_watch(4),
        NewWatch(a_udi(5)),
        NewWatch(a_udi(6), "Clamp", encoded(without_certificates()), 7),
    )

    page = await owner_pages.page(PATH)

    assert accessibility_problems(page) == []
    assert "Not looked yet: 2 devices." in page.main
    assert [row[:2] for row in page.rows] == [
        ["Z-3", page.rows[0][1]],
        [f"{HOSTILE} Revision 02, notified body 0123", page.rows[1][1]],
        ["Z-2", page.rows[2][1]],
        ["Z-4", "No end date"],
    ]
    assert page.rows[0][1].endswith("Ended yesterday")
    assert page.rows[1][1].endswith("Ends in 12 days")
    assert [row[2] for row in page.rows] == ["✕ Suspended", "! Ends within 90 days", "✓ Valid", "✓ No end date"]
    assert page.rows[2][4] == "2 devices Not confirmed by the last read for 2"
    assert next(each.text for each in page.all("title") if each.is_drawn) == "When certificates end, by month"
    assert len(page.all("circle")) == 3
    for words, address in {
        "Ended 1": f"{PATH}?group=ended",
        "Within 30 days 1": f"{PATH}?group=30",
        "Within 6 months 2": f"{PATH}?group=six-months",
        "91 to 180 days 1": f"{PATH}?group=180",
        "No end date 1": f"{PATH}?group=undated",
        "Missing or in doubt 3": f"{PATH}?view=gaps",
    }.items():
        assert page.link(words) == address
    half_year = await owner_pages.page(PATH, group="six-months")
    assert [row[0] for row in half_year.rows] == [f"{HOSTILE} Revision 02, notified body 0123", "Z-2"]
    assert half_year.one("input", type="hidden", name="group")["value"] == "six-months"
    assert half_year.link("Devices") == f"{PATH}?group=six-months&view=devices"
    assert half_year.link("Ended 1") == f"{PATH}?group=ended"
    views = {view: await owner_pages.page(PATH, view=view) for view in ("manufacturers", "devices", "months", "gaps")}
    assert [problem for each in views.values() for problem in accessibility_problems(each)] == []
    assert views["manufacturers"].rows == [
        ["Acme", "0", "1", "0", "1", "0", "0", "! Ends within 90 days (1 of 2)"],
        ["<b>Other", "1", "0", "0", "0", "0", "1", "! Suspended (1 of 2)"],
    ]
    assert [row[0] for row in views["devices"].rows][:2] == [f"Device 3 {a_udi(3)}", f"Device 1 {a_udi(1)}"]
    assert [row[1:] for row in views["months"].rows] == [["2", "2"], ["1", "2"]]
    assert "Most devices of class I need no certificate." in views["gaps"].main
    assert [row[2] for row in views["gaps"].rows] == ["Not looked yet", "Not looked yet", "The register lists none"]


async def test_who_watches_manufacturers_alone_reads_where_their_certificates_are(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await watch(harness, owner_pages, NewWatch(SRN, "Acme"))

    empty, today = await owner_pages.page(PATH), await owner_pages.page("/app")

    manufacturers = await owner_pages.page(empty.link("manufacturers that you watch"))
    assert SRN in str(manufacturers.rows)
    assert "Certificates of watched devices near their end date 0" in today.main


async def test_a_certificate_whose_devices_were_read_at_different_times_is_one_row_that_says_so_once(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    codes = {name: f"{CERTIFICATE_STATUS_PREFIX}{name}" for name in ("issued", "reissued", "expired")}
    issued = a_certificate("Z-1", expiry="2028-01-01", status_code=codes["issued"])
    reissued = a_certificate("Z-1", expiry="2030-01-01", status_code=codes["reissued"])
    odd = a_certificate("Z-2", expiry="2030-01-01", status_code=codes["expired"])
    late = replace(a_watch(3, reissued, odd), read_at=1_800_086_400)
    await watch(harness, owner_pages, a_watch(1, issued), a_watch(2, issued), late)

    page = await owner_pages.page(PATH)
    devices = await owner_pages.page(PATH, view="devices")
    file = await owner_pages.get(f"{PATH}.csv")

    assert accessibility_problems(page) == []
    assert page.link("All 2") == PATH
    odd_row, row = sorted(page.rows, key=lambda each: each[0], reverse=True)
    assert (row[0], row[4]) == ("Z-1", "3 devices")
    assert row[2] == (
        "✓ Valid register: reissued Devices were read at different times: Reissued, end date 1 Jan 2030, for 1 device"
        " read until 16 Jan 2027, 08:00; Issued, end date 1 Jan 2028, for 2 devices read until 15 Jan 2027, 08:00."
    )
    assert odd_row[1] == "1 Jan 2030"
    assert odd_row[2].startswith("✕ Expired by status, not by date The register contradicts itself: ")
    assert sorted(each[2] for each in devices.rows if each[1] == "Z-1") == [
        *["1 Jan 2028 Ends in 351 days"] * 2,
        "1 Jan 2030 Ends in 1,082 days",
    ]
    told = [row for row in csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff"))) if row["Certificate"] == "Z-1"]
    assert sorted((row["Ends"], row["Status"], row["Standing today"]) for row in told) == [
        *[("2028-01-01", "Issued", "Valid")] * 2,
        ("2030-01-01", "Reissued", "Valid"),
    ]


async def test_a_group_has_the_devices_for_which_the_certificate_ends_then(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    early, late = (a_certificate("Z-1", expiry=in_days(harness, days)) for days in (12, 900))
    renewed = replace(a_watch(3, late), read_at=1_800_086_400)
    await watch(harness, owner_pages, renewed, a_watch(1, early, a_certificate("Z-2", expiry=in_days(harness, 20))))

    for group, devices in ("30", [1, 1]), ("later", [3]), ("", [1, 1, 3]):
        page = await owner_pages.page(PATH, view="devices", group=group)
        file = await owner_pages.get(f"{PATH}.csv", group=group)

        rows = list(csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff"))))
        assert [row["UDI-DI"] for row in rows] == [a_udi(number) for number in devices], group
        assert [row[0].split()[-1] for row in page.rows] == [a_udi(number) for number in devices], group
        names = {"30": {"Within 30 days"}, "later": {"Later"}, "": {"Within 30 days", "Later"}}
        assert {row["When"] for row in rows} == names[group]


async def test_times_of_reads_that_disagree_are_in_the_users_zone(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await owner_pages.post("/app/settings/time-zone", zone="Europe/Berlin")
    early, late = (a_certificate("Z-1", expiry=expiry) for expiry in ("2028-01-01", "2030-01-01"))
    await watch(harness, owner_pages, a_watch(1, early), a_watch(2, late))

    [row] = (await owner_pages.page(PATH)).rows

    assert row[2].count("read until 15 Jan 2027, 09:00") == 2
    assert "The register has it differently for devices that were read at the same time: " in row[2]


async def test_filters_are_in_the_address_and_what_it_says_wrongly_is_left_out(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    certs = [a_certificate(f"Z-{number:03}", expiry=in_days(harness, number)) for number in range(120)]
    await watch(harness, owner_pages, a_watch(1, *certs), a_watch(2, a_certificate("Q-1"), maker="Other", srn=""))

    found = await owner_pages.page(PATH, q="z-00", manufacturer=SRN, group="30")
    second = await owner_pages.page(PATH, manufacturer=SRN, page="3")
    beyond = await owner_pages.page(PATH, page="9", group="nonsense", view="nonsense", manufacturer="x" * 5_000)
    other = await owner_pages.page(PATH, manufacturer="Other")
    region = await owner_pages.client.get(PATH, params={"q": "Q-1"}, headers={"X-Fragment": "certificates"})

    assert (len(found.rows), found.link("All 10")) == (10, f"{PATH}?q=z-00&manufacturer={SRN}")
    assert found.one("input", id="q")["value"] == "z-00"
    assert len(found.all("rect")) + len(found.all("circle")) == 10
    assert (len(second.rows), second.link("← Previous")) == (20, f"{PATH}?manufacturer={SRN}&page=2")
    assert "No certificate matches" in beyond.main
    assert [row[0] for row in other.rows] == ["Q-1"]
    assert region.text.lstrip().startswith("<div data-announce")
    assert "Z-001" not in region.text
    for query in ("page=0", "page=-1", "page=²", "page=99999999999", "group=%00", "q=%FF", "view=&group=&q="):
        assert (await owner_pages.get(f"{PATH}?{query}")).status_code == 200, query


async def test_a_file_has_each_device_and_certificate_and_what_was_not_read(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    certificate = a_certificate("=1+1", "02", in_days(harness, 12), notified_body="0123")
    await watch(harness, owner_pages, a_watch(1, certificate), a_watch(2, certificate), NewWatch(a_udi(5)))

    everything = await owner_pages.get(f"{PATH}.csv")
    chosen = await owner_pages.get(f"{PATH}.csv", group="30")

    rows = list(csv.reader(io.StringIO(everything.text.removeprefix("\ufeff"))))[1:]
    assert everything.headers["content-disposition"] == 'attachment; filename="certificates.csv"'
    assert rows == [
        [
            "Device 1",
            a_udi(1),
            "Acme",
            SRN,
            "'=1+1",
            "02",
            "0123",
            in_days(harness, 12),
            "Within 30 days",
            "",
            "Ends within 90 days",
            "listed",
            "read",
        ],
        [
            "Device 2",
            a_udi(2),
            "Acme",
            SRN,
            "'=1+1",
            "02",
            "0123",
            in_days(harness, 12),
            "Within 30 days",
            "",
            "Ends within 90 days",
            "listed",
            "read",
        ],
        [a_udi(5), a_udi(5), *[""] * 10, "not looked yet"],
    ]
    assert len(chosen.text.splitlines()) == 3


async def test_many_certificates_are_bars_and_the_page_stays_small(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    many = [
        a_watch(
            number, *(a_certificate(f"Z-{number}-{each}", expiry=in_days(harness, each * 30)) for each in range(60))
        )
        for number in range(24)
    ]
    await watch(harness, owner_pages, *many)

    response = await owner_pages.get(PATH)

    page = Markup.of(response)
    assert len(page.all("circle")) == 0
    assert 55 <= len(page.all("rect")) <= 75
    assert len(page.rows) == 50
    assert len(response.content) < 60_000
