"""Whether the parts of the service work, for `/health` and `/ready`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from registerwatch.platform.clock import Clock

HealthCheck = Callable[[], Awaitable[str | None]]
"""A check of one part: its problem in a sentence for the public; None where it works."""

CHECK_SECONDS = 3.0
KEPT_SECONDS = 2.0
"""How long the answer that all parts work is reused: the public may ask at any rate."""
NO_ANSWER = f"It did not answer within {CHECK_SECONDS:g} s."


class HealthChecks:
    """The checks of one service, by the name of the part."""

    def __init__(self, checks: Mapping[str, HealthCheck], clock: Clock) -> None:
        self._checks = dict(checks)
        self._clock = clock
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._problems: dict[str, str | None] = {}

    async def problems(self) -> dict[str, str | None]:
        """The problem of each part, None where it works. Takes bounded time.

        A problem is reported only by checks that began after this call, so that a repaired part is shown at once.
        Concurrent calls share the next checks.
        """
        came_at = self._clock.monotonic()
        async with self._asking:
            kept = 0.0 if any(self._problems.values()) else KEPT_SECONDS
            if came_at - self._asked_at >= kept:
                self._asked_at = self._clock.monotonic()
                found = await asyncio.gather(*(_checked(check) for check in self._checks.values()))
                self._problems = dict(zip(self._checks, found, strict=True))
            return dict(self._problems)


def all_of(problems: Mapping[str, str | None]) -> str | None:
    """All problems in one text; None without any."""
    return " ".join(problem for problem in problems.values() if problem) or None


async def _checked(check: HealthCheck) -> str | None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return NO_ANSWER
