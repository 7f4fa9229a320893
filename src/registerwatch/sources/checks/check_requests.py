"""The requests of a run of checks: each is sent once, however many checks need its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import msgspec

from registerwatch.platform.clock import Clock
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.checks.outcomes import CheckResult, KnownBefore, Outcome, Unanswered, outcome_of
from registerwatch.sources.request_observer import RequestObserver, Retry
from registerwatch.sources.requests import ApiRequest, JsonReader, RegisterHttpClient

SECONDS = 400.0
"""The most time of one request, with its repetitions and its wait for a slot."""
MAX_TRIES = 4
"""Tries of a request: an operator is waiting."""
MAX_UNANSWERED = 3
"""After this many requests in a row without an answer the run ends."""
NO_PAGE = "Its answer is no page of records with a total."
EMPTY_PAGE = "The register is throttling requests (an empty page)."

Row = Mapping[str, Any]
_json = JsonReader()
_Key = tuple[str, tuple[tuple[str, str], ...]]


class NotAsked(Exception):
    """The answer that a check needs was not asked for in this run."""


class CheckPage(msgspec.Struct, frozen=True):
    """A page of a search: its rows that are objects, the number of its rows, the total, and the fields around them."""

    rows: Sequence[Row]
    count: int
    total: int
    envelope: Row


class CheckRequests:
    """Asks the source at `base_url`, and keeps its answers. Checks compare them with `before`."""

    def __init__(
        self,
        requests: RegisterHttpClient,
        base_url: str,
        clock: Clock,
        before: KnownBefore,
        priority: RequestPriority,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.before = before
        self._requests, self._clock, self._priority = requests, clock, priority
        self._answers: dict[_Key, Any] = {}
        self._watch = _ThrottleWatch(requests.observer)
        self._unanswered = 0
        self.given_up: str | None = None
        """Why no more is sent, once the source does not answer."""
        self._is_closed = False

    @property
    def sent(self) -> int:
        """How many requests got any answer."""
        return self._watch.answers

    @property
    def throttles(self) -> Mapping[str, int]:
        """How often the source throttled, by the way in which it said so."""
        return self._watch.throttles

    def close(self) -> None:
        """Send nothing more: requests that were not sent raise `NotAsked` from now on."""
        self._is_closed = True

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, cost: int = 1, expects: int | None = None
    ) -> Any:
        """One answer in any JSON. Raises `RegisterFailure` or `NotAsked`.

        `expects` is the status of a refusal that the check wants: such a request is not repeated.
        """
        key = path, tuple(sorted((params or {}).items()))
        if key not in self._answers:
            if self._is_closed:
                raise NotAsked
            self._answers[key] = await self._ask(path, dict(params or {}), cost, expects)
        answer = self._answers[key]
        if isinstance(answer, RegisterFailure):
            raise answer
        return answer

    async def page(self, path: str, params: Mapping[str, str], *, cost: int = 1) -> CheckPage:
        """A page of a search. Raises `RegisterFailure` or `NotAsked`."""
        answer = await self.get(path, params, cost=cost)
        page = answer if isinstance(answer, dict) else {}
        content, total = page.get("content"), _number(page.get("totalElements"))
        if not isinstance(content, list) or total is None:
            raise RegisterFailure(NO_PAGE)
        return CheckPage([row for row in content if isinstance(row, dict)], len(content), total, page)

    async def refusal(self, path: str, params: Mapping[str, str], status: int, *, cost: int = 1) -> Outcome:
        """Whether a request is refused with a status. Raises `RegisterFailure` or `NotAsked`."""
        try:
            await self.get(path, params, cost=cost, expects=status)
        except RegisterFailure as failure:
            if failure.status == status:
                return CheckResult(True)
            if failure.status is None or isinstance(outcome_of(failure), Unanswered):
                raise
            return CheckResult(False, f"It answers with status {failure.status} instead of {status}.")
        return CheckResult(False, f"It gives an answer where status {status} came before.")

    async def _ask(self, path: str, params: dict[str, str], cost: int, expects: int | None) -> Any:
        """An answer or a failure."""
        if self.given_up is not None:
            return RegisterFailure(self.given_up, is_asked=False)
        tries = MAX_TRIES if expects is None else 1
        request = ApiRequest(self.base_url + path, params, _json, _check_not_throttled, cost, max_tries=tries)
        deadline = self._clock.monotonic() + SECONDS
        try:
            answer = await self._requests.get(request, priority=self._priority, deadline=deadline, observer=self._watch)
        except NoSuchRecord:
            self._unanswered = 0
            return RegisterFailure("The register redirected to its page-not-found route.", status=302)
        except RegisterFailure as failure:
            self._note(failure, expects)
            return failure
        self._unanswered = 0
        return answer

    def _note(self, failure: RegisterFailure, expects: int | None) -> None:
        """End the run if the source does not answer."""
        if failure.throttled:
            self._watch.note(failure)
        is_answer = not isinstance(outcome_of(failure), Unanswered) or failure.status == expects is not None
        self._unanswered = 0 if is_answer else self._unanswered + 1
        if failure.is_unreachable or self._unanswered >= MAX_UNANSWERED:
            self.given_up = failure.reason


class _ThrottleWatch:
    """Counts a run's answers and throttles, and passes calls on to the common observer."""

    def __init__(self, observer: RequestObserver) -> None:
        self._observer = observer
        self.answers = 0
        self.throttles: dict[str, int] = {}

    def asks(self, url: str) -> None:
        """A request is about to be sent."""
        self._observer.asks(url)

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """A response came."""
        self.answers += 1
        self._observer.answered(url, params, response)

    def failed(self, retry: Retry) -> None:
        """A request is repeated."""
        if retry.failure.throttled:
            self.note(retry.failure)
        self._observer.failed(retry)

    def note(self, failure: RegisterFailure) -> None:
        """Count a throttle."""
        way = "an empty page" if failure.status is None else f"status {failure.status}"
        way += "" if failure.retry_after is None else f" with Retry-After {failure.retry_after:.3g} s"
        self.throttles[way] = self.throttles.get(way, 0) + 1


def _check_not_throttled(answer: object) -> None:
    if isinstance(answer, dict) and answer.get("content") == [] and _number(answer.get("totalElements")):
        raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)


def _number(value: object) -> int | None:
    """A count, also where it comes as a text or as a whole float: other checks judge its form."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
