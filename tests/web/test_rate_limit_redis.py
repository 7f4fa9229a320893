"""Counts that processes share in Redis, and what they do while it does not answer."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from registerwatch.errors import ConfigurationError
from registerwatch.web.limits.rate_limit_memory import MemoryRateCounter, RateLimitRule
from registerwatch.web.limits.rate_limit_redis import (
    MAX_CONNECTIONS,
    PAUSE_SECONDS,
    TIMEOUT_SECONDS,
    FallbackRateCounter,
    RedisRateCounter,
)
from tests.support import redis
from tests.support.fakes import SteppedClock
from tests.support.processes import free_port, until

FIVE = RateLimitRule("five", 5, 60)
HUNDRED_AN_HOUR = RateLimitRule("hundred", 100, 3600)
MAX_WAIT_SECONDS = 15.0
PATIENT = 60.0
"""A time limit that a test does not live to see."""

LOST = "rate limits: Redis does not answer, this process counts for itself"
BACK = "rate limits: Redis answers again, counts are shared"


@pytest.fixture
def own_redis() -> Iterator[redis.RedisServer]:
    """A server for one test, which may end it."""
    with redis.server() as running:
        yield running


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def shared_counts(url: str, clock: SteppedClock, timeout: float = TIMEOUT_SECONDS) -> FallbackRateCounter:
    return FallbackRateCounter(RedisRateCounter(url, timeout), MemoryRateCounter(clock), clock)


@pytest.fixture
async def counts(own_redis: redis.RedisServer, clock: SteppedClock) -> AsyncIterator[FallbackRateCounter]:
    """The counts of one process."""
    async with aclosing(shared_counts(own_redis.url, clock)) as made:
        yield made


@pytest.fixture
async def others(own_redis: redis.RedisServer) -> AsyncIterator[FallbackRateCounter]:
    """The counts of another process."""
    async with aclosing(shared_counts(own_redis.url, SteppedClock())) as made:
        yield made


async def remaining(counts: FallbackRateCounter, allowance: RateLimitRule = FIVE, address: str = "192.0.2.7") -> int:
    """Count one more request."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        return (await counts.hit(allowance, address)).remaining


