"""Counts requests for all processes together, in Redis or Valkey; each for itself while that does not answer."""

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress

import structlog
from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from registerwatch.errors import ConfigurationError
from registerwatch.platform.clock import Clock
from registerwatch.web.limits.rate_limit_memory import RateCounter, RateLimitRule, RateLimitUsage, usage_of

TIMEOUT_SECONDS = 0.5
"""Time for one count: connecting and both round trips."""

PAUSE_SECONDS = 5.0
"""Pause after a failure before Redis is asked again."""

MAX_CONNECTIONS = 20
SLOT_SECONDS = 5.0
"""How long a request waits for a connection while Redis answers others."""
MAX_REMEMBERED = 10_000
"""Addresses of one limit for which Redis had nothing left."""
KEY_PREFIX = "registerwatch"

log = structlog.get_logger(__name__)


class RedisRateCounter:
    """Counts in Redis or Valkey, under `registerwatch:limit/…`; every key expires with its window.

    A request takes two round trips: the library counts with one script and reads what is left with another. Raises
    `RedisError` or `OSError` where there is no answer in time.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._connections = _connections(url, timeout)
        storage = RedisStorage(
            "async+redis://",
            implementation="redispy",
            key_prefix=KEY_PREFIX,
            connection_pool=self._connections,  # type: ignore[arg-type]  # documented, but not in the annotation
        )
        self._limiter = MovingWindowRateLimiter(storage)

    @property
    def server(self) -> str:
        """The server's address, without user and password."""
        asked: dict[str, object] = self._connections.connection_kwargs
        return str(asked.get("path") or f"{asked.get('host', 'localhost')}:{asked.get('port', 6379)}")

    async def hit(self, rule: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed."""
        item = RateLimitItemPerSecond(rule.amount, rule.seconds, namespace="limit")
        async with asyncio.timeout(self._timeout):
            allowed = await self._limiter.hit(item, rule.name, address)
            reset_at, remaining = await self._limiter.get_window_stats(item, rule.name, address)
        return usage_of(rule, allowed, rule.amount - remaining, reset_at - time.time())

    async def aclose(self) -> None:
        """Close the connections, whether or not Redis answers."""
        with suppress(RedisError, OSError):
            await self._connections.aclose()


class FallbackRateCounter:
    """Counts in Redis, and in memory while Redis does not answer. The two counts are separate.

    After a failure Redis is not asked for `PAUSE_SECONDS`; then one request asks it again, and the others are counted
    in memory meanwhile. An address with nothing left in Redis is refused meanwhile, until Redis would allow a request.

    As many requests as there are connections ask Redis at a time. The wait of the others is not Redis's time: a client
    that sends many requests at once cannot make Redis seem silent.
    """

    def __init__(self, shared: RedisRateCounter, own: RateCounter, clock: Clock) -> None:
        self._shared = shared
        self._own = own
        self._clock = clock
        self._asked_at: float | None = None
        """When Redis last failed to answer; None while it answers."""
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._used_up: dict[RateLimitRule, OrderedDict[str, float]] = {}
        """Addresses with nothing left in Redis, and until when."""

    async def hit(self, rule: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed. Takes `SLOT_SECONDS` and `TIMEOUT_SECONDS` seconds at most."""
        if not self._should_ask_redis():
            return await self._hit_own(rule, address)
        asked_at = self._asked_at
        if not await self._has_slot():
            return await self._hit_own(rule, address)
        try:
            if self._asked_at != asked_at:  # it failed to answer others
                return await self._hit_own(rule, address)
            usage = await self._shared.hit(rule, address)
        except (RedisError, OSError) as error:
            self._note_failure(error)
            return await self._hit_own(rule, address)
        finally:
            self._slots.release()
        self._note_answer()
        self._note_usage(address, usage)
        return usage

    async def aclose(self) -> None:
        """Close the connections."""
        await self._shared.aclose()

    async def _has_slot(self) -> bool:
        """Wait for a connection to Redis; false where none came free in time."""
        try:
            async with asyncio.timeout(SLOT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            return False
        return True

    async def _hit_own(self, rule: RateLimitRule, address: str) -> RateLimitUsage:
        """Count in memory; refuse addresses that Redis would."""
        used_up = self._used_up.get(rule)
        left = used_up.get(address, 0.0) - self._clock.now() if used_up is not None else 0.0
        if 0 < left <= rule.seconds:
            return usage_of(rule, False, rule.amount, left)
        return await self._own.hit(rule, address)

    def _note_usage(self, address: str, usage: RateLimitUsage) -> None:
        """Note an address that has nothing left."""
        used_up = self._used_up.setdefault(usage.rule, OrderedDict())
        used_up.pop(address, None)
        if not usage.remaining:
            used_up[address] = self._clock.now() + usage.reset
            if len(used_up) > MAX_REMEMBERED:
                used_up.popitem(last=False)

    def _should_ask_redis(self) -> bool:
        """Whether this request asks Redis: every one while it answers, one in `PAUSE_SECONDS` while it does not."""
        if self._asked_at is None:
            return True
        now = self._clock.now()
        if 0 <= now - self._asked_at < PAUSE_SECONDS:
            return False
        self._asked_at = now
        return True

    def _note_failure(self, error: Exception) -> None:
        if self._asked_at is None:
            reason = str(error) or "no answer in time"
            log.warning("rate limits: Redis does not answer, this process counts for itself", reason=reason, **self._of)
        self._asked_at = self._clock.now()

    def _note_answer(self) -> None:
        if self._asked_at is not None:
            log.info("rate limits: Redis answers again, counts are shared", **self._of)
        self._asked_at = None

    @property
    def _of(self) -> dict[str, str]:
        return {"server": self._shared.server}


def _connections(url: str, timeout: float) -> BlockingConnectionPool:
    """A pool; no connection is opened yet. Raises `ConfigurationError`, which repeats nothing of the URL.

    Sending and reading have no time limit of their own: the client would send within `asyncio.wait_for`, which before
    Python 3.12 can swallow the cancellation that the limit for the whole count relies on.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=None,
            socket_timeout=None,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 1),  # the server may have closed an idle connection, which shows when it is used
        )
        pool.make_connection()  # type: ignore[no-untyped-call]  # raises for options of the URL that no connection has
    except (ValueError, TypeError, RedisError):
        hint = "write redis://user:password@host:6379/0 or unix:///path, with special characters percent-encoded"
        raise ConfigurationError(f"REGISTERWATCH_REDIS_URL cannot be understood: {hint}") from None
    return pool
