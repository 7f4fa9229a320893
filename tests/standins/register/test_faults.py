"""Every fault that the stand-in can show, and which requests it shows it to."""

import json
from typing import Any

import anyio
import httpx2
import pytest

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults, Kind, Mode, Rule, kind_of

from .conftest import LANGUAGE, PAGE, Register

pytestmark = pytest.mark.anyio

SEARCH = "/eudamed/devices/udiDiData"
AGENT = {"user-agent": "registerwatch-tests"}


async def ask(register: Register, **filters: Any) -> httpx2.Response:
    """One device search, whatever comes."""
    return await register.get("/devices/udiDiData", **{**PAGE, **filters})


@pytest.mark.parametrize("status", [400, 500, 502, 503, 504])
async def test_a_status_is_shown(register: Register, status: int) -> None:
    mode: Mode = f"http-{status}"  # type: ignore[assignment]
    register.faults.fail("search", mode)
    assert (await ask(register)).status_code == status


async def test_a_redirect_to_the_page_not_found_route(register: Register) -> None:
    register.faults.fail("search", "redirect-302")
    response = await ask(register)
    assert (response.status_code, response.headers["location"]) == (302, "/eudamed/page-not-found")


async def test_throttling_with_and_without_retry_after(register: Register) -> None:
    register.faults.fail("search", "throttled-429", times=1)
    register.faults.fail("search", "throttled-429", times=1, retry_after=60)
    first, second = await ask(register), await ask(register)
    assert (first.status_code, second.status_code) == (429, 429)
    assert "retry-after" not in first.headers
    assert second.headers["retry-after"] == "60"


async def test_throttling_by_307_with_html(register: Register) -> None:
    register.faults.fail("search", "throttled-307-html")
    response = await ask(register)
    assert response.status_code == 307
    assert response.headers["content-type"].startswith("text/html")


async def test_an_empty_page_contradicts_its_total(register: Register) -> None:
    register.faults.fail("search", "empty-page")
    for filters in ({}, {"primaryDi": "made-up"}):
        page = (await ask(register, **filters)).json()
        assert (page["content"], page["numberOfElements"]) == ([], 0)
        assert page["totalElements"] > 0


async def test_html_with_status_200(register: Register) -> None:
    register.faults.fail("search", "html-200")
    response = await ask(register)
    assert (response.status_code, response.text[:9]) == (200, "<!doctype")


async def test_json_that_breaks_off(register: Register) -> None:
    register.faults.fail("detail", "broken-json")
    uuid = register.world.newest(0, 1)[0].uuid
    response = await register.get(f"/devices/udiDiData/{uuid}", **LANGUAGE)
    assert response.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        response.json()


async def test_json_of_a_wrong_shape(register: Register) -> None:
    register.faults.fail("search", "json-of-wrong-shape", times=1)
    register.faults.fail("search", "json-of-null-fields", times=1)
    assert isinstance((await ask(register)).json(), list)
    nulls = (await ask(register)).json()
    assert "content" in nulls
    assert set(nulls.values()) == {None}


async def test_an_ignored_filter_answers_with_the_whole_register(register: Register) -> None:
    register.faults.fail("search", "ignored-filter")
    asked = register.world.newest(500, 1)[0]
    page = (await ask(register, primaryDi=asked.primary_di)).json()
    assert page["totalElements"] > 100_000
    assert page["content"][0]["uuid"] == register.world.newest(0, 1)[0].uuid


async def test_wrong_rows_look_like_a_small_answer(register: Register) -> None:
    register.faults.fail("search", "wrong-rows")
    asked = register.world.newest(0, 1)[0]
    page = (await ask(register, primaryDi=asked.primary_di)).json()
    assert 0 < page["totalElements"] == len(page["content"]) < 10
    assert asked.primary_di not in {row["primaryDi"] for row in page["content"]}


