"""Rate limits by client address."""

import ipaddress
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import pytest
from pydantic import SecretStr
from starlette.requests import Request

from registerwatch.errors import RateLimited
from registerwatch.settings import Settings
from registerwatch.web.limits.rate_limits import (
    OF_NETWORKS,
    Limit,
    RateLimits,
    build_limits,
    noted_headers,
    rate_headers,
)
from tests.support.fakes import SteppedClock
from tests.support.harness import ERROR_FIELDS, ServiceHarness, ServiceStarter

PER_MINUTE = {
    Limit.SEARCH: 40,
    Limit.REGISTER_READ: 20,
    Limit.CERTIFICATES: 60,
    Limit.HISTORY: 40,
    Limit.CODES: 120,
    Limit.PAGES: 120,
    Limit.TOOLS: 60,
    Limit.ACCOUNT: 240,
    Limit.WATCH_READ: 60,
    Limit.SYNC: 10,
    Limit.WEBHOOK_TEST: 20,
    Limit.PAYMENT: 20,
    Limit.PAYMENT_EVENT: 600,
    Limit.UNSUBSCRIBE: 600,
    Limit.BOUNCES: 600,
    Limit.CALENDAR: 10,
    Limit.DOWNLOAD: 20,
    Limit.SCAN: 60,
    Limit.ACCOUNT_PASSWORDS: 30,
}
PER_HOUR = {
    Limit.TRIAL: 8,
    Limit.LOGIN: 20,
    Limit.PASSWORD_FORGOT: 5,
    Limit.PASSWORD_RESET: 20,
    Limit.ACCOUNT_DELETE: 10,
    Limit.USER_SIGN_INS: 30,
}
NUMBERS = (
    [(limit, amount, 60) for limit, amount in PER_MINUTE.items()]
    + [(limit, amount, 3600) for limit, amount in PER_HOUR.items()]
    + [(Limit.USER_SIGN_INS_A_DAY, 100, 86_400), (Limit.ACCOUNT_CHANGES, 500, 86_400)]
    + [(Limit.PROOF, 10, 600), (Limit.SECOND_STEP, 60, 3600)]
)


