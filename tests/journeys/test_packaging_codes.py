"""A person scans the carton, the direct mark or a single unit of a device: every surface leads to the device."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from registerwatch.register.identifiers import has_gs1_check_digit
from registerwatch_standins.register.records import OtherCode, Registration
from tests.mcp.messages import used
from tests.support.harness import ServiceHarness
from tests.support.statements import counted_statements


def a_package(udi: str, indicator: int) -> str:
    """The GTIN of a package of a device, with its check digit."""
    digits = f"{indicator}{udi[1:13]}"
    return next(f"{digits}{last}" for last in range(10) if has_gs1_check_digit(f"{digits}{last}"))


@pytest.fixture
def boxed(harness: ServiceHarness) -> Registration:
    """A device in boxes of ten, of which a carton holds four, and which carries a mark of its own."""
    record = next(each for each in harness.unique_devices(60) if each.issuing_agency == "gs1")
    udi = record.primary_di
    box, carton, mark = (a_package(udi, indicator) for indicator in (1, 2, 3))
    return harness.world.change(
        record.uuid,
        other_codes=(
            OtherCode(box, "container_package", 10, udi),
            OtherCode(carton, "container_package", 4, box),
            OtherCode(mark, "direct_marking"),
        ),
    )


@pytest.fixture
def udi(boxed: Registration) -> str:
    return boxed.primary_di


@pytest.fixture
def carton(udi: str) -> str:
    return a_package(udi, 2)


@pytest.fixture
def box(udi: str) -> str:
    return a_package(udi, 1)


async def read_in_full(harness: ServiceHarness, udi: str) -> dict[str, Any]:
    """Read the device from the register now; what is served of it."""
    harness.clock.move(7 * 3600)
    refreshed = (await harness.get("/v1/refresh", q=udi)).json()
    assert refreshed["refreshed"], refreshed
    device: dict[str, Any] = refreshed["device"]
    return device


async def test_codes_that_a_bulk_load_brought_lead_to_the_device_and_a_read_says_what_they_are(
    harness: ServiceHarness, udi: str, box: str, carton: str
) -> None:
    await harness.fill_copy()
    [found] = (await harness.get("/v1/search", q=carton)).json()["results"]
    assert found["udi"] == udi

    served = await read_in_full(harness, udi)

    agency = "refdata.issuing-agency.gs1"
    told = {"kind": "container_package", "issuing_agency_code": agency}
    assert served["other_codes"] == [
        {"code": a_package(udi, 3), "kind": "direct_marking", "issuing_agency_code": agency},
        {"code": box, **told, "quantity": 10, "contains": udi},
        {"code": carton, **told, "quantity": 4, "contains": box},
    ]
    searched = (await harness.get("/v1/search", q=f"(01){carton}(10)LOT1")).json()
    assert searched["code_of"] == [{"udi": udi, **served["other_codes"][2]}]
    assert (searched["match"], searched["total"], searched["refresh"]) == ("udi", 1, f"/v1/refresh?q={udi}")
    plain = (await harness.get("/v1/search", q=udi)).json()
    assert "code_of" not in plain


async def test_every_surface_that_takes_a_code_takes_that_of_a_carton(
    harness: ServiceHarness, udi: str, carton: str
) -> None:
    await harness.fill_copy()
    await read_in_full(harness, udi)
    device = (await harness.get(f"/v1/devices/{udi}")).json()
    harness.register_log.clear()

    for code in (carton, f"(01){carton}(17)280131(10)A1", f"01{carton}1728013110A1"):
        answered = await harness.client.get(f"/v1/devices/{code}")
        assert (answered.status_code, answered.json()) == (200, device), code
        page = await harness.client.get(f"/d/{code}")
        assert page.status_code == 200, code
        assert f"<code>{carton}</code> is a code of this device: container package of 4" in page.text
        parsed = (await harness.get("/v1/parse", code=code)).json()
        assert [(each["udi"], each["kind"], each["quantity"]) for each in parsed["code_of"]] == [
            (udi, "container_package", 4)
        ]
        search = (await harness.get("/", q=code)).text
        assert "1 device with this as a code beside the UDI-DI" in search
        history = (await harness.get(f"/v1/devices/{code}/history")).json()
        assert history["udi"] == udi, code
    for tool in ("get_device", "lookup_udi"):
        said = await used(harness, tool, udi=carton)
        assert not said.is_error
        assert said.payload["udi"] == udi
    listed = await used(harness, "search_devices", q=carton)
    assert listed.payload["code_of"][0]["udi"] == udi
    assert harness.register_log.total == 0, "the copy knows all that"

    own_page = (await harness.get(f"/d/{udi}")).text
    assert "Packaging and other codes" in own_page
    assert "is a code of this device" not in own_page
    assert "code_of" not in (await harness.get("/v1/parse", code=udi)).json()


async def test_a_watch_and_a_list_of_cartons_watch_the_devices(
    harness: ServiceHarness, udi: str, box: str, carton: str
) -> None:
    await harness.fill_copy()
    owner, other = await harness.sign_up(), await harness.sign_up("other@acme.example")

    [watch] = await harness.post_watches(owner.session, carton)
    again = (await harness.post("/v1/watches", owner.session, subject=udi)).json()
    tried = (await harness.post("/v1/import", other.session, csv=f"{carton}\n{box}\n{udi}", dry_run=True)).json()
    added = (await harness.post("/v1/import", other.session, csv=f"(01){carton}(10)A1\n{box}")).json()

    assert (watch["subject"], again["watch"]["id"]) == (udi, watch["id"])
    assert [(line["subject"], line["fate"]) for line in tried["lines"]] == [
        (udi, "added"),
        (udi, "skipped"),
        (udi, "skipped"),
    ]
    assert (added["added"], added["skipped"]) == (1, 1)
    assert [each["subject"] for each in await harness.get_list(other.session, "watches")] == [udi]


async def test_packages_that_come_and_go_are_no_events_and_those_that_are_gone_are_not_found(
    harness: ServiceHarness, boxed: Registration, udi: str, box: str, carton: str
) -> None:
    async def told() -> set[str]:
        """The fields whose changes a sync tells."""
        events = (await harness.post_sync(owner.session))["events"]
        return {change["field"] for event in events for change in event["changes"]}

    harness.world.change(boxed.uuid, other_codes=())
    await harness.fill_copy()
    owner = await harness.sign_up()
    await harness.post_watches(owner.session, udi)
    assert "other_codes" not in (await harness.get(f"/v1/devices/{udi}")).json()

    harness.world.change(boxed.uuid, other_codes=boxed.other_codes)
    assert await told() == {"version"}
    assert (await harness.get(f"/v1/devices/{carton}")).json()["udi"] == udi

    first = (await harness.get(f"/v1/devices/{udi}/history")).json()["entries"][0]
    assert "other_codes" in first["first_read"]

    harness.world.change(boxed.uuid, other_codes=boxed.other_codes[:1])
    assert await told() == {"version"}
    history = (await harness.get(f"/d/{udi}/history")).text
    assert "Packaging and other codes" in history
    assert carton in history

    assert (await harness.get(f"/v1/devices/{box}")).json()["udi"] == udi
    gone = await harness.client.get(f"/v1/devices/{carton}")
    assert (gone.status_code, gone.json()["udi"]) == (404, carton)
    assert (await harness.get("/v1/search", q=carton)).json()["total"] == 0
    assert "code_of" not in (await harness.get("/v1/parse", code=carton)).json()


async def test_a_code_of_several_devices_shows_them_all_and_chooses_none(
    harness: ServiceHarness, boxed: Registration, udi: str, carton: str
) -> None:
    second = next(each for each in harness.unique_devices(60) if each.uuid != boxed.uuid)
    harness.world.change(second.uuid, other_codes=(OtherCode(carton, "unit_of_use"),))
    await harness.fill_copy()
    both = sorted((udi, second.primary_di))
    owner = await harness.sign_up()

    found = (await harness.get("/v1/search", q=carton)).json()
    assert sorted(row["udi"] for row in found["results"]) == both
    assert sorted((each["udi"], each["kind"]) for each in found["code_of"]) == sorted(
        [(udi, "container_package"), (second.primary_di, "unit_of_use")]
    )
    assert found["refresh"] is None
    refused: list[Callable[[], Awaitable[Any]]] = [
        lambda: harness.client.get(f"/v1/devices/{carton}"),
        lambda: harness.client.get(f"/v1/devices/(01){carton}"),
        lambda: harness.client.get(f"/v1/refresh?q={carton}"),
        lambda: harness.post("/v1/watches", owner.session, subject=carton),
    ]
    for ask in refused:
        answer = await ask()
        assert answer.status_code == 400
        assert all(each in answer.json()["error"] for each in both)
    page = await harness.client.get(f"/d/{carton}")
    assert (page.status_code, page.headers["location"]) == (303, f"/?q={carton}")
    said = await used(harness, "get_device", udi=carton)
    assert said.is_error
    listed = (await harness.post("/v1/import", owner.session, csv=carton)).json()
    assert listed["added"] == 0
    assert all(each in listed["errors"][0] for each in both)


async def test_a_udi_di_in_the_copy_means_its_own_device_whatever_else_has_it(
    harness: ServiceHarness, boxed: Registration, udi: str
) -> None:
    second = next(each for each in harness.unique_devices(60) if each.uuid != boxed.uuid)
    own = second.primary_di
    harness.world.change(boxed.uuid, other_codes=(OtherCode(own, "secondary"),))
    await harness.fill_copy()
    owner = await harness.sign_up()

    assert (await harness.get(f"/v1/devices/{own}")).json()["udi"] == own
    assert [row["udi"] for row in (await harness.get("/v1/search", q=own)).json()["results"]] == [own]
    assert "code_of" not in (await harness.get("/v1/parse", code=own)).json()
    assert (await harness.post("/v1/import", owner.session, csv=own)).json()["lines"][0]["subject"] == own
    assert [each["subject"] for each in await harness.post_watches(owner.session, own)] == [own]


async def test_what_no_device_of_the_copy_has_is_still_read_from_the_register(
    harness: ServiceHarness, udi: str, carton: str
) -> None:
    unknown = await harness.client.get(f"/v1/devices/{carton}")
    read = await harness.client.get(f"/v1/devices/{udi}")

    assert (unknown.status_code, read.status_code, read.json()["udi"]) == (404, 200, udi)
    assert harness.register_log.total > 0
    assert (await harness.get(f"/v1/devices/{carton}")).json()["udi"] == udi, "since the device was read"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_device_that_is_read_by_its_own_udi_di_costs_no_look_for_other_codes(
    harness: ServiceHarness, udi: str
) -> None:
    await harness.fill_copy()
    await read_in_full(harness, udi)
    paths = (f"/v1/devices/{udi}", f"/d/{udi}", f"/?q={udi}", "/?q=set")
    for path in paths:
        await harness.client.get(path)

    with counted_statements() as statements:
        for path in paths:
            assert (await harness.client.get(path)).status_code == 200
        with_header = await harness.client.get(f"/v1/devices/{udi}", headers={"Prefer": "wait=1"})
        said = await used(harness, "get_device", udi=udi)

    assert (with_header.status_code, said.payload["udi"]) == (200, udi)
    assert not any("device_codes" in each for each in statements)
