"""One request to the register: the whole failure table, tries, pauses, deadlines, and what is never done."""

import asyncio
import email.utils
import gzip
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from structlog.testing import capture_logs

from registerwatch.platform.db.engine import Database
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import RequestBudget, SlotWait
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import (
    MAX_BODY_BYTES,
    RETRY_POLICIES,
    ApiRequest,
    RegisterHttpClient,
    RetryPolicy,
    decode,
)
from registerwatch.sources.wire import RecordReader, WireRecord
from tests.register.builders import PROPERTY
from tests.register.canned import CannedRegister, in_turn, ok
from tests.sources.conftest import Sender
from tests.support.fakes import SteppedClock

URL = "http://register.test/api/devices/udiDiData"


class Reply(WireRecord, frozen=True):
    """What these tests expect of the register."""

    total: int


REPLY = RecordReader(Reply, "reply")
GOOD = ok({"total": 7})
NOW = 1_800_000_000.0
"""Far from the machine's own time, so that nothing can be reckoned by it unnoticed."""


def a_question(**differs: Any) -> ApiRequest[Reply]:
    return ApiRequest(URL, {"page": "0"}, REPLY, **differs)


def decoded(response: httpx2.Response) -> Reply:
    """What a response that comes now is taken for."""
    return decode(response, REPLY, now=NOW, host="register.test")


async def ask(
    requests: RegisterHttpClient, question: ApiRequest[Reply] | None = None, *, within: float = 60.0
) -> Reply:
    """One answer, somebody waiting for it."""
    deadline = requests.deadline(RequestPriority.WATCH) - 60.0 + within
    return await requests.get(question or a_question(), priority=RequestPriority.WATCH, deadline=deadline)


# The failure table

HTML = b"<!doctype html><html></html>"
PASSING = {"transient": True, "throttled": False}
FINAL = {"transient": False, "throttled": False}
THROTTLED = {"transient": True, "throttled": True}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        *((status, HTML, PASSING) for status in (500, 502, 503, 504, 599)),
        *((status, HTML, THROTTLED) for status in (429, 307)),
        *((status, b"{}", FINAL) for status in (201, 204, 301, 303, 308, 400, 401, 403, 404, 410, 418)),
        (200, HTML, PASSING),
        (200, b"\n  <html>", PASSING),
        (200, b"", PASSING),
        (200, b'{"total": ', PASSING),
        (200, b'{"total": 1} trailing', PASSING),
        (200, b"\xff\xfe\x00", PASSING),
        (200, b'{"total": 1, "deep": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", PASSING),
        (200, b"[]", FINAL),
        (200, b"null", FINAL),
        (200, b"{}", FINAL),
        (200, b'{"total": "many"}', FINAL),
        (200, b'{"total": 1.5}', FINAL),
    ],
)
def test_every_answer_that_is_no_record_is_a_failure_of_its_kind(
    status: int, body: bytes, kind: dict[str, bool]
) -> None:
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(status, content=body))

    assert {"transient": caught.value.transient, "throttled": caught.value.throttled} == kind
    assert caught.value.reason.startswith("The register")
    assert caught.value.reason.endswith(".")


def test_a_302_is_a_missing_record_wherever_it_leads() -> None:
    for location in ("/eudamed/page-not-found", "https://elsewhere.test/", ""):
        with pytest.raises(NoSuchRecord):
            decoded(httpx2.Response(302, headers={"location": location}))


def test_an_unexpected_form_is_told_by_its_place_and_without_its_content() -> None:
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(200, content=b'{"total": "someone@example.org"}'))

    assert "`total`" in caught.value.reason
    assert "someone" not in caught.value.reason


@pytest.mark.parametrize("status", [429, 307])
@pytest.mark.parametrize(
    ("header", "seconds"), [("60", 60), (" 5 ", 5), ("0", 0), ("soon", None), ("-5", None), ("1.5", None), ("", None)]
)
def test_throttling_tells_for_how_many_seconds(status: int, header: str, seconds: float | None) -> None:
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(status, headers={"retry-after": header}))

    assert caught.value.retry_after == seconds


