"""What else the register says of a device, on its page, in its history and beside another device."""

from typing import Any

import pytest

from registerwatch.register.device_details import (
    Availability,
    Characteristics,
    Condition,
    LinkedDevice,
    SafetySummary,
    SpecialType,
)
from tests.pages.markup import Markup
from tests.pages.registrations import gtin
from tests.register.builders import a_full_reading
from tests.support.harness import ServiceHarness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

UDI, TWIN = gtin(1), gtin(2)
HOSTILE = "</dd><script>alert(1)</script>\u202e"
DETAILS: dict[str, Any] = {
    "available_in": (Availability("DE", "2026-01-15"), Availability("AT", until="2026-02-01")),
    "placed_on_market_in": "AT",
    "single_use": False,
    "max_reuses": 100,
    "base_quantity": 1,
    "special_type": SpecialType("MDR software"),
    "characteristics": Characteristics(active=True, kit=False, cmr_substance=False, measuring_function=True),
    "storage": (Condition("refdata.s.SHC005", "SHC005"), Condition("refdata.s.SHC099", "SHC099", HOSTILE)),
    "warnings": (Condition("refdata.w.CW018", "CW018"),),
    "safety_summary": SafetySummary("61339", "10", "2025-12-01", validated=True, inactive=False),
    "linked_device": LinkedDevice(TWIN, f"B-{TWIN}", legacy=True, linked_on="2026-01-15"),
    "information_url": "https://www.acme.example/ifu?a=1&b=<2>",
}


async def page_of(harness: ServiceHarness, path: str) -> Markup:
    response = await harness.get(path)
    assert response.status_code == 200, response.text
    page = Markup.of(response)
    assert page.problems == []
    return page


async def test_what_is_known_is_shown_as_text_and_what_is_not_known_not_at_all(harness: ServiceHarness) -> None:
    await harness.store(a_full_reading(udi=UDI, **DETAILS), a_full_reading("u-2", TWIN), lists_all=False)

    page, without = [await page_of(harness, f"/d/{udi}") for udi in (UDI, TWIN)]

    assert page.facts["Available in"] == "Austria until 1 Feb 2026, Germany from 15 Jan 2026"
    assert page.facts["Single use"] == "No"
    assert page.facts["Reuses"] == "at most 100"
    assert page.facts["Devices in what has the UDI-DI"] == "1"
    assert page.facts["Special type"] == "MDR software"
    assert page.facts["Is or has"] == "active device, measuring function"
    assert page.facts["Is not and has not"] == "CMR substances, kit"
    assert page.facts["Storage and handling"] == f"SHC005; SHC099: {HOSTILE}"
    assert page.facts["Critical warnings"] == "CW018"
    assert page.facts["Safety summary (SSCP)"] == "61339, revision 10, of 2025-12-01, validated"
    assert page.facts["First placed on the market in"] == "Austria"
    assert page.link(TWIN) == f"/d/{TWIN}"
    [link] = page.all("a", href="https://www.acme.example/ifu?a=1&b=<2>")
    assert {"noopener", "nofollow"} <= {*link["rel"].split()}
    assert "Use and availability" not in without.main


async def test_a_change_of_what_was_known_is_in_the_history_line_by_line_and_a_first_value_is_not(
    harness: ServiceHarness,
) -> None:
    flags = {"active": True, "kit": False}
    await harness.store(a_full_reading(udi=UDI, characteristics=Characteristics.of(flags)))
    harness.clock.move(60)
    later = {"active": False, "kit": False, "reagent": True}
    told: dict[str, Any] = {"characteristics": Characteristics.of(later), "single_use": True, "trade_name": "Stem"}
    await harness.store(a_full_reading(udi=UDI, **told))

    [entry] = (await harness.get(f"/v1/devices/{UDI}/history")).json()["entries"]
    page = await page_of(harness, f"/d/{UDI}/history")

    assert {each["field"] for each in entry["changes"]} == {"characteristics", "trade_name"}
    [line] = [each.text for each in page.all("li") if each.text.startswith("Active device")]
    assert "Yes → became No" in line
    assert "Reagent" not in page.main


async def test_beside_another_device_a_detail_that_is_not_known_is_no_difference(harness: ServiceHarness) -> None:
    known: dict[str, Any] = {"single_use": True, "available_in": (Availability("AT"),)}
    other: dict[str, Any] = {"single_use": False, "base_quantity": 5}
    await harness.store(a_full_reading(udi=UDI, **known), a_full_reading("u-2", TWIN, **other), lists_all=False)

    response = await harness.get("/compare.csv", d=[UDI, TWIN])  # type: ignore[arg-type]
    rows = {row.partition(",")[0]: row for row in response.text.splitlines()}

    assert "Differs" in rows["Single use"]
    assert "Not known whether it differs" in rows["Available in"]
    assert "Not known whether it differs" in rows["Devices in what has the UDI-DI"]


async def test_the_record_as_of_a_day_shows_the_details_that_it_had(harness: ServiceHarness) -> None:
    await harness.store(a_full_reading(udi=UDI, **DETAILS))
    harness.clock.move(2 * 24 * 3600)
    await harness.store(a_full_reading(udi=UDI, **DETAILS | {"max_reuses": 50, "linked_device": LinkedDevice(gtin(3))}))

    then = (await harness.get(f"/v1/devices/{UDI}/history", at="2027-01-15")).json()["device"]
    now = (await harness.get(f"/v1/devices/{UDI}")).json()

    assert (then["max_reuses"], then["linked_device"]["udi"]) == (100, TWIN)
    assert (now["max_reuses"], now["linked_device"]) == (50, {"udi": gtin(3)})
    await page_of(harness, f"/d/{UDI}/history?at=2027-01-15")
