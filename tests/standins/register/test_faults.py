"""Every fault that the stand-in can show, and which requests it shows it to."""

from collections.abc import Callable
from typing import Any, get_args

import httpx2
import msgspec
import pytest

from registerwatch_standins.register.faults import Faults, Mode, Slowness
from registerwatch_standins.register.world import World

from .conftest import LANGUAGE, PAGE, Register, client_of

SEARCH = "/eudamed/devices/udiDiData"
Answers = Callable[[httpx2.Response], object]


async def ask(register: Register, **filters: Any) -> httpx2.Response:
    """One device search, whatever comes."""
    return await register.get("/devices/udiDiData", **{**PAGE, **filters})


def breaks_off(response: httpx2.Response) -> bool:
    try:
        msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return response.content.startswith(b"{")
    return False


def contradicts_itself(response: httpx2.Response) -> bool:
    page = response.json()
    return page["content"] == [] and page["totalElements"] > 0 and page["last"] is False


ANSWERS: dict[Mode, tuple[int, Answers]] = {
    "redirect-302": (302, lambda response: response.headers["location"] == "/eudamed/page-not-found"),
    "throttled-429": (429, lambda response: "retry-after" not in response.headers),
    "throttled-307-html": (307, lambda response: response.headers["content-type"].startswith("text/html")),
    "empty-page": (200, contradicts_itself),
    "html-200": (200, lambda response: response.text.startswith("<!doctype")),
    "web-filter-200": (200, lambda response: "Web Filter – Access Denied" in response.text),
    "web-filter-403": (403, lambda response: "Web Filter – Access Denied" in response.text),
    "broken-json": (200, breaks_off),
    "http-400": (400, httpx2.Response.json),
    "http-500": (500, httpx2.Response.read),
    "http-502": (502, httpx2.Response.read),
    "http-503": (503, httpx2.Response.read),
    "http-504": (504, httpx2.Response.read),
    "huge-body": (200, lambda response: 2_900_000 < len(response.content) < 3_100_000 and response.json()),
    "json-of-wrong-shape": (200, lambda response: isinstance(response.json(), list)),
    "json-of-null-fields": (200, lambda response: "content" in response.json() and not any(response.json().values())),
}
OTHERS = {
    "timeout",
    "stalled-body",
    "connection-reset",
    "ignored-filter",
    "wrong-rows",
    "wrong-record",
}


@pytest.mark.parametrize("mode", ANSWERS)
async def test_a_fault_is_shown_as_the_real_service_shows_it(register: Register, mode: Mode) -> None:
    register.faults.fail("search", mode, size=3_000_000)
    status, is_as_expected = ANSWERS[mode]
    for filters in ({}, {"primaryDi": "made-up"}):
        response = await ask(register, **filters)
        assert response.status_code == status
        assert is_as_expected(response)


def test_every_fault_is_tested_here() -> None:
    assert ANSWERS.keys() | OTHERS == set(get_args(Mode))


async def test_throttling_can_say_how_long(register: Register) -> None:
    register.faults.fail("search", "throttled-429", retry_after=60)
    assert (await ask(register)).headers["retry-after"] == "60"


async def test_an_ignored_filter_answers_with_the_whole_register(register: Register) -> None:
    register.faults.fail("search", "ignored-filter")
    page = (await ask(register, primaryDi=register.world.newest(500, 1)[0].primary_di)).json()
    assert page["totalElements"] > 100_000
    assert page["content"][0]["uuid"] == register.world.newest(0, 1)[0].uuid


async def test_a_page_without_rows_looks_like_a_search_that_found_nothing(register: Register) -> None:
    nothing = (await ask(register, primaryDi="made-up")).json()
    register.faults.fail("search", "no-rows")
    shown = (await ask(register, primaryDi=register.world.newest(0, 1)[0].primary_di)).json()
    assert shown == nothing


async def test_wrong_rows_look_like_a_small_answer(register: Register) -> None:
    register.faults.fail("search", "wrong-rows")
    asked = register.world.newest(0, 1)[0]
    page = (await ask(register, primaryDi=asked.primary_di)).json()
    assert 0 < page["totalElements"] == len(page["content"]) < 10
    assert asked.primary_di not in {row["primaryDi"] for row in page["content"]}


async def test_the_record_of_another_device(register: Register) -> None:
    asked = register.world.newest(0, 1)[0]
    register.faults.fail("any", "wrong-record")
    detail = await register.record("/devices/udiDiData", asked.uuid)
    assert detail["uuid"] != asked.uuid


async def test_silence_and_a_dropped_connection_are_errors_of_the_transport(register: Register) -> None:
    failures: list[tuple[Mode, type[Exception]]] = [
        ("timeout", httpx2.ReadTimeout),
        ("stalled-body", httpx2.ReadTimeout),
        ("connection-reset", httpx2.ReadError),
    ]
    for mode, error in failures:
        register.faults.fail("search", mode, times=1)
        with pytest.raises(error):
            await ask(register)
    assert (await ask(register)).status_code == 200


async def test_a_rule_skips_then_shows_then_runs_out(register: Register) -> None:
    register.faults.fail("search", "http-503", skip=2, times=3)
    assert [(await ask(register)).status_code for _ in range(7)] == [200, 200, 503, 503, 503, 200, 200]


async def test_a_rule_concerns_its_kind_and_its_text_alone(register: Register) -> None:
    first, second = register.world.newest(0, 2)
    register.faults.fail("search", "http-500", contains=first.primary_di)
    assert (await ask(register, primaryDi=first.primary_di)).status_code == 500
    assert (await ask(register, primaryDi=second.primary_di)).status_code == 200
    assert (await register.get(f"/devices/udiDiData/{first.uuid}", **LANGUAGE)).status_code == 200


@pytest.mark.parametrize("agent", ["python-httpx2/2.16", "Python/3.11 aiohttp"])
async def test_a_python_user_agent_gets_502(register: Register, agent: str) -> None:
    assert (await register.client.get(SEARCH, params=PAGE, headers={"user-agent": agent})).status_code == 502


@pytest.mark.parametrize("mode", get_args(Slowness))
async def test_a_slow_answer_is_the_true_one_after_so_many_seconds(world: World, mode: Slowness) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    faults = Faults()
    faults.fail("datalake", mode, seconds=22, times=1)
    lake = {"api-version": "v1.0", "format": "json"}
    async with client_of(world, faults, sleep=sleep) as client:
        first, second = [await client.get("/datalake/udi", params=lake) for _ in range(2)]
    assert first.json() == second.json()
    assert sum(slept) == pytest.approx(22)
    assert len(slept) == {"slow-answer": 1, "slow-body": 20}[mode]


async def test_so_many_requests_a_minute_are_tolerated_and_those_beyond_throttled(register: Register) -> None:
    now = 1_000.0
    register.faults.tolerate(3, "throttled-307-html", clock=lambda: now)
    assert [(await ask(register)).status_code for _ in range(5)] == [200, 200, 200, 307, 307]
    lake = await register.client.get("/datalake/udi", params={"api-version": "v1.0", "format": "json"})
    assert lake.status_code == 200
    now += 59
    assert (await ask(register)).status_code == 307
    now += 61
    assert (await ask(register)).status_code == 200
    register.faults.clear()
    assert [(await ask(register)).status_code for _ in range(5)] == [200] * 5
