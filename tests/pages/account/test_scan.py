"""Scanning in a browser without script: what a code or a photo shows, the list that it becomes, what is refused."""

import asyncio
import csv
import io
from collections.abc import Sequence

import msgspec
from bench.labels import PRIMARY, PRODUCTION, Shot, label, photo_of, photographed, saved, symbol
from PIL import Image

from registerwatch.accounts.tables import accounts
from registerwatch.files.scan.codes import MAX_CODES
from registerwatch.files.scan.photo_process import PhotoReader, photo_processes
from registerwatch.platform.bounded_process import ProcessBounds, ProcessEnd, ProcessOutput
from registerwatch.platform.structs import replace
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, StatusFilter
from registerwatch.register.codes import label as label_of_code
from registerwatch.register.models import Certificate, Completeness
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import UDI, a_full_reading, a_udi
from tests.support.harness import SRN, ServiceHarness, ServiceStarter

WHOLE = f"01{UDI}17280131" + "10A1<GS>21X7"
RESTRICTED, EXPIRED = (f"{CERTIFICATE_STATUS_PREFIX}{each}" for each in ("restricted", "expired"))
STANDING = "State", "Market status", "Certificates", "First end", "Covered until"
HOSTILE = "<script>alert(1)</script>'=1+1"


async def scan(pages: PagesClient, *codes: str, kept: Sequence[str] = (), **fields: str) -> Markup:
    """Send codes as a hand scanner does, with the list that the page had."""
    return Markup.of(await pages.post("/app/scan", code=list(codes), codes="\r\n".join(kept), **fields))


def kept(page: Markup) -> list[str]:
    """The list that a page carries along."""
    return (page.one("input", name="codes")["value"] or "").splitlines()


