"""The page of a device."""

from urllib.parse import quote

import pytest

from registerwatch.lookup.devices import NOT_REGISTERED
from registerwatch.platform.structs import replace
from registerwatch_standins.register.records import Registration
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration
from tests.support.harness import ServiceHarness

MDD = "refdata.applicable-legislation.mdd"
UDI = gtin(1)


async def _page(harness: ServiceHarness, udi: str = UDI) -> Markup:
    response = await harness.get(f"/d/{quote(udi, safe='')}")
    assert response.status_code == 200, response.text
    return Markup.of(response)


async def _page_in_full(harness: ServiceHarness, udi: str = UDI) -> Markup:
    await harness.finish_background_work()
    response = await harness.client.post(f"/d/{quote(udi, safe='')}")
    assert response.status_code == 303
    return await _page(harness, udi)


async def test_a_device_shows_what_the_register_says(site: SiteMaker) -> None:
    representative = {"srn": "IE-AR-000000903", "name": "Example Rep Ltd"}
    async with site(
        registration(
            UDI,
            "Titanium stem",
            device_name="Hip stem",
            model="HS-2",
            reference="R 77",
            emdn=["P090803", "P0908"],
            authorised_representative=representative,
        )
    ) as harness:
        page = await _page_in_full(harness)

        assert page.one("h1").text == "Titanium stem"
        assert page.title == f"Titanium stem · {UDI} · Registerwatch"
        assert page.facts["Market status"] == "✓ On the EU market since 2 Jan 2025"
        assert page.facts["Risk class"] == "Class IIb MDR"
        assert page.facts["Manufacturer"] == "Muster GmbH DE-MF-000000901 Status: Active"
        assert page.link("Muster GmbH") == "/a/DE-MF-000000901"
        assert page.link("Example Rep Ltd") == "/a/IE-AR-000000903"
        assert page.link("4012345TESTQ7") == "/?q=4012345TESTQ7"
        assert page.facts["Device name"] == "Hip stem"
        assert page.facts["Model"] == "HS-2"
        assert page.facts["Catalogue reference"] == "R 77"
        assert page.facts["Nomenclature (EMDN)"] == "P090803, P0908"
        assert page.facts["Legislation"] == "Regulation (EU) 2017/745 (MDR)"
        assert page.facts["Source"] == "Not EUDAMED: a demonstration"
        assert page.facts["Last changed in the register"] == "2 Jan 2025, 09:11 UTC"
        assert page.facts["Version of the record"] == "1"
        assert "Read in part" not in page.main
        assert page.problems == []


