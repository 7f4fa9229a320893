"""One request to the register: paced, sent, repeated where that can help, its failure named by kind."""

import asyncio
import email.utils
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import httpx2
import msgspec

from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.failure_causes import CONNECT_SECONDS, cause_of, host_of, is_web_filter
from registerwatch.sources.request_budget import BudgetSpent, RequestBudget, SlotWait
from registerwatch.sources.request_observer import RequestObserver, Retry, RetryLog
from registerwatch.sources.unread_fields import UnreadFields
from registerwatch.sources.wire import UnreadField

Answer = TypeVar("Answer")

MAX_BODY_BYTES = 20_000_000
"""Bytes of one answer that are read; the largest real page has under 500,000."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """How long a read may go on: `tries` per request, pauses doubling from `pause` seconds, `limit` seconds in all."""

    tries: int
    pause: float
    limit: float


RETRY_POLICIES = {
    RequestPriority.WATCH: RetryPolicy(tries=3, pause=0.4, limit=25.0),
    RequestPriority.RECHECK: RetryPolicy(tries=4, pause=2.0, limit=180.0),
    RequestPriority.SWEEP: RetryPolicy(tries=4, pause=2.0, limit=180.0),
    RequestPriority.READER: RetryPolicy(tries=3, pause=0.4, limit=25.0),
    RequestPriority.REFRESH: RetryPolicy(tries=3, pause=2.0, limit=60.0),
    RequestPriority.BULK_LOAD: RetryPolicy(tries=8, pause=4.0, limit=900.0),
}


MAX_LIMIT_SECONDS = 1_700.0
"""Less than the time for which a bulk load that stores nothing belongs to its process (`ingest/bulk_load.py`)."""


def retry_policies_of_slow_host(timeout: float) -> dict[RequestPriority, RetryPolicy]:
    """The policy of bulk loads from a host whose answers may take `timeout` seconds each: time for six tries."""
    usual = RETRY_POLICIES[RequestPriority.BULK_LOAD]
    tries = 6
    limit = tries * timeout + usual.pause * (2 ** (tries - 1) - 1)
    return {RequestPriority.BULK_LOAD: RetryPolicy(tries, usual.pause, min(limit, MAX_LIMIT_SECONDS))}


class AnswerReader(Protocol[Answer]):
    """Makes an answer from a body: a record, or a page of records."""

    @property
    def name(self) -> str:
        """The kind of record."""

    def decode(self, content: bytes, /) -> Answer:
        """The answer. Raises `msgspec.DecodeError`."""

    def unread_of(self, answer: Answer, /) -> Sequence[UnreadField]:
        """The fields that could not be read."""


class JsonReader:
    """Reads any JSON unchanged."""

    name = "any"

    def decode(self, content: bytes) -> Any:
        """The value. Raises `msgspec.DecodeError`."""
        return msgspec.json.decode(content)

    def unread_of(self, answer: object) -> Sequence[UnreadField]:
        """Empty: no field is declared."""
        return ()


def ignore(_value: object) -> None:
    """Do nothing with a value."""


class ApiRequest(msgspec.Struct, Generic[Answer], frozen=True):
    """One GET request: its address, parameters, how to read and check the answer.

    `check` raises `RegisterFailure` for an answer that cannot be true. `cost` is the request's weight in the budget.
    `accept` is the form of the answer. `received` is called with the number of bytes of the answer while it comes.
    `max_tries` bounds the tries of requests that are expected to fail.
    """

    url: str
    params: dict[str, str]
    reader: AnswerReader[Answer]
    check: Callable[[Answer], None] = msgspec.field(default=ignore)
    cost: int = 1
    received: Callable[[int], None] = ignore
    max_tries: int | None = None
    accept: str = "application/json"


class RegisterHttpClient:
    """Sends GET requests to one of the register's hosts and decodes the answers.

    Every failure is a `RegisterFailure` with a reason for a person; a redirect to the page-not-found route is
    `NoSuchRecord`. Redirects are never followed.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        budget: RequestBudget,
        *,
        user_agent: str,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        retry_policies: dict[RequestPriority, RetryPolicy] | None = None,
        unread: UnreadFields | None = None,
    ) -> None:
        self.unread = unread or UnreadFields()
        """Counts of the fields of its answers that could not be read."""
        self._http = http
        self._budget = budget
        self._headers = {"User-Agent": user_agent, **(headers or {})}
        self._timeout = timeout
        self._retry_policies = retry_policies or RETRY_POLICIES
        self.observer: RequestObserver = RetryLog()
        """Observes each request that has no observer of its own. Commands show what it sees."""

    def deadline(self, priority: RequestPriority) -> float:
        """The end of a read that starts now, in seconds of the clock that only goes forward."""
        return self._budget.clock.monotonic() + self._retry_policies[priority].limit

    async def get(
        self,
        request: ApiRequest[Answer],
        *,
        priority: RequestPriority,
        deadline: float,
        slot_wait: SlotWait | None = None,
        observer: RequestObserver | None = None,
    ) -> Answer:
        """One decoded and checked answer. Raises `RegisterFailure` or `NoSuchRecord`."""
        slot_wait, observer = slot_wait or SlotWait(deadline, deadline), observer or self.observer
        policy = self._retry_policies[priority]
        pause, tries = policy.pause, min(policy.tries, request.max_tries or policy.tries)
        for attempt in range(1, tries + 1):
            observer.asks(request.url)
            try:
                return await self._once(request, priority, deadline, slot_wait, observer)
            except RegisterFailure as failure:
                late = self._budget.clock.monotonic() + pause > _end(deadline, slot_wait)
                if not failure.transient or attempt == tries or late:
                    raise
                seconds = None if failure.throttled else pause  # a throttled request waits in the budget instead
                observer.failed(Retry(priority, failure, seconds, tries - attempt))
                if seconds is not None:
                    await self._budget.clock.sleep(seconds)
                pause *= 2
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(
        self,
        request: ApiRequest[Answer],
        priority: RequestPriority,
        deadline: float,
        slot_wait: SlotWait,
        observer: RequestObserver,
    ) -> Answer:
        await self._take_slot(request, priority, slot_wait)
        left = max(0.1, _end(deadline, slot_wait) - self._budget.clock.monotonic())
        response = await self._send(request, min(self._timeout, left))
        observer.answered(request.url, request.params, response)
        try:
            host = host_of(request.url)
            answer = decode(response, request.reader, now=self._budget.clock.now(), host=host)
            request.check(answer)
        except NoSuchRecord:
            await self._budget.answered()
            raise
        except RegisterFailure as failure:
            if failure.throttled:
                await self._budget.throttled(failure.retry_after)
            elif _is_answered(response.status_code, failure):
                await self._budget.answered()
            raise
        await self._budget.answered()
        self.unread.note(request.reader.name, request.reader.unread_of(answer))
        return answer

    async def _take_slot(self, request: ApiRequest[Answer], priority: RequestPriority, wait: SlotWait) -> None:
        """Wait for the request's slot in the budget. Raises `RegisterFailure`."""
        began_at = self._budget.clock.monotonic()
        try:
            await self._take(request, priority, wait)
        except BudgetSpent as spent:
            asked = "not asked for all of it" if wait.has_begun else "not asked"
            raise RegisterFailure(f"The register was {asked}: {spent}.", is_asked=False) from spent
        wait.has_begun = True
        wait.waited += self._budget.clock.monotonic() - began_at

    async def _take(self, request: ApiRequest[Answer], priority: RequestPriority, wait: SlotWait) -> None:
        take = partial(
            self._budget.take, priority, cost=request.cost, requester=wait.requester, has_begun=wait.has_begun
        )
        try:
            await take(deadline=wait.start_until)
        except BudgetSpent:
            if not wait.may_finish_later:
                raise
            wait.overdue.set()
            await take(deadline=wait.finish_until)

    async def _send(self, request: ApiRequest[Answer], seconds: float) -> httpx2.Response:
        url, timeout = request.url, httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        try:
            async with asyncio.timeout(seconds):
                async with self._http.stream(
                    "GET",
                    url,
                    params=request.params,
                    headers={**self._headers, "Accept": request.accept},
                    timeout=timeout,
                    follow_redirects=False,
                ) as response:
                    return await _read_bounded(response, request.received)
        except httpx2.ConnectTimeout as error:
            raise _unreachable(url, error) from error
        except (TimeoutError, httpx2.TimeoutException) as error:
            reason = f"The register ({host_of(url)}) did not answer within {seconds:.3g} s."
            raise RegisterFailure(reason, transient=True) from error
        except (httpx2.RequestError, httpx2.StreamError, httpx2.InvalidURL) as error:
            raise _unreachable(url, error) from error