async def test_a_code_shows_its_device_and_what_it_says_and_is_collected(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.store(a_full_reading(udi=UDI, trade_name="Stent <b>", manufacturer_name="Acme & Co"))
    form = await owner_pages.page("/app/scan")
    assert "autofocus" in form.one("input", id="code").attributes

    page = await scan(owner_pages, WHOLE)

    assert [*accessibility_problems(form), *accessibility_problems(page)] == []
    assert page.link("Stent <b>") == f"/d/{UDI}"
    for words in ("In the register", "Acme & Co", "A1", "X7", "31 Jan 2028"):
        assert words in page.main
    assert kept(page) == [WHOLE]
    assert page.one("input", id="code").attributes.get("value") is None, "the field is empty for the next code"
    other = await scan(owner_pages, f"(01){a_udi(7)}(17)200131", kept=kept(page))
    assert (len(kept(other)), [row[0] for row in other.rows][1]) == (2, f"Stent <b>{UDI}")
    assert ("Not in the register" in other.main, "Expired" in other.main) == (True, True)
    assert kept(await scan(owner_pages, WHOLE, kept=kept(other))) == kept(other), "what is scanned twice is kept once"


async def test_codes_are_kept_and_said_to_be_unread_where_the_share_of_the_processor_is_used(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        [account] = await harness.rows(accounts)
        await harness.service.work.spend(account["id"], 3_600)

        page = await scan(pages, WHOLE, kept=[UDI])
        file = await pages.post("/app/scan", codes=f"{UDI}\r\n{WHOLE}", step="csv")
        pasted = await pages.post("/app/import", text=f"{UDI}\n{WHOLE}")

        assert kept(page) == [UDI, WHOLE]
        assert page.main.count("Could not be read") == 3, "the newest is shown twice"
        assert "seconds of processor time of this hour" in page.main
        assert [row["State"] for row in csv.DictReader(io.StringIO(file.text))] == ["Could not be read"] * 2
        assert (pasted.status_code, UDI in Markup.of(pasted).one("textarea").text) == (429, True)


async def test_no_page_but_this_one_may_use_the_camera(owner_pages: PagesClient) -> None:
    told = [(await owner_pages.get(path)).headers.get_list("permissions-policy") for path in ("/app/scan", "/app")]
    assert [[each.split(", ")[0] for each in policies] for policies in told] == [["camera=(self)"], ["camera=()"]]


async def test_a_device_that_left_the_market_is_not_good_and_its_file_says_so(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    issued = Certificate("Z-1", expiry="2029-01-01")
    restricted = Certificate("Z-2", expiry="2031-01-01", status="Restricted", status_code=RESTRICTED)
    expired = Certificate("Z-3", expiry="2031-01-01", status="Expired", status_code=EXPIRED)
    for number, (market, certs) in enumerate(
        [(StatusFilter.ON, (issued,)), (StatusFilter.OFF, (issued, restricted)), (StatusFilter.NOT_EU, (expired,))]
    ):
        reading = a_full_reading(
            f"u-{number}", a_udi(number), status=label_of_code(market.code), status_code=market.code, certs=certs
        )
        await harness.store(reading)
    codes = [a_udi(number) for number in range(3)]
    await harness.store(a_full_reading("u-3", a_udi(3)))
    unread = a_full_reading("u-4", a_udi(4))
    await harness.store(replace(unread, completeness=Completeness.SOME))
    others = [a_udi(3), a_udi(4), a_udi(5), SRN]

    page = await scan(owner_pages, codes[1], kept=codes)
    file = await owner_pages.post("/app/scan", step="csv", codes="\n".join([*codes, *others]))

    assert [row[3] for row in page.rows] == [
        "✕ Not intended for the EU market ✕ Certificate expired by status, not by date",
        "! No longer placed on the EU market ! Certificate restricted (1 of 2)",
        "✓ In the register",
    ]
    assert (page.main.count("✓"), page.main.count("In the register")) == (1, 1)
    shown = next(each for each in page.all("section") if "scanned-code" in (each["class"] or ""))
    announced = "No longer placed on the EU market, Certificate restricted (1 of 2)"
    assert (shown["class"], shown["data-announce"]) == ("scanned-code warn", announced)
    rows = list(csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff"))))
    assert [row["Certificates"] for row in rows[3:]] == ["None listed", "Not read", "", ""]
    assert [[row[name] for name in STANDING] for row in rows[:3]] == [
        ["In the register", "On the EU market", "Valid", "2029-01-01", "2029-01-01"],
        [*["No longer placed on the EU market"] * 2, "Restricted (1 of 2)", "2029-01-01", "2031-01-01"],
        [*["Not intended for the EU market"] * 2, "Expired by status, not by date", "", ""],
    ]


async def test_a_device_that_the_register_lists_no_more_has_nothing_good(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    market = StatusFilter.ON.code
    await harness.store(a_full_reading(udi=UDI, status=label_of_code(market), status_code=market))
    assert "✓ On the EU market" in (await scan(owner_pages, UDI)).main
    since = (await harness.service.records.state()).revision
    await harness.service.records.delist(UDI, read_at=harness.now, since=since)

    page = await scan(owner_pages, UDI)

    assert [row[3] for row in page.rows] == ["! No longer listed"]
    assert "✓" not in page.main
    file = await owner_pages.post("/app/scan", step="csv", codes=UDI)
    assert ("No longer listed" in file.text, "On the EU market" in file.text) == (True, False)


async def test_a_device_whose_certificates_nobody_has_read_is_not_good(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    market = StatusFilter.ON.code
    known = Certificate("Z-1", expiry="2031-01-01")
    for number, certs in ((1, ()), (2, (known,))):
        reading = a_full_reading(
            f"u-{number}", a_udi(number), status=label_of_code(market), status_code=market, certs=certs
        )
        await harness.store(replace(reading, completeness=Completeness.SOME))

    page = await scan(owner_pages, a_udi(1), kept=[a_udi(2)])

    assert [row[3] for row in page.rows] == [
        "– In the register – Certificates not read",
        "– In the register – Certificates not all read",
    ]
    shown = next(each for each in page.all("section") if "scanned-code" in (each["class"] or ""))
    announced = "In the register, Certificates not read"
    assert (shown["class"], shown["data-announce"]) == ("scanned-code none", announced)


async def test_a_device_that_left_the_market_and_then_the_register_is_no_longer_listed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    market = StatusFilter.OFF.code
    await harness.store(a_full_reading(udi=UDI, status=label_of_code(market), status_code=market))
    since = (await harness.service.records.state()).revision
    await harness.service.records.delist(UDI, read_at=harness.now, since=since)

    page = await scan(owner_pages, UDI)

    assert [row[3] for row in page.rows] == ["! No longer listed"]
    assert "EU market" not in page.main


async def test_the_file_says_the_status_of_a_manufacturer(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await harness.store_actor(status_code="refdata.actor-status.inactive")

    page = await scan(owner_pages, SRN)
    file = await owner_pages.post("/app/scan", step="csv", codes=SRN)

    assert [row[3] for row in page.rows] == ["– In the register ! Inactive"]
    [row] = csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff")))
    assert (row["State"], row["Market status"], row["Certificates"]) == ("In the register", "Inactive", "")


async def test_files_of_the_copy_say_where_certificates_are_older_than_their_record(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    whole = a_full_reading(udi=UDI, certs=(Certificate("Z-1", expiry="2031-01-01"),))
    without = a_full_reading("u-2", a_udi(2), certs=())
    for reading in whole, without:
        await harness.store(reading)
    harness.clock.move(7 * 3600)
    for reading in whole, without:
        await harness.store(replace(reading, completeness=Completeness.ALL_BUT_CERTIFICATES))

    text = (await owner_pages.post("/app/scan", step="csv", codes=f"{UDI}\n{a_udi(2)}")).text

    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    told = {row["UDI-DI or SRN"]: row["Certificates"] for row in rows}
    assert told == {UDI: "Valid, may be outdated", a_udi(2): "None listed, may be outdated"}


async def test_a_photo_of_two_symbols_is_one_code(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await harness.store(a_full_reading(udi=UDI, trade_name="Stent"))
    both = label(symbol("Code128", f"(01){UDI}", 3), symbol("Code128", PRODUCTION, 3))

    response = await owner_pages.upload(
        "/app/scan", "x.jpg", saved(photographed(both, Shot(turn=3, noise=10))), field="photo", codes=a_udi(7)
    )

    page = Markup.of(response)
    assert response.status_code == 200
    assert page.link("Stent") == f"/d/{UDI}"
    assert ("A1B2C3" in page.main, "31 Jan 2028" in page.main) == (True, True)
    assert kept(page) == [a_udi(7), f"]C101{UDI}<GS>1728013110A1B2C3"]


async def test_what_cannot_be_read_is_told_and_the_list_stays(owner_pages: PagesClient) -> None:
    async def sent(content: bytes) -> tuple[int, str]:
        response = await owner_pages.upload("/app/scan", "x", content, field="photo", codes=a_udi(7))
        page = Markup.of(response)
        assert kept(page) == [a_udi(7)]
        assert accessibility_problems(page) == []
        return response.status_code, page.main

    status, words = await sent(saved(Image.new("L", (400, 300), 200)))
    assert (status, "No code was seen" in words, "Go closer" in words) == (200, True, True)
    status, words = await sent(b"%PDF-1.7")
    assert (status, "no photo that can be read here" in words) == (400, True)
    status, words = await sent(b"\xff\xd8\xff\xe0 and nothing more")
    assert (status, "damaged" in words or "no photo" in words) == (400, True)
    page = await scan(owner_pages, "", kept=[a_udi(7)])
    assert ("Scan or type a code" in page.main, kept(page)) == (True, [a_udi(7)])
    page = await scan(owner_pages, HOSTILE, "(17)280131(10)A1", kept=[a_udi(7)])
    assert ("names no device: it belongs" in page.main, kept(page)) == (True, [a_udi(7)])


async def test_the_list_can_be_watched_downloaded_shortened_and_emptied(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.store(a_full_reading(udi=UDI, trade_name="=Stent"))
    page = await scan(owner_pages, WHOLE, a_udi(7), f"01{UDI}10A2")
    assert len(kept(page)) == 3

    texts = page.one("input", name="text")
    checked = Markup.of(await owner_pages.post("/app/import", text=texts["value"] or ""))
    file = await owner_pages.post("/app/scan", step="csv", codes="\n".join(kept(page)))
    shorter = await scan(owner_pages, kept=kept(page), remove=a_udi(7))
    empty = await scan(owner_pages, kept=kept(page), step="clear")

    assert texts["form"] == "watch-scanned"
    assert "2 new" in checked.main
    assert file.headers["content-disposition"] == 'attachment; filename="scanned-codes.csv"'
    rows = list(csv.reader(io.StringIO(file.text.removeprefix("\ufeff"))))
    assert [row[1:3] for row in rows[1:]] == [[UDI, "'=Stent"], [a_udi(7), ""], [UDI, "'=Stent"]]
    assert rows[1][10:] == ["A1", "X7", "", "2028-01-31"]
    assert (kept(shorter), kept(empty)) == ([WHOLE, f"01{UDI}10A2"], [])


async def test_a_list_has_so_many_codes_and_no_others(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await harness.post_watches(await owner_pages.rest_session(), a_udi(3))
    full = [a_udi(number) for number in range(MAX_CODES)]

    page = await scan(owner_pages, a_udi(MAX_CODES), kept=full)
    damaged = await owner_pages.post("/app/scan", code="x", codes="\n".join([*full, "1", "2"]))

    assert (kept(page) == full, "which is the most" in page.main) == (True, True)
    assert len((page.one("input", name="text")["value"] or "").splitlines()) == MAX_CODES - 1, "one is watched"
    assert (damaged.status_code, "did not come back" in damaged.text) == (400, True)


async def test_strangers_and_other_sites_are_sent_away_before_a_photo_is_received(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    photo = photo_of("DataMatrix", PRIMARY, Shot(noise=60))
    assert len(photo) > 64 * 1024
    stranger = PagesClient(harness)

    assert (await stranger.upload("/app/scan", "x", photo, field="photo")).status_code == 401
    elsewhere = await owner_pages.client.post(
        "/app/scan", files={"photo": ("x", photo)}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert elsewhere.status_code == 403
    large = await owner_pages.upload("/app/scan", "x", bytes(11 * 1024 * 1024), field="photo")
    assert (large.status_code, "10,240 KiB" in large.text) == (400, True)


class CountedRun:
    """Stands in for processes, and counts how many run at a time."""

    def __init__(self) -> None:
        self.running = self.most = self.runs = 0

    def __call__(self, _module: str, _content: bytes, _bounds: ProcessBounds, _end: ProcessEnd) -> ProcessOutput:
        self.running += 1
        self.runs += 1
        self.most = max(self.most, self.running)
        self.running -= 1
        return ProcessOutput(b"[]", 0.1)


async def test_of_fifty_photos_at_once_each_is_read_or_told_to_come_again(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    run = CountedRun()
    msgspec.structs.force_setattr(harness.service, "photos", PhotoReader(photo_processes(run=run)))
    photo = saved(Image.new("L", (60, 60)))

    answers = await asyncio.gather(
        *(owner_pages.upload("/app/scan", "x", photo, field="photo", codes=a_udi(7)) for _ in range(50))
    )

    by_status = {status: [each for each in answers if each.status_code == status] for status in (200, 503)}
    assert sum(map(len, by_status.values())) == 50
    assert len(by_status[200]) == run.runs >= 40
    assert run.most <= 1, "of one account one at a time"
    assert all(each.headers["retry-after"] and kept(Markup.of(each)) == [a_udi(7)] for each in by_status[503])


async def test_an_account_has_so_many_photos_read_a_minute_and_types_on(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()

        photos = [await pages.upload("/app/scan", "x", b"no photo", field="photo") for _ in range(61)]

        assert [each.status_code for each in photos] == [400] * 60 + [429]
        assert (await pages.post("/app/scan", code=UDI)).status_code == 200