async def test_the_record_of_another_device_or_actor(register: Register) -> None:
    asked = register.world.newest(0, 1)[0]
    maker = register.world.actor(asked.manufacturer.srn)
    assert maker
    register.faults.fail("any", "wrong-record")
    detail = await register.record("/devices/udiDiData", asked.uuid)
    actor = (await register.get(f"/actors/{maker.uuid}/publicInformation")).json()
    assert detail["uuid"] != asked.uuid
    assert actor["actorDataPublicView"]["uuid"] != maker.uuid


async def test_silence_and_a_dropped_connection_are_errors_of_the_transport(register: Register) -> None:
    register.faults.fail("search", "timeout", times=1)
    register.faults.fail("search", "stalled-body", times=1)
    register.faults.fail("search", "connection-reset", times=1)
    with pytest.raises(httpx2.ReadTimeout):
        await ask(register)
    with pytest.raises(httpx2.ReadTimeout):
        await ask(register)
    with pytest.raises(httpx2.ReadError):
        await ask(register)
    assert (await ask(register)).status_code == 200


async def test_silence_lasts_until_the_client_gives_up(register: Register) -> None:
    faults = Faults(Rule("search", "timeout"))
    transport = httpx2.ASGITransport(create_app(register.world, faults))
    async with httpx2.AsyncClient(transport=transport, base_url="http://register.test", headers=AGENT) as client:
        with anyio.move_on_after(0.05) as scope:
            await client.get(SEARCH, params=PAGE)
    assert scope.cancelled_caught


async def test_a_huge_body(register: Register) -> None:
    register.faults.add(Rule("search", "huge-body", size=3_000_000))
    response = await ask(register)
    assert 2_900_000 < len(response.content) < 3_100_000
    assert response.json()["totalElements"] == 0


async def test_a_fault_of_the_data_lake(register: Register) -> None:
    register.faults.fail("datalake", "empty-page")
    response = await register.client.get("/datalake/udi", params={"api-version": "v1.0", "format": "json"})
    assert response.json()["value"] == []


async def test_a_rule_skips_then_shows_then_runs_out(register: Register) -> None:
    register.faults.fail("search", "http-503", skip=2, times=3)
    statuses = [(await ask(register)).status_code for _ in range(7)]
    assert statuses == [200, 200, 503, 503, 503, 200, 200]
    assert register.faults.rules == []


async def test_a_rule_concerns_its_kind_and_its_text_alone(register: Register) -> None:
    first, second = register.world.newest(0, 2)
    register.faults.fail("search", "http-500", contains=first.primary_di)
    assert (await ask(register, primaryDi=first.primary_di)).status_code == 500
    assert (await ask(register, primaryDi=second.primary_di)).status_code == 200
    assert (await register.get(f"/devices/udiDiData/{first.uuid}", **LANGUAGE)).status_code == 200


async def test_rules_can_be_cleared(register: Register) -> None:
    register.faults.fail("any", "http-500")
    register.faults.clear()
    assert (await ask(register)).status_code == 200
    assert register.faults.shown == 0


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/eudamed/devices/udiDiData", "search"),
        ("/eudamed/devices/udiDiData/c7418f9f", "detail"),
        ("/eudamed/devices/basicUdiData/udiDiData/c7418f9f", "basic"),
        ("/eudamed/eos", "actor-search"),
        ("/eudamed/actors/c7418f9f/publicInformation", "actor"),
        ("/eudamed/certificates/search/", "certificates"),
        ("/eudamed/applicationInfo", "application"),
        ("/datalake/udi", "datalake"),
        ("/eudamed/elsewhere", "any"),
    ],
)
async def test_requests_are_told_apart_by_their_path(path: str, kind: Kind) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize("agent", ["python-httpx2/2.16", "Python/3.11 aiohttp", "python"])
async def test_a_python_user_agent_gets_502(register: Register, agent: str) -> None:
    response = await register.client.get(SEARCH, params=PAGE, headers={"user-agent": agent})
    assert response.status_code == 502
