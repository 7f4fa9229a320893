"""The page that shows devices side by side, or one at two dates; and its file."""

import csv
import io
from urllib.parse import urlencode

import httpx2
import pytest

from registerwatch.platform.clock import iso_utc
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.public_states import HOSTILE
from tests.pages.registrations import certificate, gtin, in_days, registration
from tests.support.harness import NOW, ServiceHarness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

DAY = 24 * 3600
FIRST, SECOND, THIRD, MISSING = gtin(1), gtin(2), gtin(3), gtin(900)
FORMULA = "=HYPERLINK(1)"


def _address(*codes: str, at: tuple[str, ...] = (), path: str = "/compare", only: str = "") -> str:
    return f"{path}?" + urlencode([*(("d", each) for each in codes), *(("at", each) for each in at), ("only", only)])


async def _get(harness: ServiceHarness, *codes: str, at: tuple[str, ...] = (), only: str = "") -> Markup:
    response = await harness.client.get(_address(*codes, at=at, only=only))
    assert response.status_code == 200, response.text
    page = Markup.of(response)
    assert accessibility_problems(page) == []
    return page


def _rows(page: Markup) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in page.rows}


def _csv(response: httpx2.Response) -> list[list[str]]:
    assert response.status_code == 200, response.text
    return list(csv.reader(io.StringIO(response.text.removeprefix("\ufeff"))))


async def _read_in_full(harness: ServiceHarness, *udis: str) -> None:
    for udi in udis:
        await harness.service.refresher.refresh(udi)


async def test_devices_are_shown_side_by_side_and_differences_are_told_in_words(site: SiteMaker) -> None:
    end, revised = "2030-09-16", certificate("A", "2031-09-16", revision="2")
    devices = (
        registration(FIRST, "Stem", reference="R-1", certificates=[certificate("A", end), certificate("B", end)]),
        registration(SECOND, "Stem", reference=HOSTILE, basic_udi="4012345OTHER9", certificates=[revised]),
        registration(THIRD, None, basic_udi=None, legislation="refdata.applicable-legislation.mdd"),
    )
    async with site(*devices) as harness:
        await _read_in_full(harness, FIRST, SECOND)

        page = await _get(harness, f"(01){FIRST}(10)LOT7", SECOND)
        rows = _rows(page)

        assert rows["Name = Same"] == ["Stem", "Stem"]
        assert rows["Catalogue reference ≠ Differs"] == ["R-1", HOSTILE]
        assert rows["Market status = Same"] == ["On the EU market"] * 2
        assert rows["Certificate B ≠ Differs"][1] == "Not named"
        one, other = rows["Certificate A ≠ Differs"]
        assert "Expiry 16 Sep 2030" in one
        assert ("Expiry 16 Sep 2031" in other, "Revision 2" in other, "Revision" in one) == (True, True, False)
        assert "Complete: every part of the record was read. Read from the register on 15 Jan 2027" in page.main
        assert "LOT7" not in page.link("As CSV") + page.link("Only differences")

        only = Markup.of(await harness.client.get(page.link("Only differences")))
        assert set(_rows(only)) == {name for name in rows if "Same" not in name}
        assert only.link("All fields") == f"/compare?d={FIRST}&d={SECOND}"
        three = _rows(await _get(harness, FIRST, SECOND, THIRD))
        assert three["Basic UDI-DI ≠ Differs"] == ["4012345TESTQ7", "4012345OTHER9", "None: a legacy device"]
        assert Markup.of(await harness.get(f"/d/{FIRST}")).link("Compare with another device") == f"/compare?d={FIRST}"


async def test_what_was_not_read_is_neither_the_same_nor_different(site: SiteMaker) -> None:
    async with site(
        registration(FIRST, "Stem", certificates=[certificate("A", in_days(900))]), registration(SECOND, "Stem")
    ) as harness:
        await _read_in_full(harness, FIRST)
        harness.faults.fail("detail", "http-503")

        page = await _get(harness, FIRST, SECOND, only="differences")
        rows = _rows(page)

        assert rows["Certificate A ? Not known whether it differs"][1] == "Not read yet"
        assert "Read in part. Not read yet: certificates, dates, names in other languages." in page.main
        assert "it is not known, as not everything has been read." in page.main
        assert not [row for row, cells in rows.items() if "≠" in row and "Not read yet" in cells]


