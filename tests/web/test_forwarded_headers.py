"""A reverse proxy that the settings do not name is noticed."""

import pytest
import structlog

from tests.support.harness import ServiceHarness, ServiceStarter

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


async def proxy_of(harness: ServiceHarness) -> tuple[bool, str | None]:
    """What `/health` says of proxies."""
    told = (await harness.get("/health")).json()["proxy"]
    return told["is_trusted"], told["warning"]


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For: 198.51.100.7", "Forwarded: for=198.51.100.7", "X-Real-IP: 198.51.100.7"]
)
async def test_the_first_header_of_an_unknown_proxy_is_logged_once_and_told(
    harness: ServiceHarness, header: str
) -> None:
    name, _, value = header.partition(": ")
    with structlog.testing.capture_logs() as lines:
        before = await proxy_of(harness)
        for _ in range(3):
            await harness.client.get("/v1/search?q=a", headers={name: value})
        is_trusted, warning = await proxy_of(harness)

    assert before == (False, None)
    assert not is_trusted
    assert "REGISTERWATCH_TRUSTED_PROXIES" in str(warning)
    assert [(each["log_level"], each["header"]) for each in lines if "header" in each] == [("warning", name.lower())]
    assert "198.51.100.7" not in str(warning)


async def test_where_a_proxy_is_named_nothing_is_said(start_service: ServiceStarter) -> None:
    async with start_service(trusted_proxies="127.0.0.1") as harness:
        with structlog.testing.capture_logs() as lines:
            await harness.client.get("/v1/search?q=a", headers={"X-Forwarded-For": "198.51.100.7"})
            assert await proxy_of(harness) == (True, None)
    assert [each for each in lines if "header" in each] == []


async def test_that_a_proxy_is_unknown_does_not_make_the_service_fail(harness: ServiceHarness) -> None:
    await harness.client.get("/", headers={"X-Forwarded-For": "198.51.100.7"})

    assert (await harness.get("/health")).json()["status"] == "ok"