def test_throttling_without_a_header_tells_no_seconds() -> None:
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(429))

    assert caught.value.retry_after is None


@pytest.fixture
def far_from_gmt(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time is not GMT."""
    with monkeypatch.context() as local:
        local.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("ahead", "seconds"), [(90, 90), (0, 0), (-90, 0)])
@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
def test_throttling_can_tell_a_date(far_from_gmt: None, ahead: int, seconds: float, zone: str) -> None:
    date = email.utils.formatdate(NOW + ahead, usegmt=True).replace("GMT", zone)
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(429, headers={"retry-after": date}))

    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    "header",
    [b"\xb2", "٣".encode(), b"Mon, 01 Jan 2026 00:00:99999999999 GMT", b"Mon, 99999999999999 Jan 2026 00:00:00 GMT"],
)
def test_a_retry_after_that_means_nothing_is_no_more_than_throttling(header: bytes) -> None:
    with pytest.raises(RegisterFailure) as caught:
        decoded(httpx2.Response(429, headers=[(b"retry-after", header)]))

    assert caught.value.throttled


@PROPERTY
@given(st.integers(200, 599), st.binary(max_size=30))
def test_no_answer_at_all_makes_anything_but_a_failure_or_the_record(status: int, body: bytes) -> None:
    try:
        answer = decoded(httpx2.Response(status, content=body))
    except (RegisterFailure, NoSuchRecord):
        return
    assert status == 200
    assert answer == msgspec.json.decode(body, type=Reply)


# What is sent


async def test_a_request_names_the_service_asks_for_json_and_carries_its_parameters(sender: Sender) -> None:
    register = in_turn(GOOD)

    assert (await ask(sender(register))).total == 7

    request = register.asked[0]
    assert (request.method, str(request.url)) == ("GET", f"{URL}?page=0")
    assert request.headers["user-agent"] == "Registerwatch/1.0 (+https://example.org)"
    assert request.headers["accept"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(sender: Sender, status: int) -> None:
    register = in_turn(httpx2.Response(status, headers={"location": "http://elsewhere.test/"}), GOOD)
    requests = sender(register, retry_policies={RequestPriority.WATCH: RetryPolicy(1, 1.0, 60.0)})

    with pytest.raises((RegisterFailure, NoSuchRecord)):
        await requests.get(
            a_question(), priority=RequestPriority.WATCH, deadline=requests.deadline(RequestPriority.WATCH)
        )

    assert [request.url.host for request in register.asked] == ["register.test"]


# Tries

BROKEN: dict[str, httpx2.Response | Exception] = {
    "500": httpx2.Response(500),
    "502": httpx2.Response(502),
    "503": httpx2.Response(503),
    "504": httpx2.Response(504),
    "a web page": httpx2.Response(200, content=HTML),
    "half an answer": httpx2.Response(200, content=b'{"total"'),
    "a timeout": httpx2.ReadTimeout("slow"),
    "no connection": httpx2.ConnectError("refused"),
    "a lost connection": httpx2.ReadError("reset"),
    "a broken protocol": httpx2.RemoteProtocolError("garbage"),
}
LASTING: dict[str, httpx2.Response] = {
    "400": httpx2.Response(400),
    "404": httpx2.Response(404),
    "302": httpx2.Response(302),
    "another form": ok({"total": None}),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_passing_failure_is_tried_again_after_a_pause(
    sender: Sender, clock: SteppedClock, broken: httpx2.Response | Exception
) -> None:
    register = in_turn(broken, GOOD)

    assert (await ask(sender(register))).total == 7
    assert len(register.asked) == 2
    assert clock.slept == [1.0]


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_failure_that_does_not_pass_ends_after_the_last_try_with_a_reason(
    sender: Sender, clock: SteppedClock, broken: httpx2.Response | Exception
) -> None:
    register = in_turn(broken)

    with pytest.raises(RegisterFailure, match="The register") as caught:
        await ask(sender(register))

    assert caught.value.transient
    assert len(register.asked) == 3
    assert clock.slept == [1.0, 2.0], "pauses double"


@pytest.mark.parametrize("lasting", LASTING.values(), ids=LASTING)
async def test_a_lasting_failure_is_not_tried_again(
    sender: Sender, clock: SteppedClock, lasting: httpx2.Response
) -> None:
    register = in_turn(lasting, GOOD)

    with pytest.raises((RegisterFailure, NoSuchRecord)):
        await ask(sender(register))

    assert len(register.asked) == 1
    assert clock.slept == []


async def test_a_fill_says_why_it_waits_and_for_how_long_and_nobody_else_does(sender: Sender) -> None:
    told = {}
    for priority in RequestPriority:
        requests = sender(
            in_turn(httpx2.ConnectError("refused"), httpx2.Response(503), GOOD), retry_policies=RETRY_POLICIES
        )
        with capture_logs() as logged:
            await requests.get(a_question(), priority=priority, deadline=requests.deadline(priority))
        told[priority] = [(each["reason"], each["seconds"], each["tries_left"]) for each in logged]

    assert told == {
        RequestPriority.WATCH: [],
        RequestPriority.RECHECK: [],
        RequestPriority.SWEEP: [],
        RequestPriority.READER: [],
        RequestPriority.REFRESH: [],
        RequestPriority.BULK_LOAD: [
            ("The register (register.test) could not be reached: the connection failed.", 4.0, 7),
            ("The register (register.test) has a fault of its own (status 503).", 8.0, 6),
        ],
    }


async def test_an_answer_that_cannot_be_true_fails_by_the_kind_that_its_check_says(sender: Sender) -> None:
    for transient, asked in ((True, 3), (False, 1)):
        register = in_turn(GOOD)

        def doubt(_reply: Reply, transient: bool = transient) -> None:
            raise RegisterFailure("The register contradicts itself.", transient=transient)

        with pytest.raises(RegisterFailure, match="contradicts itself"):
            await ask(sender(register), a_question(check=doubt))
        assert len(register.asked) == asked


# Throttling


async def test_a_throttled_request_waits_as_long_as_the_register_said(sender: Sender, clock: SteppedClock) -> None:
    begin = clock.now()
    register = in_turn(httpx2.Response(429, headers={"retry-after": "30"}), GOOD)

    await ask(sender(register))

    assert 30 <= clock.now() - begin <= 31.1
    assert len(register.asked) == 2


@pytest.mark.parametrize("answer", [httpx2.Response(429), httpx2.Response(307, content=HTML)])
async def test_without_a_word_of_the_register_pauses_grow_from_five_seconds(
    sender: Sender, clock: SteppedClock, answer: httpx2.Response
) -> None:
    begin = clock.now()
    register = in_turn(answer, answer, GOOD)

    await ask(sender(register))

    assert 25 <= clock.now() - begin <= 27.2, "5 s and 20 s"


async def test_a_date_to_wait_for_is_reckoned_by_the_clock_of_the_service(sender: Sender, clock: SteppedClock) -> None:
    clock.move(30 * 24 * 3600)
    begin = clock.now()
    date = email.utils.formatdate(begin + 30, usegmt=True)
    register = in_turn(httpx2.Response(429, headers={"retry-after": date}), GOOD)

    await ask(sender(register))

    assert 29 <= clock.now() - begin <= 31.1


ANSWERED: dict[str, httpx2.Response] = {
    "the answer": GOOD,
    "no such record": httpx2.Response(302),
    "an unknown value": httpx2.Response(400),
    "a whole answer of another form": ok({"total": None}),
}
UNANSWERED: dict[str, httpx2.Response | Exception] = {
    **BROKEN,
    **{str(status): httpx2.Response(status) for status in (401, 403, 404)},
    "an answer without end": httpx2.Response(200, content=b" " * (MAX_BODY_BYTES + 1)),
}


async def pause_after(
    sender: Sender,
    clock: SteppedClock,
    between: httpx2.Response | Exception,
    question: ApiRequest[Reply] | None = None,
) -> float:
    """Seconds for which a throttled request waits that was throttled before, with this answer between the two."""
    throttled = httpx2.Response(429)
    once = {RequestPriority.WATCH: RetryPolicy(1, 0.0, 600.0)}
    with suppress(RegisterFailure):
        await ask(sender(in_turn(throttled), retry_policies=once))
    with suppress(RegisterFailure, NoSuchRecord):
        await ask(sender(in_turn(between), retry_policies=once), question)
    clock.move(60)
    begin = clock.now()
    await ask(sender(in_turn(throttled, GOOD)), within=120)
    return clock.now() - begin


@pytest.mark.parametrize("answer", ANSWERED.values(), ids=ANSWERED)
async def test_after_any_real_answer_pauses_start_short_again(
    sender: Sender, clock: SteppedClock, answer: httpx2.Response
) -> None:
    assert 5 <= await pause_after(sender, clock, answer) <= 6.1


@pytest.mark.parametrize("broken", UNANSWERED.values(), ids=UNANSWERED)
async def test_what_may_not_come_from_the_register_itself_leaves_pauses_long(
    sender: Sender, clock: SteppedClock, broken: httpx2.Response | Exception
) -> None:
    assert 20 <= await pause_after(sender, clock, broken) <= 21.1


@pytest.mark.parametrize(
    ("doubt", "pause"),
    [
        (RegisterFailure("The register contradicts itself."), 5),
        (RegisterFailure("The register broke off.", transient=True), 20),
        (RegisterFailure("The register shows an empty page.", transient=True, throttled=True), 60),
    ],
    ids=["cannot be true", "may be true later", "shows throttling"],
)
async def test_a_doubted_answer_is_a_real_one_unless_trying_again_may_help(
    sender: Sender, clock: SteppedClock, doubt: RegisterFailure, pause: int
) -> None:
    def check(_reply: Reply) -> None:
        raise doubt

    assert pause <= await pause_after(sender, clock, GOOD, a_question(check=check)) <= pause + 1.1


async def test_a_pause_that_ends_after_the_deadline_is_not_waited_for(sender: Sender, clock: SteppedClock) -> None:
    register = in_turn(httpx2.Response(429, headers={"retry-after": "300"}), GOOD)

    with pytest.raises(RegisterFailure, match="slow down"):
        await ask(sender(register), within=60)

    assert len(register.asked) == 1
    assert clock.slept == []


async def test_a_spent_budget_is_told_and_costs_no_request(sender: Sender, clock: SteppedClock) -> None:
    register = in_turn(GOOD)
    requests = sender(register, per_minute=2)
    await ask(requests)
    await ask(requests)
    clock.slept.clear()

    with pytest.raises(RegisterFailure, match=r"used up; the next try is possible in 3[01] s") as caught:
        await ask(requests, within=10)

    assert not caught.value.transient
    assert len(register.asked) == 2
    assert clock.slept == []


# Bounds


async def test_a_body_larger_than_any_real_one_is_refused_before_it_is_read_to_its_end(sender: Sender) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in itertools.repeat(None):
            sent += 1_000_000
            yield b" " * 1_000_000

    register = CannedRegister(lambda _request: httpx2.Response(200, content=endless()))

    with pytest.raises(RegisterFailure, match="too large"):
        await ask(sender(register))

    assert sent <= MAX_BODY_BYTES + 2_000_000
    assert len(register.asked) == 1, "it would be too large again"


async def test_a_packed_body_counts_by_its_unpacked_size(sender: Sender) -> None:
    packed = gzip.compress(b'{"total": 7}' + b" " * (MAX_BODY_BYTES + 1))
    register = CannedRegister(
        lambda _request: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=packed)
    )

    with pytest.raises(RegisterFailure, match="too large"):
        await ask(sender(register))


@pytest.mark.parametrize(
    ("body", "readable"),
    [
        pytest.param(gzip.compress(b'{"total": 7}'), True, id="packed"),
        pytest.param(b"\x1f\x8bthis is not gzip", False, id="damaged"),
    ],
)
async def test_a_packed_body_is_unpacked_and_a_damaged_one_is_a_failure(
    sender: Sender, body: bytes, readable: bool
) -> None:
    register = CannedRegister(
        lambda _request: httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(body))
    )
    requests = sender(register)

    if readable:
        assert (await ask(requests)).total == 7
    else:
        with pytest.raises(RegisterFailure):
            await ask(requests)


async def never(_request: httpx2.Request) -> httpx2.Response:
    """No answer."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def test_a_silent_register_is_given_up_after_the_time_of_one_request(sender: Sender) -> None:
    requests = sender(CannedRegister(never), timeout=0.02)

    with pytest.raises(RegisterFailure, match=r"did not answer within 0\.02 s") as caught:
        async with asyncio.timeout(5):
            await ask(requests)

    assert caught.value.transient


async def test_a_body_that_drips_is_given_up_after_the_time_of_one_request(sender: Sender) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        yield b'{"total"'
        await asyncio.Event().wait()

    requests = sender(CannedRegister(lambda _request: httpx2.Response(200, content=dripping())), timeout=0.02)

    with pytest.raises(RegisterFailure, match="did not answer"):
        async with asyncio.timeout(5):
            await ask(requests)


async def test_a_read_ends_by_its_deadline_however_long_one_request_may_take(
    sender: Sender, clock: SteppedClock
) -> None:
    async def slow(_request: httpx2.Request) -> httpx2.Response:
        clock.move(20)
        raise httpx2.ReadTimeout("20 s are over")

    begin = clock.now()
    register = CannedRegister(slow)
    requests = sender(
        register, timeout=20, retry_policies={RequestPriority.WATCH: RetryPolicy(tries=3, pause=0.4, limit=25)}
    )

    with pytest.raises(RegisterFailure):
        await requests.get(
            a_question(), priority=RequestPriority.WATCH, deadline=requests.deadline(RequestPriority.WATCH)
        )

    granted = [request.extensions["timeout"]["read"] for request in register.asked]
    assert clock.now() - begin <= 25 or granted[-1] <= 25 - 20.4, "the second try may take what is left, not 20 s more"


class BusyClock(SteppedClock):
    """A clock on which people use up all places but one, again and again, while somebody else sleeps."""

    def __init__(self, database: Database) -> None:
        super().__init__(NOW)
        self._database = database

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await super().sleep(seconds)
        await self.use_up()

    async def use_up(self) -> None:
        """All places of the last minute but one."""
        async with self._database.transaction() as connection:
            sent = msgspec.json.encode({"watch": {int(self.now()) - 6 * number: 1 for number in range(1, 10)}}).decode()
            await connection.execute(text("UPDATE request_budgets SET sent = :sent"), {"sent": sent})


async def test_a_recheck_goes_on_within_its_part_while_people_use_up_all_that_is_theirs(database: Database) -> None:
    clock = BusyClock(database)
    await clock.use_up()
    requests = RegisterHttpClient(
        httpx2.AsyncClient(transport=in_turn(GOOD)),
        RequestBudget(database, PaceLimits(10, start=10), clock),
        user_agent="Registerwatch",
        timeout=5.0,
    )
    wait = SlotWait.until(clock.monotonic() + 300)

    answer = await requests.get(
        a_question(), priority=RequestPriority.RECHECK, deadline=clock.monotonic() + 180, slot_wait=wait
    )

    assert answer
    assert clock.monotonic() == NOW, "the last place is within its part"


async def test_reads_end_sooner_for_whoever_waits_than_for_the_recheck_and_the_mirror(sender: Sender) -> None:
    requests = sender(
        in_turn(GOOD),
        retry_policies={
            RequestPriority.WATCH: RetryPolicy(1, 1.0, 25.0),
            RequestPriority.RECHECK: RetryPolicy(1, 1.0, 180.0),
            RequestPriority.BULK_LOAD: RetryPolicy(1, 1.0, 900.0),
        },
    )

    waiting, recheck, bulk_loader = (
        requests.deadline(priority)
        for priority in (RequestPriority.WATCH, RequestPriority.RECHECK, RequestPriority.BULK_LOAD)
    )

    assert recheck - waiting == pytest.approx(155)
    assert bulk_loader - waiting == pytest.approx(875)
