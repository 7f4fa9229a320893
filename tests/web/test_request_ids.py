"""The id of a request in answers, errors and logs; the access log."""

import re
from unittest.mock import patch

import httpx2
import pytest
import structlog
from structlog.testing import capture_logs

from registerwatch.web.request_ids import MAX_LENGTH
from tests.support.harness import ServiceHarness
from tests.support.harness import built_harness as start_harness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

PATHS = ("/v1/search?q=zolid", "/v1/devices/1", "/v1/me", "/health", "/mcp", "/", "/no-such-page", "/static/none")


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_an_id_of_its_own(harness: ServiceHarness, path: str) -> None:
    first, second = [(await harness.client.get(path)).headers["x-request-id"] for _ in range(2)]

    assert re.fullmatch("[0-9a-f]{16}", first)
    assert first != second


@pytest.mark.parametrize("sent", ["abc-1", "a" * MAX_LENGTH, "Root=1-67891233-abcdef012345678912345678"])
async def test_an_id_that_was_sent_is_kept(harness: ServiceHarness, sent: str) -> None:
    answer = await harness.client.get("/v1/me", headers={"X-Request-Id": sent})

    assert (answer.headers["x-request-id"], answer.json()["request_id"]) == (sent, sent)


@pytest.mark.parametrize("sent", ["", "a" * (MAX_LENGTH + 1), "two words", 'quo"te', "<b>", "ü".encode()])
async def test_an_id_that_could_harm_a_log_is_replaced(harness: ServiceHarness, sent: str | bytes) -> None:
    answer = await harness.client.get(
        "/v1/me", headers=[(b"X-Request-Id", sent if isinstance(sent, bytes) else sent.encode())]
    )

    assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])


async def test_an_unexpected_error_names_its_request_in_the_answer_on_the_page_and_in_the_log(
    harness: ServiceHarness,
) -> None:
    transport = httpx2.ASGITransport(app=harness.app, raise_app_exceptions=False)
    headers = {"X-Request-Id": "it-was-this-one"}
    contextvars = [structlog.contextvars.merge_contextvars]
    with (
        patch.object(harness.service.search, "search", side_effect=ZeroDivisionError),
        capture_logs(processors=contextvars) as logged,
    ):
        async with httpx2.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
            answer, page = [await client.get(path, params={"q": "zolid"}) for path in ("/v1/search", "/")]

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "it-was-this-one"
    assert (page.status_code, "it-was-this-one" in page.text) == (500, True)
    assert [each["request_id"] for each in logged if each["log_level"] == "error"] == ["it-was-this-one"] * 2


async def test_the_access_log_has_a_line_a_request_without_its_query(database_url: str, tmp_path: object) -> None:
    async with start_harness(database_url, tmp_path, access_log=True) as harness:  # type: ignore[arg-type]
        with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logged:
            await harness.client.get("/v1/search", params={"q": "secret words"}, headers={"X-Request-Id": "r1"})

    [line] = [each for each in logged if each["event"] == "request"]
    assert (line["method"], line["path"], line["status"], line["request_id"]) == ("GET", "/v1/search", 200, "r1")
    assert line["milliseconds"] >= 0
    assert "secret" not in str(line)


async def test_no_path_in_a_log_has_characters_that_a_terminal_obeys(database_url: str, tmp_path: object) -> None:
    async with start_harness(database_url, tmp_path, access_log=True) as harness:  # type: ignore[arg-type]
        with capture_logs() as logged:
            await harness.client.get("/no/%1B[2J%C2%9B31m%E2%80%AEü x")

    [line] = [each for each in logged if each["event"] == "request"]
    assert line["path"] == "/no/%1B[2J%C2%9B31m%E2%80%AEü x"


async def test_no_log_has_the_token_that_ends_the_mails_of_a_user(database_url: str, tmp_path: object) -> None:
    path = f"/mail/unsubscribe/1-2-{'x' * 24}"
    async with start_harness(database_url, tmp_path, access_log=True) as harness:  # type: ignore[arg-type]
        with capture_logs() as logged:
            for sent in (path, f"/x{path}", f"{path}/more"):
                await harness.client.get(sent)
            with patch.object(harness.service.notifications.unsubscribe, "turn_off", side_effect=ZeroDivisionError):
                transport = httpx2.ASGITransport(app=harness.app, raise_app_exceptions=False)
                async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
                    assert (await client.post(path)).status_code == 500

    paths = [each["path"] for each in logged if "path" in each]
    assert set(paths) == {"/mail/unsubscribe/", "/x/mail/unsubscribe/"}
    assert [each["path"] for each in logged if each["log_level"] == "error"] == ["/mail/unsubscribe/"]
    assert "xxxx" not in str([{**each, "exc_info": None} for each in logged])


async def test_without_the_setting_requests_are_not_logged(harness: ServiceHarness) -> None:
    with capture_logs() as logged:
        await harness.client.get("/v1/search", params={"q": "zolid"})

    assert [each for each in logged if each["event"] == "request"] == []
