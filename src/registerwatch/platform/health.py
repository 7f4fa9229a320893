"""Whether the parts of the service work: one place that `/health` and `/ready` ask."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from registerwatch.platform.clock import Clock

HealthCheck = Callable[[], Awaitable[str | None]]
"""What is wrong with one part: a sentence that anybody may read; None where it works."""

CHECK_SECONDS = 3.0
KEPT_SECONDS = 2.0
"""For so long the answer that all parts work is given again: anybody may ask, as often as they like."""
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
        """What is wrong with each part, None where it works. Takes bounded time.

        That a part does not work is told only by checks that began after this was asked, so that its return is told at
        once. Who asks meanwhile shares the next checks.
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
    """Everything that is wrong, None for nothing."""
    return " ".join(problem for problem in problems.values() if problem) or None


async def _checked(check: HealthCheck) -> str | None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return NO_ANSWER
