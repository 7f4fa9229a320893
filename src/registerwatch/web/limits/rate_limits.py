"""Rate limits by client address and by account: the limits, checking requests, the `RateLimit-*` headers."""

from collections.abc import MutableMapping
from enum import Enum
from typing import Any

import msgspec
from starlette.requests import Request

from registerwatch.errors import RateLimited
from registerwatch.platform.clock import Clock
from registerwatch.settings import Network, Settings
from registerwatch.web.limits.client_address import client_address
from registerwatch.web.limits.client_networks import rules_of_networks
from registerwatch.web.limits.rate_limit_memory import MemoryRateCounter, RateCounter, RateLimitRule, RateLimitUsage


class Limit(Enum):
    """The limits; each is counted separately."""

    SEARCH = RateLimitRule("search", 40, 60)
    REGISTER_READ = RateLimitRule("register-read", 20, 60)
    """Requests that make the service read the register: a refresh, a record that is not in the copy."""
    CERTIFICATES = RateLimitRule("certificates", 60, 60)
    HISTORY = RateLimitRule("history", 40, 60)
    CODES = RateLimitRule("codes", 120, 60)
    PAGES = RateLimitRule("pages", 120, 60)
    TOOLS = RateLimitRule("tools", 60, 60)
    ACCOUNT = RateLimitRule("account", 240, 60)
    """Requests with a credential that no other limit counts."""
    WATCH_READ = RateLimitRule("watch-read", 60, 60)
    """Watches that are added: each reads the register."""
    SYNC = RateLimitRule("sync", 10, 60)
    WEBHOOK_TEST = RateLimitRule("webhook-test", 20, 60)
    PAYMENT = RateLimitRule("payment", 20, 60)
    """Requests that make the service ask the payment provider."""
    PAYMENT_EVENT = RateLimitRule("payment-event", 600, 60)
    """Events of the payment provider, which come from few addresses; the provider repeats refused ones."""
    BOUNCES = RateLimitRule("bounces", 600, 60)
    """Reports of the mail provider about undeliverable mails, which come from few addresses."""
    TRIAL = RateLimitRule("trial", 8, 3600)
    LOGIN = RateLimitRule("login", 20, 3600)
    SECOND_STEP = RateLimitRule("second-step", 60, 3600)
    """Codes and passkeys that finish a sign-in; wrong codes are bounded for each user too (`code_check.py`)."""
    PASSWORD_FORGOT = RateLimitRule("password-forgot", 5, 3600)
    PASSWORD_RESET = RateLimitRule("password-reset", 20, 3600)
    UNSUBSCRIBE = RateLimitRule("unsubscribe", 600, 60)
    """Readers' clicks, which come from the few addresses of their mail providers."""
    PROOF = RateLimitRule("proof", 10, 600)
    """Passwords that one session tries where a page asks for it again."""
    ACCOUNT_DELETE = RateLimitRule("account-delete", 10, 3600)
    """Deletions by an address, by a session, and by all keys of an account."""
    CALENDAR = RateLimitRule("calendar", 10, 60)
    """Calendars of one account: the largest takes two seconds of processor time."""
    DOWNLOAD = RateLimitRule("download", 20, 60)
    """Files of lists that one account makes on pages: the largest takes seconds of processor time."""
    SCAN = RateLimitRule("scan", 60, 60)
    """Photos that one account has read: each takes up to three seconds of processor time."""
    ACCOUNT_PASSWORDS = RateLimitRule("account-passwords", 30, 60)
    """Passwords that one session or the keys of an account set, and users that they add."""
    ACCOUNT_CHANGES = RateLimitRule("account-changes", 500, 24 * 3600)
    """Passwords, users and keys that one session or the keys of an account set or add: each has a line in the audit
    trail. Removals are not counted: there are no more of them than additions."""
    USER_SIGN_INS = RateLimitRule("user-sign-ins", 30, 3600)
    """Sign-ins as one user from clients that never signed in as them, all of these together. One address alone may
    try 20 logins and 8 trials an hour, which stay below."""
    USER_SIGN_INS_A_DAY = RateLimitRule("user-sign-ins-a-day", 100, 24 * 3600)