async def test_a_market_status_that_starts_later_is_told_as_from_that_day(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem", version_date=f"{in_days(400)}T10:11:12.131")) as harness:
        page = await _page_in_full(harness)

        assert page.facts["Market status"].startswith("✓ On the EU market from ")


@pytest.mark.parametrize(
    ("status", "badge"),
    [
        ("no-longer-on-the-market", "! No longer placed on the EU market"),
        ("not-intended-for-eu-market", "✕ Not intended for the EU market"),
    ],
)
async def test_a_device_that_is_not_on_the_market_and_an_inactive_manufacturer_stand_out(
    site: SiteMaker, status: str, badge: str
) -> None:
    async with site(registration(UDI, "Stem", status=f"refdata.device-model-status.{status}")) as harness:
        harness.world.change_actor(MAKER["srn"], status="refdata.actor-status.inactive")
        page = await _page_in_full(harness)

        assert page.facts["Market status"].startswith(badge)
        assert page.facts["Manufacturer"].endswith("! Status: Inactive")


async def test_the_time_of_reading_is_that_of_the_read(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        page = await _page_in_full(harness)
        stored = (await harness.get(f"/v1/devices/{UDI}")).json()

        assert stored["read_at"] in [each["datetime"] for each in page.all("time")]


async def test_certificates_are_readable_at_a_glance(site: SiteMaker) -> None:
    async with site(
        registration(
            UDI,
            "Stem",
            certificates=[
                certificate("GONE 1", in_days(-400)),
                certificate("SOON 1", in_days(90), revision="2"),
                certificate("LONG 1", in_days(900)),
                certificate("NONE 1", None),
                certificate("LONG 2", in_days(901), notified_body_name=""),
            ],
        )
    ) as harness:
        page = await _page(harness)

        badges = "✕ Expired ! Ends within 90 days ✓ No end date ✓ Valid: 2"
        assert page.facts["Certificates"].startswith(f"{badges} First end ")
        assert page.facts["Certificates"].endswith(
            " No end date 4 count as valid, of which 1 has no end date, 1 does not"
        )
        assert in_days(90) in [each["datetime"] for each in page.all("time")]
        assert [row[0].split()[0] for row in page.rows] == ["GONE", "SOON", "LONG", "LONG", "NONE"]
        assert [row[1] for row in page.rows] == [
            "✕ Expired Not counted as valid",
            "! Ends within 90 days Counts as valid",
            "✓ Valid Counts as valid",
            "✓ Valid Counts as valid",
            "✓ No end date Counts as valid",
        ]
        assert page.rows[1][0] == "SOON 1 revision 2 MDR quality management system"
        assert page.rows[1][4] == "Prüfstelle 0123"
        assert page.rows[3][4] == "0123"
        assert page.rows[4][2] == "No end date"


async def test_no_certificate_is_never_called_uncertified(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        before = await _page(harness)
        after = await _page_in_full(harness)

        assert before.facts["Certificates"] == "Not read yet"
        assert "have not been read yet" in before.main
        assert after.facts["Certificates"] == "None named"
        assert "That does not mean that it has none" in after.main
        assert "uncertified" not in after.main.lower()


async def test_a_record_that_was_read_in_part_says_so_until_it_was_read_in_full(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        first = await harness.get(f"/d/{UDI}")
        await harness.finish_background_work()
        second = await harness.get(f"/d/{UDI}")

        assert "Read in part." in first.text
        assert "data-reading" in first.text
        assert first.headers["cache-control"] == "no-store"
        assert "Read in part." not in second.text
        assert "data-reading" not in second.text
        assert second.headers["cache-control"] == "public, no-cache"


async def test_a_failed_refresh_is_told_with_its_reason(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        await _page_in_full(harness)
        harness.faults.fail("search", "http-500")
        page = await _page_in_full(harness)
        reason = (await harness.get(f"/v1/devices/{UDI}")).json()["error"]

        assert reason
        assert f"May be out of date. {reason}" in page.main
        assert page.one("h1").text == "Stem"


async def test_a_record_in_part_that_cannot_be_read_in_full_does_not_promise_it(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        harness.faults.fail("search", "http-500")
        page = await _page_in_full(harness)

        assert "Read in part." in page.main
        assert "is being read now" not in page.main


async def test_a_legacy_device_is_called_legacy_and_its_dates_are_explained(site: SiteMaker) -> None:
    async with site(
        registration(
            UDI,
            None,
            model="TITANIUM CAGE",
            legislation=MDD,
            basic_udi=None,
            certificates=[certificate("1826/MDD", in_days(-500), type="MDD_II_EX_4")],
        )
    ) as harness:
        page = await _page_in_full(harness)

        assert page.one("h1").text == "TITANIUM CAGE"
        assert page.facts["Risk class"] == "Class IIb MDD, legacy directive"
        assert page.facts["Legislation"] == "Directive 93/42/EEC (MDD), a legacy directive"
        assert page.facts["Basic UDI-DI"] == f"B-{UDI} EUDAMED's own code of a legacy device"
        assert page.rows[0][0] == "1826/MDD MDD Annex II without section 4"
        assert "2023/607" in page.main


async def test_a_device_without_any_name_is_called_by_its_identifier(site: SiteMaker) -> None:
    async with site(registration(UDI)) as harness:
        assert (await _page(harness)).one("h1").text == f"Device {UDI}"


async def test_trade_names_carry_their_languages(site: SiteMaker) -> None:
    names = {"de": "Schaft", "fr": "Tige", "": "Stem", "x-y": "?"}
    async with site(registration(UDI, trade_names=names)) as harness:
        page = await _page(harness)

        assert {page.facts[each] for each in ("All languages", "French", "German", "x-y")} == set(names.values())
        assert page.one("dd", lang="de").text == "Schaft"
        assert page.one("dd", lang="fr").text == "Tige"
        assert "lang" not in page.one("h1").attributes


async def test_a_name_in_one_language_carries_it_in_the_heading(site: SiteMaker) -> None:
    async with site(registration(UDI, trade_names={"el": "Στέλεχος"})) as harness:
        page = await _page(harness)

        assert page.one("h1")["lang"] == "el"
        assert page.one("h1").text == "Στέλεχος"


async def test_structured_data_describes_the_device(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem"), public_url="https://register.example/") as harness:
        page = await _page(harness)

        assert page.structured["@type"] == ["MedicalDevice", "Product"]
        assert page.structured["name"] == "Stem"
        assert page.structured["identifier"][0]["value"] == UDI
        assert (
            page.structured["url"] == page.one("link", rel="canonical")["href"] == f"https://register.example/d/{UDI}"
        )


async def test_hostile_names_stay_text_everywhere_on_the_page(site: SiteMaker) -> None:
    name = "</script><script>alert('1')</script>\"'><!--\u202egnp"
    maker = {**MAKER, "name": name}
    async with site(
        registration(
            UDI,
            trade_names={"en": name, "ar": "جهاز <b>طبي</b>"},
            manufacturer=maker,
            device_name=name,
            reference=name,
            certificates=[certificate(name, in_days(500), notified_body_name=name)],
            emdn=[name],
        )
    ) as harness:
        page = await _page(harness)

        assert page.one("h1").text == name
        assert page.structured["name"] == name
        assert page.structured["manufacturer"]["name"] == name
        assert page.facts["Catalogue reference"] == name
        assert page.facts["ar"] == "جهاز <b>طبي</b>"
        assert page.title.startswith(f"\u2068{name}\u2069 · ")
        assert [each.attributes.get("type") for each in page.all("script")] == [None, None, "application/ld+json"]
        assert page.problems == []


@pytest.mark.parametrize("udi", ["++E1234/5+6", "E123 % 40", "a/b/c", "x?y#z&w", "+E494"])
async def test_identifiers_with_any_character_have_a_page(site: SiteMaker, udi: str) -> None:
    async with site(registration(udi, "Stem")) as harness:
        written = "".join(udi.split())
        listed = Markup.of(await harness.get("/", q="stem"))
        page = await harness.client.get(listed.link("Stem"))

        assert (page.status_code == 200) is (written == udi)
        assert written in Markup.of(page).main


async def test_a_device_that_the_register_has_not_is_a_404_that_says_so(site: SiteMaker) -> None:
    async with site() as harness:
        response = await harness.get(f"/d/{UDI}")
        page = Markup.of(response)

        assert response.status_code == 404
        assert page.one("h1").text == "No such device"
        assert NOT_REGISTERED in page.main
        assert response.headers["x-robots-tag"] == page.one("meta", name="robots")["content"] == "noindex"
        assert response.headers["cache-control"] == "no-store"
        assert page.all("script", type="application/ld+json") == []
        assert page.link("Search the copy for it") == f"/?q={UDI}"


async def test_a_device_that_could_not_be_read_is_another_404(site: SiteMaker) -> None:
    async with site() as harness:
        harness.faults.fail("search", "http-503")
        response = await harness.get(f"/d/{UDI}")
        page = Markup.of(response)

        assert response.status_code == 404
        assert page.one("h1").text == "This device cannot be read"
        assert "could not be read" in page.main
        assert NOT_REGISTERED not in page.main
        assert page.link("Try again") == ""


async def test_a_device_that_is_not_stored_is_read_from_the_register_at_once(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        harness.world.register(_twin(harness))
        page = await _page(harness, gtin(2))

        assert page.one("h1").text == "Stem"
        assert "Read in part" not in page.main


async def test_reading_again_shows_what_changed(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        first = await _page_in_full(harness)
        harness.world.change(harness.world.by_primary_di(UDI)[0].uuid, reference="CHANGED")
        second = await _page_in_full(harness)

        assert first.facts["Catalogue reference"] == "Not given"
        assert second.facts["Catalogue reference"] == "CHANGED"


async def test_the_browser_s_copy_is_kept_while_nothing_changed(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        await _page_in_full(harness)
        tag = (await harness.get(f"/d/{UDI}")).headers["etag"]
        same = await harness.client.get(f"/d/{UDI}", headers={"If-None-Match": tag})
        harness.world.change(harness.world.by_primary_di(UDI)[0].uuid, reference="CHANGED")
        await harness.client.post(f"/d/{UDI}")
        other = await harness.client.get(f"/d/{UDI}", headers={"If-None-Match": tag})

        assert (same.status_code, same.content) == (304, b"")
        assert "content-security-policy" in same.headers
        assert other.status_code == 200
        assert other.headers["etag"] != tag


async def test_the_record_in_the_register_itself_is_linked_only_where_that_is_what_was_read(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        assert not [each for each in (await _page(harness)).all("a") if "ec.europa.eu" in each["href"]]


def _twin(harness: ServiceHarness) -> Registration:
    record = harness.world.by_primary_di(UDI)[0]
    return replace(record, uuid="22222222-2222-4222-8222-222222222222", primary_di=gtin(2))


async def test_a_certificate_that_is_called_expired_before_its_date_is_shown_as_a_contradiction_of_the_register(
    site: SiteMaker,
) -> None:
    async with site(registration(UDI, "Stem", certificates=[certificate("ODD 1", in_days(2007))])) as harness:
        [record] = harness.world.by_primary_di(UDI)
        expired = tuple(replace(each, status="expired") for each in record.certificates)
        harness.world.change(record.uuid, certificates=expired)

        page = await _page_in_full(harness)

        [[_, standing, expiry, *_]] = page.rows
        assert standing.startswith(
            "✕ Expired by status, not by date The register contradicts itself: it calls this certificate expired"
        )
        assert " days." in standing
        assert "in " not in expiry
        assert page.problems == []


async def test_packages_and_other_codes_are_a_table_and_a_package_leads_to_the_page(site: SiteMaker) -> None:
    inner, outer, mark = gtin(90), gtin(91), gtin(92)
    codes = [
        {"code": inner, "kind": "container_package", "quantity": 10, "contains": UDI},
        {"code": outer, "kind": "container_package", "quantity": 4, "contains": inner},
        {"code": mark, "kind": "secondary"},
    ]
    async with site(registration(UDI, "Stem", other_codes=codes), registration(gtin(2), "Other stem")) as harness:
        page = await _page_in_full(harness)
        of_package = await _page(harness, outer)
        without = await _page_in_full(harness, gtin(2))
        compared = Markup.of(await harness.client.get(f"/compare?d={outer}&d={gtin(2)}"))

    assert sorted(row for row in page.rows if len(row) == 3) == sorted(
        [
            [inner, "Container package", "10 of this device"],
            [outer, "Container package", f"4 of {inner}"],
            [mark, "Secondary UDI-DI", ""],
        ]
    )
    assert of_package.one("h1").text == "Stem"
    assert f"{outer} is a code of this device: container package of 4 packages {inner}." in of_package.main
    assert "Packaging and other codes" not in without.main
    assert f"{outer} (container package)" in compared.main
