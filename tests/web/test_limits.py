"""Rate limits by client address."""

import ipaddress
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from registerwatch.errors import RateLimited
from registerwatch.web.limits import Limit, RateLimits, build_limits, rate_headers
from tests.conftest import StageMaker
from tests.parts.stage import Stage

pytestmark = pytest.mark.anyio


def a_request(peer: str, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return Request({"type": "http", "headers": headers, "client": (peer, 1234)})


@pytest.fixture
def database_kind() -> str:
    """Limits do not depend on the database."""
    return "sqlite"


@pytest.fixture
def limits() -> RateLimits:
    return build_limits(enabled=True, trusted_proxies=(ipaddress.ip_network("10.0.0.0/8"),))


@pytest.fixture
async def limited(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged(rate_limits=True) as stage:
        await stage.fill()
        yield stage


@pytest.mark.parametrize("limit", Limit)
async def test_every_limit_lets_its_number_through_and_refuses_the_next(limits: RateLimits, limit: Limit) -> None:
    amount, seconds = limit.value
    for left in range(amount - 1, -1, -1):
        headers = await limits.check(a_request("192.0.2.7"), limit)
        assert (headers["RateLimit-Limit"], headers["RateLimit-Remaining"]) == (str(amount), str(left))
        assert 1 <= int(headers["RateLimit-Reset"]) <= seconds

    with pytest.raises(RateLimited, match=f"{amount} in {seconds} s are allowed") as refused:
        await limits.check(a_request("192.0.2.7"), limit)

    assert 1 <= refused.value.retry_after <= seconds
    assert (refused.value.limit, refused.value.window) == (amount, seconds)


async def test_another_client_and_another_limit_count_for_themselves(limits: RateLimits) -> None:
    await _use_up(limits, "192.0.2.7")

    assert await limits.check(a_request("192.0.2.8"), Limit.SEARCH)
    assert await limits.check(a_request("192.0.2.7"), Limit.PAGES)


async def test_a_client_does_not_become_another_by_a_header_or_within_its_network(limits: RateLimits) -> None:
    await _use_up(limits, "192.0.2.7")
    await _use_up(limits, "2001:db8::1")

    for request in (a_request("192.0.2.7", "198.51.100.1"), a_request("2001:db8::2"), a_request("::ffff:192.0.2.7")):
        with pytest.raises(RateLimited):
            await limits.check(request, Limit.SEARCH)


async def test_clients_behind_a_trusted_proxy_count_for_themselves(limits: RateLimits) -> None:
    await _use_up(limits, "10.0.0.1", "192.0.2.7")

    assert await limits.check(a_request("10.0.0.1", "192.0.2.8"), Limit.SEARCH)
    with pytest.raises(RateLimited):
        await limits.check(a_request("10.0.0.1", "203.0.113.1, 192.0.2.7"), Limit.SEARCH)


async def test_switched_off_nothing_is_counted_or_told() -> None:
    limits = build_limits(enabled=False, trusted_proxies=())

    for _ in range(1_000):
        assert await limits.check(a_request("192.0.2.7"), Limit.SEARCH) == {}


def test_headers_are_those_of_the_draft_that_clients_know() -> None:
    assert rate_headers(40, 39, 60, 60) == {
        "RateLimit-Limit": "40",
        "RateLimit-Remaining": "39",
        "RateLimit-Reset": "60",
        "RateLimit-Policy": "40;w=60",
    }


async def test_the_forty_first_search_in_a_minute_is_refused_with_the_time_to_wait(limited: Stage) -> None:
    for number in range(40):
        answer = await limited.get("/v1/search", q="titan")
        assert answer.status_code == 200
        assert answer.headers["ratelimit-remaining"] == str(39 - number)

    refused = await limited.get("/v1/search", q="titan")

    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["ratelimit-remaining"] == "0"
    assert refused.headers["ratelimit-policy"] == "40;w=60"
    assert set(refused.json()) == {"error"}
    assert refused.headers["cache-control"] == "no-store"


async def test_reads_of_the_copy_are_not_limited_and_those_of_the_register_are(limited: Stage) -> None:
    udi = limited.world.newest(0, 1)[0].primary_di
    for _ in range(60):
        assert (await limited.get(f"/v1/devices/{udi}")).status_code == 200

    statuses = [(await limited.get("/v1/refresh", q=udi)).status_code for _ in range(21)]

    assert statuses == [200] * 20 + [429]
    unknown = await limited.get("/v1/devices/04099999999992")
    assert unknown.status_code == 429, "an unknown device would be read from the register"


async def _use_up(limits: RateLimits, peer: str, *forwarded: str) -> None:
    for _ in range(Limit.SEARCH.value[0]):
        await limits.check(a_request(peer, *forwarded), Limit.SEARCH)