async def at_once(counts: FallbackRateCounter, requests: int) -> list[int]:
    """Count that many requests side by side: what each was told to have left, of a hundred."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        usages = await asyncio.gather(*(counts.hit(HUNDRED_AN_HOUR, "192.0.2.7") for _ in range(requests)))
    return [each.remaining for each in usages]


async def test_what_one_process_counted_another_knows(counts: FallbackRateCounter, others: FallbackRateCounter) -> None:
    assert [await remaining(each) for each in (counts, others, counts, others, counts)] == [4, 3, 2, 1, 0]
    assert not (await others.hit(FIVE, "192.0.2.7")).allowed


async def test_keys_are_named_after_the_service_and_expire_with_the_window(redis_server: redis.RedisServer) -> None:
    redis_server.flush()
    async with aclosing(shared_counts(redis_server.url, SteppedClock(), PATIENT)) as counts:
        await remaining(counts)
        await remaining(counts, HUNDRED_AN_HOUR, "2001:db8::/64")

    lasting = redis_server.keys()
    assert all(key.startswith("registerwatch:") for key in lasting)
    assert ["five/192.0.2.7" in key or "hundred/2001:db8::/64" in key for key in lasting] == [True, True]
    assert sorted(0 < seconds <= 60 for seconds in lasting.values()) == [False, True]
    assert all(0 < seconds <= 3600 for seconds in lasting.values())


async def test_a_redis_that_hangs_costs_one_request_one_timeout_and_the_others_nothing(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    retry_policies = 2.0  # a busy machine's Redis answers the first one in time
    async with aclosing(shared_counts(own_redis.url, clock, timeout=retry_policies)) as counts:
        await remaining(counts)
        own_redis.freeze()

        began = time.monotonic()
        with capture_logs() as logged:
            left = [await remaining(counts) for _ in range(5)]
        took = time.monotonic() - began

        assert left == [4, 3, 2, 1, 0], "this process counts for itself"
        assert not (await counts.hit(FIVE, "192.0.2.7")).allowed
    assert retry_policies * 0.9 < took < retry_policies * 4
    assert [each["event"] for each in logged] == [LOST]


async def test_requests_that_come_at_once_wait_side_by_side_and_the_log_says_it_once(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    own_redis.freeze()
    async with aclosing(shared_counts(own_redis.url, clock, timeout=1.0)) as counts:
        began = time.monotonic()
        with capture_logs() as logged:
            left = await at_once(counts, 3 * MAX_CONNECTIONS)
        took = time.monotonic() - began

    assert sorted(left) == list(range(40, 100))
    assert took < 1.9
    assert [each["event"] for each in logged] == [LOST]


async def test_many_requests_at_once_do_not_make_a_redis_that_answers_look_lost(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    async with aclosing(shared_counts(own_redis.url, clock, timeout=3)) as counts:
        await remaining(counts)
        with capture_logs() as logged:
            usages = await asyncio.gather(*(counts.hit(HUNDRED_AN_HOUR, "192.0.2.7") for _ in range(1_500)))

    assert logged == []
    assert sum(usage.allowed for usage in usages) == 100


async def test_whom_redis_has_refused_is_refused_while_it_does_not_answer(
    own_redis: redis.RedisServer, clock: SteppedClock, counts: FallbackRateCounter
) -> None:
    for _ in range(6):
        await counts.hit(FIVE, "192.0.2.7")
    own_redis.kill()

    usage = await counts.hit(FIVE, "192.0.2.7")

    assert (usage.allowed, usage.remaining) == (False, 0)
    assert 0 < usage.reset <= 60
    assert await remaining(counts, address="192.0.2.8") == 4
    clock.move(61)
    assert await remaining(counts) == 4


async def test_a_killed_redis_is_asked_again_after_a_pause_and_counts_again_when_it_is_back(
    own_redis: redis.RedisServer, clock: SteppedClock, counts: FallbackRateCounter, others: FallbackRateCounter
) -> None:
    assert await remaining(counts) == 4
    own_redis.kill()
    with capture_logs() as logged:
        assert [await remaining(counts) for _ in range(3)] == [4, 3, 2]
        clock.move(PAUSE_SECONDS)
        assert await remaining(counts) == 1
        own_redis.start()
        clock.move(PAUSE_SECONDS - 0.1)
        assert await remaining(counts) == 0, "it is too early to ask again"
        assert [each["event"] for each in logged] == [LOST]
        clock.move(0.2)
        assert await remaining(counts) == 4, "counted in the new Redis"

    assert [each["event"] for each in logged] == [LOST, BACK]
    assert await remaining(others) == 3


async def test_while_one_request_asks_again_the_others_do_not_wait(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    async with aclosing(shared_counts(own_redis.url, clock, PATIENT)) as counts:
        own_redis.kill()
        await remaining(counts, HUNDRED_AN_HOUR)
        own_redis.start()
        own_redis.freeze()
        clock.move(PAUSE_SECONDS)

        asking = asyncio.create_task(remaining(counts, HUNDRED_AN_HOUR))
        await asyncio.sleep(0)
        assert [await remaining(counts, HUNDRED_AN_HOUR) for _ in range(3)] == [98, 97, 96]

        assert not asking.done()
        own_redis.thaw()
        assert await asking == 99


async def test_a_redis_that_goes_on_after_hanging_counts_again(
    own_redis: redis.RedisServer, clock: SteppedClock, counts: FallbackRateCounter, others: FallbackRateCounter
) -> None:
    own_redis.freeze()
    await remaining(counts)
    own_redis.thaw()
    own_redis.flush()
    clock.move(PAUSE_SECONDS)

    with capture_logs() as logged:
        assert [await remaining(each) for each in (counts, others, counts)] == [4, 3, 2]

    assert [each["event"] for each in logged] == [BACK]


async def test_a_redis_that_was_started_anew_between_two_requests_is_no_outage(
    own_redis: redis.RedisServer, counts: FallbackRateCounter
) -> None:
    await remaining(counts)
    own_redis.kill()
    own_redis.start()
    await asyncio.sleep(0)  # the end of the connection is noticed between two requests

    with capture_logs() as logged:
        assert [await remaining(counts), await remaining(counts)] == [4, 3]

    assert logged == []


async def test_a_clock_that_is_set_back_does_not_keep_redis_from_being_asked(
    own_redis: redis.RedisServer, clock: SteppedClock, counts: FallbackRateCounter
) -> None:
    own_redis.kill()
    await remaining(counts)
    own_redis.start()

    clock.move(-3600)

    with capture_logs() as logged:
        await remaining(counts)
    assert [each["event"] for each in logged] == [BACK]


async def test_a_full_redis_refuses_nobody(clock: SteppedClock) -> None:
    with redis.server("--maxmemory", "1", "--maxmemory-policy", "noeviction") as full, capture_logs() as logged:
        async with aclosing(shared_counts(full.url, clock)) as counts:
            assert [await remaining(counts) for _ in range(2)] == [4, 3]

    assert [each["event"] for each in logged] == [LOST]


@pytest.mark.parametrize("password", ["wrong-secret", "p@ss/wörd"])
async def test_a_password_is_used_and_never_logged(clock: SteppedClock, password: str) -> None:
    port = free_port()
    right = "p@ss/wörd"
    url = f"redis://:{password.replace('@', '%40').replace('/', '%2F')}@127.0.0.1:{port}/1"
    with (
        redis.server("--port", str(port), "--bind", "127.0.0.1", "--requirepass", right) as closed,
        capture_logs() as logged,
    ):
        async with aclosing(shared_counts(url, clock)) as counts:
            assert await remaining(counts) == 4
            closed.kill()
            assert await remaining(counts) == (4 if password == right else 3)

    assert [each["event"] for each in logged] == [LOST]
    assert logged[0]["server"] == f"127.0.0.1:{port}"
    assert "secret" not in str(logged)
    assert "ss/w" not in str(logged)
    assert "%2F" not in str(logged)


async def test_a_connection_can_be_encrypted(clock: SteppedClock, tmp_path: Path) -> None:
    key, certificate, port = tmp_path / "key.pem", tmp_path / "certificate.pem", free_port()
    make_certificate(key, certificate)
    tls = ["--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
    url = f"rediss://127.0.0.1:{port}/0"
    with redis.server(*tls, "--tls-auth-clients", "no", "--bind", "127.0.0.1"), capture_logs() as logged:
        async with aclosing(shared_counts(f"{url}?ssl_ca_certs={certificate}", clock, PATIENT)) as counts:
            assert [await remaining(counts), await remaining(counts)] == [4, 3]
        assert logged == []
        async with aclosing(shared_counts(url, clock, PATIENT)) as strangers:
            assert await remaining(strangers) == 4, "who does not trust the certificate counts for itself"

    assert [each["event"] for each in logged] == [LOST]


async def test_connections_are_few_however_many_requests_there_are_and_all_are_given_back(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    async with aclosing(shared_counts(own_redis.url, clock, PATIENT)) as counts:
        assert min(await at_once(counts, 90)) == 10
        assert 1 <= own_redis.connections() <= MAX_CONNECTIONS

    until(lambda: own_redis.connections() == 0, "Redis to see that the connections are closed")


async def test_requests_that_are_given_up_leave_no_connection_in_use(
    own_redis: redis.RedisServer, clock: SteppedClock
) -> None:
    async with aclosing(shared_counts(own_redis.url, clock, PATIENT)) as counts:
        for turns in range(3 * MAX_CONNECTIONS):
            given_up = asyncio.create_task(counts.hit(HUNDRED_AN_HOUR, "192.0.2.8"))
            for _ in range(turns % 12):
                await asyncio.sleep(0)
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)

        with capture_logs() as logged:
            assert min(await at_once(counts, 3 * MAX_CONNECTIONS)) == 40

    assert logged == []


@pytest.mark.parametrize(
    "url",
    [
        "redis://:top/secret@host:6379/0",
        "redis://:secret@host:port",
        "redis://:secret@host/0?colour=blue",
        "redis://:secret@host/0?socket_timeout=long",
        "rediss://:secret@host/0?ssl_cert_reqs=perhaps",
    ],
)
def test_an_address_that_cannot_work_stops_the_start_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="REGISTERWATCH_REDIS_URL cannot be understood") as refused:
        RedisRateCounter(url)

    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__


def make_certificate(key: Path, certificate: Path) -> None:
    """A certificate of 127.0.0.1 by itself."""
    what = ["-nodes", "-days", "1", "-subj", "/CN=redis", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words = ["openssl", "req", "-x509", *kind, *what, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