def a_request(peer: str, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return Request({"type": "http", "headers": headers, "client": (peer, 1234)})


@pytest.fixture
def database_kind() -> str:
    """Limits do not depend on the database."""
    return "sqlite"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def limits(clock: SteppedClock) -> RateLimits:
    return build_limits(Settings(trusted_proxies=(ipaddress.ip_network("10.0.0.0/8"),)), clock)


@pytest.fixture
async def limited(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(rate_limits=True) as harness:
        await harness.fill_copy()
        yield harness


def test_the_table_of_numbers_has_every_limit() -> None:
    assert {limit for limit, _, _ in NUMBERS} == set(Limit.__members__.values())
    assert len({limit.value.name for limit in Limit}) == len(Limit.__members__)


@pytest.mark.parametrize(("limit", "amount", "seconds"), NUMBERS, ids=lambda each: getattr(each, "name", None))
async def test_every_limit_lets_its_number_through_and_refuses_the_next(
    limits: RateLimits, limit: Limit, amount: int, seconds: int
) -> None:
    for left in range(amount - 1, -1, -1):
        headers = await _told(limits, a_request("192.0.2.7"), limit)
        assert (headers["RateLimit-Limit"], headers["RateLimit-Remaining"]) == (str(amount), str(left))
        assert 1 <= int(headers["RateLimit-Reset"]) <= seconds

    with pytest.raises(RateLimited, match=f"{amount} in {seconds} s are allowed") as refused:
        await limits.check(a_request("192.0.2.7"), limit)

    assert 1 <= refused.value.retry_after <= seconds
    assert (refused.value.limit, refused.value.window) == (amount, seconds)


@pytest.mark.parametrize("limit", Limit)
async def test_who_waits_as_long_as_told_is_let_in_again(limits: RateLimits, clock: SteppedClock, limit: Limit) -> None:
    await _use_up(limits, "192.0.2.7", limit=limit)
    with pytest.raises(RateLimited) as refused:
        await limits.check(a_request("192.0.2.7"), limit)

    clock.move(refused.value.retry_after)

    await limits.check(a_request("192.0.2.7"), limit)


async def test_another_client_and_another_limit_count_for_themselves(limits: RateLimits) -> None:
    await _use_up(limits, "192.0.2.7")

    assert (await _told(limits, a_request("192.0.2.8"), Limit.SEARCH))["RateLimit-Remaining"] == "39"
    for limit in set(Limit) - {Limit.SEARCH}:
        left = (await _told(limits, a_request("192.0.2.7"), limit))["RateLimit-Remaining"]
        assert left == str(limit.value.amount - 1)


async def test_a_client_does_not_become_another_by_a_header_or_within_its_network(limits: RateLimits) -> None:
    await _use_up(limits, "192.0.2.7")
    await _use_up(limits, "2001:db8::1")

    for request in (a_request("192.0.2.7", "198.51.100.1"), a_request("2001:db8::2"), a_request("::ffff:192.0.2.7")):
        with pytest.raises(RateLimited):
            await limits.check(request, Limit.SEARCH)


async def test_a_client_that_makes_up_a_new_address_for_every_request_is_counted_as_one(limits: RateLimits) -> None:
    for number in range(40):
        await limits.check(a_request("192.0.2.7", f"198.51.100.{number}"), Limit.SEARCH)

    with pytest.raises(RateLimited):
        await limits.check(a_request("192.0.2.7", "198.51.100.99, 10.0.0.1"), Limit.SEARCH)


@pytest.mark.parametrize("limit", [each for each in Limit if each in OF_NETWORKS])
async def test_a_client_with_many_networks_does_not_get_the_limit_for_each(limits: RateLimits, limit: Limit) -> None:
    async def admitted(addresses: Iterable[str]) -> int:
        number = 0
        for address in addresses:
            with suppress(RateLimited):
                await limits.check(a_request(address), limit)
                number += 1
        return number

    amount = limit.value.amount
    assert await admitted(f"2001:db8:1:{each:x}::1" for each in range(256)) == 3 * amount, "of one /56"
    assert await admitted(f"2001:db8:1:{each:x}::1" for each in range(0x100, 0x10000, 0x40)) == 7 * amount, "of one /48"
    assert await admitted(["2001:db8:2::1", "198.51.100.1"]) == 2, "of others"


async def test_a_client_that_is_refused_uses_up_nothing_of_the_network_around_it(limits: RateLimits) -> None:
    for _ in range(200):
        with suppress(RateLimited):
            await limits.check(a_request("2001:db8::1"), Limit.LOGIN)

    await limits.check(a_request("2001:db8:0:1::1"), Limit.LOGIN)


async def test_clients_behind_a_trusted_proxy_count_for_themselves(limits: RateLimits) -> None:
    await _use_up(limits, "10.0.0.1", "192.0.2.7")

    await limits.check(a_request("10.0.0.1", "192.0.2.8"), Limit.SEARCH)
    with pytest.raises(RateLimited):
        await limits.check(a_request("10.0.0.1", "203.0.113.1, 192.0.2.7"), Limit.SEARCH)


@pytest.mark.parametrize("redis_url", [None, SecretStr("redis://127.0.0.1:1/0")])
async def test_switched_off_nothing_is_counted_or_told(redis_url: SecretStr | None) -> None:
    limits = build_limits(Settings(rate_limits=False, redis_url=redis_url), SteppedClock())

    for _ in range(1_000):
        assert await _told(limits, a_request("192.0.2.7"), Limit.SEARCH) == {}


def test_headers_are_those_of_the_draft_that_clients_know() -> None:
    assert rate_headers(40, 39, 60, 60) == {
        "RateLimit-Limit": "40",
        "RateLimit-Remaining": "39",
        "RateLimit-Reset": "60",
        "RateLimit-Policy": "40;w=60",
    }


async def test_of_two_limits_the_one_with_the_fewest_requests_left_is_told(limits: RateLimits) -> None:
    for first, second, told in (
        (Limit.PAGES, Limit.REGISTER_READ, "20;w=60"),
        (Limit.REGISTER_READ, Limit.PAGES, "20;w=60"),
        (Limit.ACCOUNT, Limit.ACCOUNT_DELETE, "10;w=3600"),
        (Limit.ACCOUNT, Limit.WATCH_READ, "60;w=60"),
    ):
        request = a_request("192.0.2.7")
        await limits.check(request, first)
        assert (await _told(limits, request, second))["RateLimit-Policy"] == told


async def test_of_two_limits_the_one_that_refuses_is_told(limits: RateLimits) -> None:
    for _ in range(119):
        await limits.check(a_request("192.0.2.7"), Limit.PAGES)
    await _use_up(limits, "192.0.2.7", limit=Limit.REGISTER_READ)

    request = a_request("192.0.2.7")
    assert (await _told(limits, request, Limit.PAGES))["RateLimit-Remaining"] == "0"
    with pytest.raises(RateLimited):
        await limits.check(request, Limit.REGISTER_READ)

    assert noted_headers(request.scope)["RateLimit-Policy"] == "20;w=60"


async def test_the_forty_first_search_in_a_minute_is_refused_with_the_time_to_wait(limited: ServiceHarness) -> None:
    for number in range(40):
        answer = await limited.get("/v1/search", q="titan")
        assert answer.status_code == 200
        assert answer.headers["ratelimit-remaining"] == str(39 - number)

    refused = await limited.get("/v1/search", q="titan")

    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["ratelimit-remaining"] == "0"
    assert refused.headers["ratelimit-policy"] == "40;w=60"
    assert set(refused.json()) == ERROR_FIELDS
    assert refused.headers["cache-control"] == "no-store"


async def test_reads_of_the_copy_are_not_limited_and_those_of_the_register_are(limited: ServiceHarness) -> None:
    udi = limited.world.newest(0, 1)[0].primary_di
    for _ in range(60):
        assert (await limited.get(f"/v1/devices/{udi}")).status_code == 200

    statuses = [(await limited.get("/v1/refresh", q=udi)).status_code for _ in range(21)]

    assert statuses == [200] * 20 + [429]
    unknown = await limited.get("/v1/devices/04099999999992")
    assert unknown.status_code == 429, "an unknown device would be read from the register"


async def _told(limits: RateLimits, request: Request, limit: Limit) -> dict[str, str]:
    await limits.check(request, limit)
    return noted_headers(request.scope)


async def _use_up(limits: RateLimits, peer: str, *forwarded: str, limit: Limit = Limit.SEARCH) -> None:
    for _ in range(limit.value.amount):
        await limits.check(a_request(peer, *forwarded), limit)
