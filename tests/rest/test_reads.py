"""Search, devices and actors over REST: what is answered, how it is cached, whom it is limited for."""

import json
from collections.abc import AsyncIterator

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness, ServiceStarter


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=GeneratedWorld(600, seed=11)) as harness:
        await harness.fill_copy()
        yield harness


def _with_twin(harness: ServiceHarness) -> list[Registration]:
    """Records of one UDI-DI that has a legacy and a regulation record."""
    for record in harness.world.newest(0, 600):
        twins = harness.world.by_primary_di(record.primary_di)
        if len({twin.legislation for twin in twins}) > 1:
            return twins
    raise AssertionError("the generated world has twins")


async def test_a_search_row_has_the_seven_fields_of_the_contract(harness: ServiceHarness) -> None:
    answer = (await harness.get("/v1/search", risk="i")).json()

    assert set(answer) == {"results", "total", "match", "refresh", "error"}
    assert set(answer["results"][0]) == {
        "udi",
        "trade_name",
        "manufacturer_name",
        "manufacturer_srn",
        "status",
        "status_code",
        "risk_class",
    }
    assert answer["match"] == "name"
    assert answer["refresh"] is None
    assert len(answer["results"]) == 8


async def test_an_exact_udi_goes_before_an_exact_srn_before_a_name_before_a_reference(harness: ServiceHarness) -> None:
    record = next(each for each in harness.world.newest(0, 600) if each.trade_names and each.reference)
    name = next(iter(record.trade_names.values())) if record.trade_names else ""
    cases = {
        record.primary_di: "udi",
        record.manufacturer.srn: "srn",
        record.manufacturer.srn.lower(): "srn",
        name: "name",
        str(record.reference): "reference",
    }
    for query, match in cases.items():
        answer = (await harness.get("/v1/search", q=query)).json()
        assert answer["match"] == match, query
        assert answer["total"] >= 1
        assert bool(answer["refresh"]) is (match in {"udi", "srn"})


async def test_an_srn_lists_twenty_rows_a_page_and_every_device_once(harness: ServiceHarness) -> None:
    srn = harness.world.newest(0, 1)[0].manufacturer.srn
    expected = {each.primary_di for each in harness.world.newest(0, 600) if each.manufacturer.srn == srn}
    found: list[str] = []
    page = 1
    while rows := (await harness.get("/v1/search", q=srn, page=page)).json()["results"]:
        assert len(rows) <= 20
        found += [row["udi"] for row in rows]
        page += 1

    assert sorted(found) == sorted(expected)


async def test_a_udi_without_its_leading_zero_or_in_a_bar_code_is_found(harness: ServiceHarness) -> None:
    udi = next(each.primary_di for each in harness.world.newest(0, 600) if each.primary_di.startswith("0"))
    for spelling in (udi.removeprefix("0"), f"(01){udi}(17)280101", f" {udi} "):
        answer = (await harness.get("/v1/search", q=spelling)).json()
        assert [row["udi"] for row in answer["results"]] == [udi], spelling


async def test_a_search_never_reads_the_register(harness: ServiceHarness) -> None:
    asked = harness.register_log.total
    for query in ("04099999999992", "DE-MF-000099999", "nothing like this", harness.world.newest(0, 1)[0].primary_di):
        await harness.get("/v1/search", q=query)
    await harness.finish_background_work()

    assert harness.register_log.total == asked


async def test_of_twins_the_regulation_record_answers_everywhere(harness: ServiceHarness) -> None:
    twins = _with_twin(harness)
    preferred = min(twins, key=lambda twin: (not twin.latest_version, not twin.legislation.endswith(("mdr", "ivdr"))))
    udi = preferred.primary_di

    assert (await harness.get(f"/v1/devices/{udi}")).json()["uuid"] == preferred.uuid
    assert (await harness.get("/v1/refresh", q=udi)).json()["device"]["uuid"] == preferred.uuid
    assert (await harness.get("/v1/search", q=udi)).json()["total"] == 1


async def test_the_quick_door_and_the_route_give_the_same_answer(harness: ServiceHarness) -> None:
    udi = harness.world.newest(0, 1)[0].primary_di
    await harness.get("/v1/refresh", q=udi)

    quick = await harness.client.get(f"/v1/devices/{udi}")
    through_the_route = await harness.client.get(f"/v1/devices/%20{udi}")

    assert through_the_route.json() == quick.json()
    for header in ("etag", "cache-control", "content-type", "access-control-allow-origin"):
        assert through_the_route.headers[header] == quick.headers[header]
    for path in (f"/v1/devices/{udi}", f"/v1/devices/%20{udi}"):
        same = await harness.client.get(path, headers={"If-None-Match": quick.headers["etag"]})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", quick.headers["etag"])


async def test_an_etag_changes_with_the_record_and_with_trouble(harness: ServiceHarness) -> None:
    record = next(
        each for each in harness.world.newest(0, 600) if len(harness.world.by_primary_di(each.primary_di)) == 1
    )
    path = f"/v1/devices/{record.primary_di}"
    await harness.get("/v1/refresh", q=record.primary_di)
    first = (await harness.get(path)).headers["etag"]
    harness.faults.fail("any", "http-500")
    await harness.get("/v1/refresh", q=record.primary_di)
    troubled = (await harness.get(path)).headers["etag"]
    harness.faults.clear()
    harness.world.change(record.uuid, reference="ANOTHER")
    await harness.get("/v1/refresh", q=record.primary_di)

    assert len({first, troubled, (await harness.get(path)).headers["etag"]}) == 3