def _unreachable(url: str, error: Exception) -> RegisterFailure:
    reason = f"The register ({host_of(url)}) could not be reached: {cause_of(error)}."
    return RegisterFailure(reason, transient=True, is_unreachable=True)


def _end(deadline: float, wait: SlotWait) -> float:
    """The end of a read, whose waits for slots do not count."""
    return min(deadline + wait.waited, wait.finish_until)


def _is_answered(status: int, failure: RegisterFailure) -> bool:
    """Whether the register itself answered a failed request, so that it is no longer throttling.

    That is a whole answer that cannot be used, or a refusal that the failure table knows. Faults, web pages and other
    refusals may come from a proxy before the register, and prove nothing about throttling.
    """
    return status in (200, 400) and not (failure.transient or failure.is_unreachable)


async def _read_bounded(response: httpx2.Response, received: Callable[[int], None]) -> httpx2.Response:
    """The response with its whole body; an answer larger than any real one is refused."""
    chunks, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise RegisterFailure("The register's answer was too large to be a real one.")
        chunks.append(chunk)
        received(size)
    headers = [(name, value) for name, value in response.headers.items() if name.lower() != "content-encoding"]
    return httpx2.Response(response.status_code, headers=headers, content=b"".join(chunks))


def decode(response: httpx2.Response, reader: AnswerReader[Answer], *, now: float, host: str) -> Answer:
    """The answer in a response, by the register's failure table. Raises `RegisterFailure` or `NoSuchRecord`.

    `now` (unix seconds) is what a date in `Retry-After` is counted from; `host` is named in reasons.
    """
    status = response.status_code
    if status == 302:
        raise NoSuchRecord
    register, failure = f"The register ({host})", partial(RegisterFailure, status=status)
    if is_web_page(response) and is_web_filter(response.content):
        raise failure(f"{register} shuts this address out: Web Filter – Access Denied.", is_unreachable=True)
    if status in (429, 307):
        seconds = _retry_after(response.headers.get("retry-after"), now)
        reason = f"{register} is throttling requests (status {status})."
        raise failure(reason, transient=True, throttled=True, retry_after=seconds)
    if status >= 500:
        raise failure(f"{register} has a fault of its own (status {status}).", transient=True)
    if status != 200:
        raise failure(f"{register} refused the request (status {status}).")
    if is_web_page(response):
        raise failure(f"{register} answered with a web page instead of a record.", transient=True)
    try:
        return reader.decode(response.content)
    except msgspec.ValidationError as error:
        raise failure(f"The register's answer has an unexpected form ({error}).") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure(f"{register} broke its answer off, or it is no JSON.", transient=True) from error


def is_web_page(response: httpx2.Response) -> bool:
    """Whether a response is HTML, whatever its headers say."""
    return response.content.lstrip()[:1] == b"<"


def _retry_after(value: str | None, now: float) -> float | None:
    """Seconds from now in a `Retry-After` header, which is a number or a date (GMT where it names no zone)."""
    if value is None:
        return None
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        return float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None
