"""How many lines a flood of refusals leaves."""

from unittest.mock import patch

import httpx2
import pytest
import structlog

from registerwatch.platform.logs import WINDOW_SECONDS
from registerwatch.web.limits.refusal_log import MAX_ERRORS, MAX_LINES, ErrorLog, RefusalLog
from tests.mcp.messages import used
from tests.support.harness import ServiceHarness, auth_headers


def test_a_minute_has_few_lines_and_the_next_one_says_how_many_were_left_out() -> None:
    moment = 1_000.0
    refusals = RefusalLog(lambda: moment)
    with structlog.testing.capture_logs() as lines:
        for _ in range(500):
            refusals.note("192.0.2.1", 400, "malformed-request", "9f86d081884c7d65")
        moment += WINDOW_SECONDS
        refusals.note("192.0.2.2", 431, "head-too-large", "9f86d081884c7d66")

    assert len(lines) == MAX_LINES + 1
    assert (lines[0]["client"], lines[0]["left_out"]) == ("192.0.2.1", 0)
    assert (lines[-1]["client"], lines[-1]["status"], lines[-1]["left_out"]) == ("192.0.2.2", 431, 500 - MAX_LINES)


def test_unexpected_errors_are_counted_likewise() -> None:
    moment = 1_000.0
    errors = ErrorLog(lambda: moment)
    with structlog.testing.capture_logs() as lines:
        for _ in range(500):
            errors.note(ZeroDivisionError(), path="/v1/search")
        moment += WINDOW_SECONDS
        errors.note(ZeroDivisionError(), tool="search_devices")

    assert len(lines) == MAX_ERRORS + 1
    assert (lines[0]["path"], lines[0]["left_out"]) == ("/v1/search", 0)
    assert (lines[-1]["tool"], lines[-1]["left_out"]) == ("search_devices", 500 - MAX_ERRORS)
    assert all(isinstance(line["exc_info"], ZeroDivisionError) for line in lines)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_flood_of_unexpected_errors_leaves_few_lines_and_none_of_the_server(harness: ServiceHarness) -> None:
    transport = httpx2.ASGITransport(app=harness.app)  # raises what the server would log once more
    with (
        patch.object(harness.service.search, "search", side_effect=ZeroDivisionError),
        structlog.testing.capture_logs() as lines,
    ):
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            answers = [await client.get("/v1/search", params={"q": "zolid"}) for _ in range(MAX_ERRORS + 5)]
        for _ in range(MAX_ERRORS + 5):
            await used(harness, "search_devices", q="zolid")

    assert {each.status_code for each in answers} == {500}
    logged = [line for line in lines if line["event"] == "unexpected error"]
    assert [len([line for line in logged if name in line]) for name in ("path", "tool")] == [MAX_ERRORS] * 2


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_who_asks_for_what_they_may_not_do_is_logged_and_strangers_are_not(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/users", owner.api_key, email="member@acme.example", password="a member's own")
    member = await harness.sign_in("member@acme.example", "a member's own")
    narrow = (await harness.post("/v1/keys", owner.session, label="reader", scope="read")).json()["api_key"]
    with structlog.testing.capture_logs() as lines:
        await harness.post("/v1/keys", member, label="mine")
        await harness.client.delete("/v1/users/1", headers=auth_headers(narrow))
        await used(harness, "add_watch", narrow, subject="1")
        await harness.client.post("/v1/keys", json={}, headers=auth_headers("rw_nobodys"))

    denials = [line for line in lines if line["event"] == "a caller may not do this"]
    assert [(line["what"], line["code"]) for line in denials] == [
        ("POST /v1/keys", "owner-only"),
        ("DELETE /v1/users/{id}", "scope-too-narrow"),
        ("add_watch", "scope-too-narrow"),
    ]
    assert [(line["user"], line["key"]) for line in denials] == [(2, None), (None, 2), (None, 2)]
    assert {(line["account"], line["client"]) for line in denials} == {(1, "127.0.0.1")}
    assert not any(secret in str(lines) for secret in (narrow, member, "member@acme.example"))
