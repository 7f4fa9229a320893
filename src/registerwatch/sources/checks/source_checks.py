"""A run of checks at one source: those that are due, and daily ones by the same answers."""

from collections.abc import Awaitable, Callable, Collection, Mapping

from registerwatch.platform.clock import Clock
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.check_requests import CheckRequests, NotAsked
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import (
    CheckResult,
    KnownBefore,
    NothingToLookAt,
    Outcome,
    Unanswered,
    outcome_of,
)
from registerwatch.sources.requests import RegisterHttpClient

Look = Callable[[CheckRequests], Awaitable[Outcome]]
"""Sends requests and judges answers. May raise `RegisterFailure`, `NothingToLookAt` or `NotAsked`."""
LookWatch = Callable[[CheckName], None]
"""Called with each check before it runs."""


def unwatched(_name: CheckName) -> None:
    """A watch that does nothing."""
    return


class SourceChecks:
    """The checks of the source at `base_url`, by their names. `priority` is that of their requests."""

    def __init__(
        self,
        looks: Mapping[CheckName, Look],
        requests: RegisterHttpClient,
        base_url: str,
        clock: Clock,
        priority: RequestPriority,
    ) -> None:
        self._looks = {name: looks[name] for name in CheckName if name in looks}
        self._requests, self._base, self._clock, self._priority = requests, base_url, clock, priority
        self.names = frozenset(looks)
        """Names of its checks."""

    async def look(
        self, due: Collection[CheckName], before: KnownBefore | None = None, watch: LookWatch = unwatched
    ) -> dict[CheckName, Outcome]:
        """Run these checks, and daily ones by the same answers. A source that does not answer is an
        outcome, not an error.
        """
        requests = CheckRequests(self._requests, self._base, self._clock, before or KnownBefore(), self._priority)
        outcomes: dict[CheckName, Outcome] = {}
        for name in self._looks:
            if name in due:
                watch(name)
                outcomes[name] = await _outcome(self._looks[name], requests)
        requests.close()
        for name in self._looks:
            if name not in outcomes and ASSUMPTIONS[name].is_daily:
                try:
                    outcomes[name] = await _outcome(self._looks[name], requests)
                except NotAsked:
                    continue
        return outcomes


async def pace(ask: CheckRequests) -> Outcome:
    """Whether the source throttled during the run."""
    if not ask.throttles:
        if ask.given_up or not ask.sent:
            raise NothingToLookAt(ask.given_up or "No request was answered.")
        return CheckResult(True, f"{ask.sent} requests, none of them throttled.")
    ways = ", ".join(f"{number} by {way}" for way, number in ask.throttles.items())
    return CheckResult(False, f"{sum(ask.throttles.values())} of {ask.sent} requests were throttled: {ways}.")


async def _outcome(look: Look, requests: CheckRequests) -> Outcome:
    try:
        return await look(requests)
    except NothingToLookAt as nothing:
        return Unanswered(str(nothing))
    except RegisterFailure as failure:
        return outcome_of(failure)