@pytest.mark.parametrize("path", ["/v1/search?q=set", "/v1/actors/{srn}"])
async def test_search_and_actor_answer_304_to_who_has_the_answer(harness: ServiceHarness, path: str) -> None:
    path = path.format(srn=harness.world.newest(0, 1)[0].manufacturer.srn)
    await harness.get(path)
    await harness.finish_background_work()
    await harness.update_index()
    first = await harness.client.get(path)

    again = await harness.client.get(path, headers={"If-None-Match": first.headers["etag"]})

    assert "max-age" in first.headers["cache-control"]
    assert (again.status_code, again.content) == (304, b"")


async def test_an_actor_has_the_registers_count_and_at_most_twenty_devices(harness: ServiceHarness) -> None:
    record = harness.world.newest(0, 1)[0]
    srn = record.manufacturer.srn
    await harness.get("/v1/refresh", q=srn)

    actor = (await harness.get(f"/v1/actors/{srn}")).json()

    registrations = sum(each.manufacturer.srn == srn for each in harness.world.newest(0, 600))
    assert actor["device_total"] == registrations
    assert (actor["name"], actor["country"]) == (record.manufacturer.name, srn[:2])
    assert actor["manufacturer_status"] == "Active"
    assert len(actor["devices"]) == min(20, registrations)
    filtered = (await harness.get(f"/v1/actors/{srn}", status="off", risk="iii")).json()
    assert filtered["device_total"] == len(filtered["devices"])
    assert (await harness.get(f"/v1/actors/{srn.lower()}")).json()["srn"] == srn


async def test_an_actor_without_devices_in_the_copy_is_read_through(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        representative = next(
            each.authorised_representative for each in harness.world.newest(0, 120) if each.authorised_representative
        )

        actor = (await harness.get(f"/v1/actors/{representative.srn}")).json()

        assert (actor["name"], actor["error"]) == (representative.name, None)
        assert actor["device_total"] > 0
        unknown = (await harness.get("/v1/actors/DE-MF-999999999")).json()
        assert (unknown["name"], unknown["error"]) == ("", "The register has no actor with this SRN.")


async def test_certificates_come_from_both_sources_with_and_without_dates(harness: ServiceHarness) -> None:
    certified = [
        record
        for record in harness.world.newest(0, 600)
        if record.certificates and len(harness.world.by_primary_di(record.primary_di)) == 1
    ]
    for place in ("basic-udi-record", "certificate-search"):
        listed_there = [record for record in certified if {each.listed_in for each in record.certificates} == {place}]
        assert listed_there, place
        for record in listed_there[:3]:
            device = (await harness.get("/v1/refresh", q=record.primary_di)).json()["device"]
            expiries = {each["number"]: each.get("expiry") for each in device["certs"]}
            for each in record.certificates:
                assert expiries[each.number] == each.expiry
    without = tuple(replace(each, expiry=None) for each in certified[0].certificates)
    harness.world.change(certified[0].uuid, certificates=without)
    device = (await harness.get("/v1/refresh", q=certified[0].primary_di)).json()["device"]
    assert not any("expiry" in each for each in device["certs"] if each["number"] in {one.number for one in without})


async def test_every_page_of_the_open_interface_is_open_to_other_sites(harness: ServiceHarness) -> None:
    for path in ("/v1/search?q=set", "/v1/devices/1", "/v1/nothing"):
        answer = await harness.client.get(path, headers={"Origin": "https://elsewhere.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
    preflight = await harness.client.options(
        "/v1/search", headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    )
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert preflight.headers["access-control-allow-headers"] == "Content-Type, X-API-Key, Authorization"
    assert "access-control-allow-origin" not in (await harness.client.get("/health")).headers


async def test_who_makes_the_service_read_the_register_is_limited_and_stored_records_are_not(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True) as harness:
        for number in range(20):
            await harness.get(f"/v1/devices/0409999{number:07d}")
        asked = harness.register_log.total

        assert (await harness.get("/v1/devices/04099998888888")).status_code == 429
        assert (await harness.get("/v1/refresh", q="04099998888888")).status_code == 429
        assert harness.register_log.total == asked


async def test_health_tells_what_an_operator_asks_first(harness: ServiceHarness) -> None:
    health = (await harness.get("/health")).json()

    assert health["status"] == "ok"
    assert health["version"]
    assert health["database"]["kind"] in {"sqlite", "postgresql"}
    assert health["copy"]["devices"] == 600
    assert health["copy"]["age_seconds"] is not None
    assert health["index"]["lag"] == 0
    assert health["register"]["last_read_at"] is None
    await harness.get("/v1/refresh", q=harness.world.newest(0, 1)[0].primary_di)
    again = (await harness.get("/health")).json()
    assert again["register"]["last_read_at"]
    assert again["register"]["reads"]["found"] == 1


async def test_no_personal_data_of_the_register_is_stored_or_served(harness: ServiceHarness) -> None:
    """The stand-in puts made-up addresses where the register has personal data."""
    record = harness.world.newest(0, 1)[0]
    for code in (record.primary_di, record.manufacturer.srn):
        assert (await harness.get("/v1/refresh", q=code)).json()["refreshed"] is True
    served = [
        (await harness.get(f"/v1/devices/{record.primary_di}")).text,
        (await harness.get(f"/v1/actors/{record.manufacturer.srn}")).text,
    ]
    rows = await harness.service.documents.changed_since(0, 1000)
    everything = json.dumps(served) + "".join(row.document.decode() for row in rows)

    assert "@" not in everything
    for word in ("electronicMail", "telephone", "validatorEmail", "regulatoryCompliance", "lastUpdatedByUser"):
        assert word not in everything
