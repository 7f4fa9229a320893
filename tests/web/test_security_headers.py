"""Headers that every answer has, on every surface."""

from unittest.mock import patch

import httpx2
import pytest

from registerwatch.app import work_app
from registerwatch.web.security_headers import NOTHING_ALLOWED
from tests.support.harness import ServiceHarness, ServiceStarter, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

REQUESTS = [
    ("GET", "/"),
    ("GET", "/d/04012345678901"),
    ("GET", "/a/DE-MF-000000001"),
    ("GET", "/nowhere"),
    ("GET", "/robots.txt"),
    ("GET", "/password/forgot"),
    ("GET", "/health"),
    ("GET", "/live"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/search?q=a"),
    ("HEAD", "/v1/search?q=a"),
    ("GET", "/v1/devices/04012345678901"),
    ("GET", "/v1/me"),
    ("GET", "/v1/nothing"),
    ("GET", "/v1/events.atom?token=ft_none"),
    ("GET", "/v1/expiring.ics?token=ft_none"),
    ("PUT", "/v1/watches"),
    ("POST", "/v1/login"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("OPTIONS", "/v1/watches"),
]


async def test_no_answer_may_be_taken_for_another_kind_of_file(harness: ServiceHarness) -> None:
    for method, path in REQUESTS:
        answer = await harness.client.request(method, path)
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"], path
        assert "strict-transport-security" not in answer.headers, path


async def test_feeds_stored_devices_and_unchanged_answers_may_not_either(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    paths = [feed["events"], feed["expiring"], f"/v1/devices/{device.primary_di}", f"/d/{device.primary_di}"]
    for path in paths:
        first = await harness.client.get(path)
        again = await harness.client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (first.status_code, again.status_code) == (200, 304)
        for answer in (first, again):
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


async def test_pages_load_their_own_files_alone_and_nothing_else_loads_or_runs_anything(
    harness: ServiceHarness,
) -> None:
    for method, path in REQUESTS:
        answer = await harness.client.request(method, path)
        [policy] = answer.headers.get_list("content-security-policy")
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy.split("; ")), path
        assert ("script-src 'self'" in policy) == is_page, path


async def test_other_sites_load_what_any_page_may_read_and_hold_no_page_of_ours(harness: ServiceHarness) -> None:
    for method, path in REQUESTS:
        answer = await harness.client.request(method, path)
        is_open = path.startswith(("/v1/", "/mcp"))
        told = answer.headers.get_list("cross-origin-resource-policy")
        assert told == ["cross-origin" if is_open else "same-origin"], path
        if not is_open:
            assert answer.headers.get_list("cross-origin-opener-policy") == ["same-origin"], path
            [permissions] = answer.headers.get_list("permissions-policy")
            assert {"camera=()", "microphone=()", "geolocation=()"} <= set(permissions.split(", ")), path


async def test_an_answer_about_a_defect_may_not_either(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    with patch.object(harness.webhooks, "all", side_effect=ZeroDivisionError):
        answer = await harness.client.get("/v1/webhooks", headers=auth_headers(owner.api_key))

    assert (answer.status_code, answer.headers.get_list("x-content-type-options")) == (500, ["nosniff"])
    assert answer.headers.get_list("content-security-policy") == [NOTHING_ALLOWED[1]]


async def test_where_people_use_https_every_answer_says_to_use_nothing_else(start_service: ServiceStarter) -> None:
    async with start_service(public_url="https://watch.example.org") as harness:
        for method, path in REQUESTS:
            told = (await harness.client.request(method, path)).headers.get_list("strict-transport-security")
            assert told == ["max-age=31536000; includeSubDomains"], path


async def test_answers_of_a_process_that_serves_nobody_have_them_too(harness: ServiceHarness) -> None:
    transport = httpx2.ASGITransport(app=work_app(harness.service))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for path in ("/live", "/metrics", "/nothing"):
            assert (await client.get(path)).headers["x-content-type-options"] == "nosniff"