async def test_what_the_register_does_not_give_is_not_said_to_be_unread(site: SiteMaker) -> None:
    async with site(registration(FIRST, "Stem"), registration(SECOND, "Stem")) as harness:
        [second] = harness.world.by_primary_di(SECOND)
        harness.world.change(second.uuid, max_reuses=5)
        await _read_in_full(harness, FIRST, SECOND)

        page = await _get(harness, FIRST, SECOND)

        assert _rows(page)["Reuses ? Not known whether it differs"] == ["Not given", "at most 5"]
        assert "Of 1 it is not known, as the register does not give every field." in page.main


async def test_a_device_that_is_missing_or_unreadable_is_told_apart_and_leaves_the_others_compared(
    site: SiteMaker,
) -> None:
    async with site(registration(FIRST, "Stem"), registration(SECOND, "Screw")) as harness:
        page = await _get(harness, FIRST, SECOND, MISSING)

        assert _rows(page)["Risk class = Same"] == ["Class IIb", "Class IIb", "Not in the copy"]
        assert "Not in the copy. The register has no device with this UDI-DI." in page.main
        harness.faults.fail("search", "http-503")
        unreadable = await _get(harness, FIRST, SECOND, gtin(901))
        assert _rows(unreadable)["Risk class = Same"][2] == "Could not be read"
        assert "Could not be read. This device is not in the copy, and the register could not be read." in (
            unreadable.main
        )


async def test_a_device_is_compared_with_itself_at_two_dates(site: SiteMaker) -> None:
    async with site(registration(FIRST, "Stem", reference="R-1")) as harness:
        await _read_in_full(harness, FIRST)
        uuid = harness.world.newest(0, 1)[0].uuid
        for number in (2, 3):
            harness.clock.move(DAY)
            harness.world.change(uuid, reference=f"R-{number}")
            await harness.client.post(f"/d/{FIRST}")
        first, second, today = (iso_utc(NOW + days * DAY)[:10] for days in (0, 1, 2))

        between = await _get(harness, FIRST, at=(second, first))
        until_now = await _get(harness, FIRST, at=(first,))
        unknown = await harness.client.get(_address(FIRST, at=("2001-01-01", today)))
        form = Markup.of(await harness.get(f"/d/{FIRST}/history"))
        then = Markup.of(await harness.get(f"/d/{FIRST}/history", at=first))
        changes = [each["href"] for each in form.all("a") if each.text == "Compare before and after"]
        last, before = [_rows(Markup.of(await harness.client.get(each))) for each in changes]

        assert _rows(between)["Catalogue reference ≠ Differs"] == ["R-1", "R-2"]
        assert _rows(until_now)["Catalogue reference ≠ Differs"] == ["R-1", "R-3"]
        assert [each.text for each in between.all("th", scope="col")] == [
            "Field",
            "As of 15 Jan 2027, 23:59 UTC",
            "As of 16 Jan 2027, 23:59 UTC",
        ]
        assert until_now.all("th", scope="col")[2].text == "Now"
        file = _csv(await harness.client.get(until_now.link("As CSV")))
        assert file[0][2:] == [f"UDI-DI {FIRST}, 15 Jan 2027, 23:59 UTC", f"UDI-DI {FIRST}, Now"]
        assert last["Catalogue reference ≠ Differs"] == ["R-2", "R-3"]
        assert before["Catalogue reference ≠ Differs"] == ["R-1", "R-2"]
        assert "Observed so on 15 Jan 2027, 08:00 UTC." in between.main
        assert unknown.status_code == 404
        assert "Not known. This service had not observed it yet." in Markup.of(unknown).main
        assert [each["name"] for each in form.all("input", type="date")] == ["at", "at", "at"]
        assert form.one("input", type="hidden")["value"] == FIRST
        assert then.link("Compare with now").startswith(f"/compare?d={FIRST}&at=2027-01-15T23")


