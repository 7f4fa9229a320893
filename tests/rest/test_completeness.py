"""What an answer about a device says of the parts of its record that were never read, and how old each part is."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from registerwatch.platform.clock import iso_utc
from registerwatch.register.outcomes import CERTIFICATES_UNREAD
from registerwatch_standins.register.records import Certificate, Registration
from tests.mcp.messages import used
from tests.pages.markup import Markup
from tests.register.builders import a_registered_certificate
from tests.support.harness import NOW, ServiceHarness, ServiceStarter

WAIT = {"Prefer": "wait=3"}
NEVER_READ = {"complete": False, "missing": ["certificates", "dates", "names"], "certs_read_at": None}


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service() as harness:
        await harness.fill_copy()
        yield harness


def certified(harness: ServiceHarness) -> Registration:
    """A registration that both places list a certificate for, alone under its UDI-DI."""
    record = next(each for each in harness.unique_devices(120) if each.basic_udi)
    certificates = a_certificate("D-1", "basic-udi-record"), a_certificate("Z-2", "certificate-search")
    return harness.world.change(record.uuid, new_version=False, certificates=certificates)


def a_certificate(number: str, listed_in: Any) -> Certificate:
    """A certificate with a number, listed in one of two places."""
    return a_registered_certificate(number, listed_in, expiry="2031-05-01", type="MDR_QUALITY_MANAGEMENT_SYSTEM")


async def device(harness: ServiceHarness, udi: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """What REST answers of a device."""
    return dict((await harness.client.get(f"/v1/devices/{udi}", headers=headers or {})).json())


def knowledge(answer: dict[str, Any]) -> dict[str, Any]:
    """What the answer says of its own completeness."""
    return {name: answer[name] for name in NEVER_READ}


async def test_a_device_of_a_bulk_load_says_what_was_never_read_until_it_was(harness: ServiceHarness) -> None:
    record = certified(harness)

    first = await device(harness, record.primary_di)
    await harness.finish_background_work()
    second = await device(harness, record.primary_di)

    assert (first["certs"], first["error"], knowledge(first)) == ([], None, NEVER_READ)
    assert len(second["certs"]) == len(record.certificates)
    assert knowledge(second) == {"complete": True, "missing": [], "certs_read_at": second["read_at"]}


async def test_caches_do_not_keep_an_answer_that_is_not_complete(harness: ServiceHarness) -> None:
    path = f"/v1/devices/{certified(harness).primary_di}"

    first = await harness.client.get(path)
    await harness.finish_background_work()
    second = await harness.client.get(path)

    assert (first.headers["cache-control"], second.headers["cache-control"]) == ("no-cache", "public, max-age=60")


@pytest.mark.parametrize("prefer", ["wait=3", "wait=60", "respond-async, wait=3", 'WAIT="3"; x=y'])
async def test_who_prefers_to_wait_gets_the_whole_record_at_once(harness: ServiceHarness, prefer: str) -> None:
    record = certified(harness)

    response = await harness.client.get(f"/v1/devices/{record.primary_di}", headers={"Prefer": prefer})

    assert response.headers["preference-applied"] == "wait=3"
    assert "Prefer" in response.headers["vary"]
    assert response.json()["complete"] is True
    assert len(response.json()["certs"]) == len(record.certificates)


@pytest.mark.parametrize("prefer", ["wait=0", "wait", "wait=-1", "wait=soon", "respond-async", ""])
async def test_a_preference_that_asks_for_no_waiting_waits_for_nothing(harness: ServiceHarness, prefer: str) -> None:
    path = f"/v1/devices/{certified(harness).primary_di}"

    response = await harness.client.get(path, headers={"Prefer": prefer})

    assert "preference-applied" not in response.headers
    assert knowledge(response.json()) == NEVER_READ


async def test_who_prefers_to_wait_waits_no_longer_than_that(harness: ServiceHarness) -> None:
    record = certified(harness)
    harness.to_register.held = {"register.test"}

    async with asyncio.timeout(3):
        answer = await device(harness, record.primary_di, {"Prefer": "wait=1"})

    assert knowledge(answer) == NEVER_READ
    harness.to_register.let.set()


async def test_who_prefers_to_wait_for_what_cannot_be_read_is_told_why(harness: ServiceHarness) -> None:
    harness.faults.fail("search", "http-400")

    answer = await device(harness, certified(harness).primary_di, WAIT)

    assert knowledge(answer) == NEVER_READ
    assert "400" in answer["error"]


async def test_a_304_waits_too_and_is_none_where_the_record_is_another_now(harness: ServiceHarness) -> None:
    path = f"/v1/devices/{certified(harness).primary_di}"
    harness.to_register.held = {"register.test"}
    tag = (await harness.client.get(path)).headers["etag"]
    harness.to_register.held = set()
    harness.to_register.let.set()

    response = await harness.client.get(path, headers={**WAIT, "If-None-Match": tag})

    assert (response.status_code, response.json()["complete"]) == (200, True)


@pytest.mark.parametrize("tool", ["get_device", "lookup_udi"])
async def test_the_tool_for_one_device_waits_for_the_whole_record(harness: ServiceHarness, tool: str) -> None:
    record = certified(harness)

    said = await used(harness, tool, udi=record.primary_di)

    assert said.payload["complete"] is True
    assert len(said.payload["certs"]) == len(record.certificates)


async def test_the_tool_says_what_was_not_read_where_that_takes_too_long(harness: ServiceHarness) -> None:
    harness.faults.fail("search", "http-400")

    said = await used(harness, "get_device", udi=certified(harness).primary_di)

    assert knowledge(said.payload) == NEVER_READ


async def test_a_device_whose_certificate_search_could_not_be_read_is_not_complete_until_it_could(
    harness: ServiceHarness,
) -> None:
    record = certified(harness)
    harness.faults.fail("certificates", "http-500")

    first = await device(harness, record.primary_di, WAIT)
    page = (await harness.get(f"/d/{record.primary_di}")).text
    harness.faults.clear()
    await device(harness, record.primary_di, WAIT)
    harness.clock.move(61)
    await device(harness, record.primary_di)
    await harness.finish_background_work()
    asked = harness.register_log.kinds["basic"]
    second = await device(harness, record.primary_di, WAIT)

    assert asked == 1, "the register is not asked at every look"
    assert knowledge(first) == {"complete": False, "missing": ["certificates"], "certs_read_at": None}
    assert first["read_at"] == iso_utc(NOW)
    assert "None named" not in page
    assert "have not been read yet" in page
    assert second["complete"] is True
    assert len(second["certs"]) == len(record.certificates)


async def test_certificates_that_could_not_be_read_again_keep_their_own_age_and_every_answer_says_so(
    harness: ServiceHarness,
) -> None:
    record = certified(harness)
    before = await device(harness, record.primary_di, WAIT)
    harness.faults.fail("certificates", "http-500")
    harness.clock.move(7 * 3600)

    refreshed = (await harness.get("/v1/refresh", q=record.primary_di)).json()

    after = refreshed["device"]
    assert (refreshed["refreshed"], refreshed["error"]) == (True, CERTIFICATES_UNREAD)
    assert after["certs"] == before["certs"]
    assert (before["read_at"], before["certs_read_at"]) == (iso_utc(NOW), iso_utc(NOW))
    assert after["certs_read_at"] == iso_utc(NOW)
    assert after["read_at"] > before["read_at"]
    page = Markup.of(await harness.get(f"/d/{record.primary_di}"))
    [notice] = [each.text for each in page.all("p") if "Certificates may be out of date" in each.text]
    assert "as they were read on 15 Jan 2027" in notice
    harness.faults.clear()
    read = (await harness.get("/v1/refresh", q=record.primary_di)).json()
    assert read["error"] is None
    assert "out of date" not in (await harness.get(f"/d/{record.primary_di}")).text


async def test_a_record_is_as_old_as_the_instant_before_the_first_request_for_it(harness: ServiceHarness) -> None:
    owner, [record] = await harness.sign_up(), harness.unique_devices(1)
    harness.to_register.held = {"basicUdiData"}
    adding = asyncio.create_task(harness.post_watches(owner.api_key, record.primary_di))
    await harness.to_register.reached.wait()

    harness.clock.move(16)
    harness.to_register.let.set()
    [watch] = await adding
    answer = await device(harness, record.primary_di)

    assert (answer["read_at"], answer["certs_read_at"]) == (iso_utc(NOW), iso_utc(NOW))
    assert watch["last_sync"] == iso_utc(NOW)


async def test_an_actor_is_as_old_as_the_instant_before_the_first_request_for_it(harness: ServiceHarness) -> None:
    srn = certified(harness).manufacturer.srn
    harness.to_register.held = {"udiDiData"}
    reading = asyncio.create_task(harness.get("/v1/refresh", q=srn))
    await harness.to_register.reached.wait()

    harness.clock.move(16)
    harness.to_register.let.set()

    assert (await reading).json()["actor"]["read_at"] == iso_utc(NOW)


async def test_the_description_says_what_empty_certificates_mean_and_how_to_wait(harness: ServiceHarness) -> None:
    description: Any = (await harness.get("/openapi.json")).json()
    operation = description["paths"]["/v1/devices/{udi}"]["get"]
    fields = description["components"]["schemas"]["ServedDevice"]["properties"]

    assert [each["name"] for each in operation["parameters"] if each["in"] == "header"] == ["Prefer"]
    assert "Preference-Applied" in operation["responses"]["200"]["headers"]
    assert "`complete`" in fields["certs"]["description"]
    for tool in ("get_device", "lookup_udi"):
        [text] = [each["description"] for each in await _tools(harness) if each["name"] == tool]
        assert "`complete: false`" in text
        assert "An empty `certs` means that the register lists none" not in text


async def _tools(harness: ServiceHarness) -> list[dict[str, Any]]:
    response: httpx2.Response = await harness.post("/mcp", jsonrpc="2.0", id=1, method="tools/list")
    tools: list[dict[str, Any]] = response.json()["result"]["tools"]
    return tools


async def test_a_record_that_an_earlier_release_read_does_not_say_that_its_certificates_were_read(
    harness: ServiceHarness,
) -> None:
    record = certified(harness)
    before = await device(harness, record.primary_di, WAIT)
    async with harness.database.transaction() as connection:
        await connection.execute(text("UPDATE devices SET detail_read_at = NULL, certs_read_at = NULL"))

    upgraded = await device(harness, record.primary_di)
    harness.clock.move(3600)
    read_again = await device(harness, record.primary_di, WAIT)

    assert upgraded["certs"] == before["certs"]
    assert knowledge(upgraded) == {"complete": False, "missing": ["certificates"], "certs_read_at": None}
    assert read_again["complete"] is True