OF_NETWORKS = frozenset(
    {Limit.TRIAL, Limit.LOGIN, Limit.SECOND_STEP, Limit.PASSWORD_FORGOT, Limit.PASSWORD_RESET, Limit.ACCOUNT_DELETE}
)
"""Limits of guesses and of mass requests: a client with many IPv6 addresses is counted by its network as well."""


class RateLimits(msgspec.Struct, frozen=True):
    """Counts requests. With `enabled` false nothing is limited."""

    enabled: bool
    trusted_proxies: tuple[Network, ...]
    _counts: RateCounter

    async def check(self, request: Request, limit: Limit) -> None:
        """Count a request by its client address and note its usage for the headers.

        Raises `RateLimited` when it is one too many.
        """
        if not self.enabled:
            return
        address = self.address_of(request)
        if limit not in OF_NETWORKS:
            await self._hit(request, limit.value, address)
            return
        for rule, network in rules_of_networks(limit.value, address):
            await self._hit(request, rule, network)

    async def check_party(self, request: Request, limit: Limit, party: str) -> None:
        """Count a request by its party instead of its address. The headers show only refusals."""
        if self.enabled:
            await self._hit(request, limit.value, party, is_noted=False)

    def address_of(self, request: Request) -> str:
        """The client address that requests are counted by."""
        return client_address(request, self.trusted_proxies)

    async def _hit(self, request: Request, rule: RateLimitRule, party: str, *, is_noted: bool = True) -> None:
        usage = await self._counts.hit(rule, party)
        if is_noted or not usage.allowed:
            _note(request.scope, usage)
        if not usage.allowed:
            message = f"Too many requests: {rule.amount} in {rule.seconds} s are allowed. Try again in {usage.reset} s."
            raise RateLimited(message, retry_after=usage.reset, limit=rule.amount, window=rule.seconds)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._counts.aclose()


def noted_headers(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """`RateLimit-*` headers for the answer to this request; none when it was not counted."""
    usage: RateLimitUsage | None = scope.get("state", {}).get(_NOTED)
    if usage is None:
        return {}
    rule = usage.rule
    return rate_headers(rule.amount, usage.remaining, usage.reset, rule.seconds)


def rate_headers(limit: int, remaining: int, reset: int, window: int) -> dict[str, str]:
    """`RateLimit-*` headers: requests allowed in the window, requests left, seconds until one more is allowed."""
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(remaining),
        "RateLimit-Reset": str(reset),
        "RateLimit-Policy": f"{limit};w={window}",
    }


def build_limits(settings: Settings, clock: Clock) -> RateLimits:
    """The limits in the settings. No connection is opened yet. Raises `ConfigurationError`."""
    return RateLimits(settings.rate_limits, settings.trusted_proxies, _counts(settings, clock))


def _counts(settings: Settings, clock: Clock) -> RateCounter:
    if settings.redis_url is None:
        return MemoryRateCounter(clock)
    from registerwatch.web.limits.rate_limit_redis import FallbackRateCounter, RedisRateCounter

    return FallbackRateCounter(RedisRateCounter(settings.redis_url.get_secret_value()), MemoryRateCounter(clock), clock)


_NOTED = "rate_limit"
"""The key of the usage in a request's state."""


def _note(scope: MutableMapping[str, Any], usage: RateLimitUsage) -> None:
    """Keep the limit with the fewest requests left; of two equal ones the later."""
    state = scope.setdefault("state", {})
    noted: RateLimitUsage | None = state.get(_NOTED)
    if noted is None or usage.remaining <= noted.remaining:
        state[_NOTED] = usage