async def test_a_device_that_the_register_lists_no_more_is_not_the_same_as_one_on_the_market(site: SiteMaker) -> None:
    async with site(registration(FIRST, "Stem"), registration(SECOND, "Stem")) as harness:
        await _read_in_full(harness, FIRST, SECOND)
        since = (await harness.service.records.state()).revision
        await harness.service.records.delist(SECOND, read_at=harness.now, since=since)

        page = await _get(harness, FIRST, SECOND)
        file = _csv(await harness.client.get(page.link("As CSV")))
        device = Markup.of(await harness.get(f"/d/{SECOND}"))

        gone = "No longer listed", "When it was last listed: On the EU market"
        assert _rows(page)["Market status ≠ Differs"] == ["On the EU market", " ".join(gone)]
        assert next(row for row in file if row[0] == "Market status")[1:] == [
            "Differs",
            "On the EU market",
            "; ".join(gone),
        ]
        assert "The register listed this record no more at that time." not in page.main
        assert "legalStatus" not in device.structured
        assert "Market status: No longer listed." in device.structured["description"]
        assert "Market status: No longer listed." in device.one("meta", name="description")["content"]


@pytest.mark.parametrize(
    ("codes", "dates", "status", "told"),
    [
        ((), (), 200, "Enter two to four codes of devices."),
        ((FIRST,), (), 200, "Name another device to compare this one with"),
        ((FIRST, f"(01){FIRST}"), (), 400, f"The device {FIRST} is named twice."),
        (tuple(map(gtin, range(1, 6))), (), 400, "5 devices are too many"),
        ((FIRST, HOSTILE * 3), (), 400, "the longest that is possible has 120"),
        ((FIRST, "02345673"), (), 404, "There are no two records to compare."),
        ((FIRST, "DE-MF-000000901"), (), 404, "This is no UDI-DI, so no device can have it."),
        ((FIRST, SECOND), ("2026-06-01",), 400, "Dates compare one device with itself."),
        ((FIRST,), ("2026-06-01", "2026-06-01"), 400, "Both dates are the same."),
        ((FIRST,), ("2026-01-01", "2026-02-01", "2026-03-01"), 400, "3 dates are too many"),
        ((FIRST,), ("2999-01-01",), 400, "lies in the future"),
        ((FIRST,), ("soon",), 400, "is a date such as"),
        ((MISSING,), ("2026-06-01",), 404, "The register has no device with this UDI-DI."),
    ],
)
async def test_what_cannot_be_compared_is_told_above_a_form(
    site: SiteMaker, codes: tuple[str, ...], dates: tuple[str, ...], status: int, told: str
) -> None:
    async with site(registration(FIRST, "Stem")) as harness:
        response = await harness.client.get(_address(*codes, at=dates))
        page = Markup.of(response)

        assert (response.status_code, told in page.main) == (status, True), page.main
        assert [each["value"] for each in page.all("input", name="d") if each.attributes.get("type") != "hidden"] == [
            *codes,
            *[""] * 4,
        ][:4]
        assert accessibility_problems(page) == []
        file = await harness.client.get(_address(*codes, at=dates, path="/compare.csv"))
        assert file.status_code == status


async def test_the_file_has_the_same_rows_and_no_formula(site: SiteMaker) -> None:
    async with site(registration(FIRST, FORMULA), registration(SECOND, "Screw", reference="a\nb")) as harness:
        await _read_in_full(harness, FIRST, SECOND)
        page = await _get(harness, FIRST, SECOND)

        response = await harness.client.get(page.link("As CSV"))
        header, *rows = _csv(response)

        assert header == ["Field", "Comparison", f"UDI-DI {FIRST}", f"UDI-DI {SECOND}"]
        assert ["Name", "Differs", f"'{FORMULA}", "Screw"] in rows
        assert ["Catalogue reference", "Differs", "Not given", "a b"] in rows
        assert len(rows) == len(page.rows) + 2
        assert rows[0][:2] == ["How much was read", ""]
        assert 'filename="comparison.csv"' in response.headers["content-disposition"]


async def test_comparing_is_counted_as_the_pages_and_reads_that_it_stands_for(site: SiteMaker) -> None:
    async with site(registration(FIRST, "Stem"), registration(SECOND, "Screw"), rate_limits=True) as harness:
        requests = harness.register_log.total
        assert (await harness.client.get(_address(FIRST))).headers["ratelimit-remaining"] == "119"
        await harness.finish_background_work()
        assert harness.register_log.total == requests
        assert (await harness.client.get(_address(FIRST, SECOND))).headers["ratelimit-remaining"] == "117"
        for number in range(20):
            await harness.client.get(f"/d/{gtin(100 + number)}")
        assert (await harness.client.get(_address(FIRST, SECOND))).status_code == 200
        assert (await harness.client.get(_address(FIRST, gtin(800)))).status_code == 429
