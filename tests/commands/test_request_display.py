"""What long commands show of their requests."""

import io

import httpx2
import pytest
from rich.console import Console

from registerwatch.commands.display.request_display import Countdown, LookDisplay
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_observer import Retry

URL = "https://ec.europa.eu/tools/eudamed/api/eos"
REFUSED = RegisterFailure("The register (ec.europa.eu) could not be reached: connection refused.", transient=True)
THROTTLED = RegisterFailure("The register (ec.europa.eu) is throttling requests (status 429).", throttled=True)


class Moment:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def moment() -> Moment:
    return Moment()


@pytest.fixture
def written() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def console(written: io.StringIO) -> Console:
    return Console(file=written, width=60)


def test_a_failure_is_one_line_at_once_and_the_seconds_are_counted_down(
    console: Console, written: io.StringIO, moment: Moment
) -> None:
    countdown = Countdown(console, moment)
    countdown.failed(Retry(RequestPriority.SWEEP, REFUSED, 8.0, 3))

    assert written.getvalue() == (
        "The register (ec.europa.eu) could not be reached: connection refused; trying again in 8 s, 3 tries left.\n"
    )
    assert countdown.waiting == "trying again in 8 s"
    moment.now += 5
    assert countdown.waiting == "trying again in 3 s"
    countdown.asks(URL)
    assert countdown.waiting == ""


def test_a_throttled_request_waits_as_long_as_the_register_wants(
    console: Console, written: io.StringIO, moment: Moment
) -> None:
    countdown = Countdown(console, moment)
    countdown.failed(Retry(RequestPriority.SWEEP, THROTTLED, None, 1))

    assert written.getvalue().endswith("(status 429); trying again when it allows, 1 try left.\n")
    assert countdown.waiting == ""


def test_a_look_shows_what_it_is_at_and_the_time_that_is_left(console: Console, moment: Moment) -> None:
    display = LookDisplay(console, 60, moment)
    display.looks_at("It names its build")
    display.asks(URL)
    assert str(display.__rich__()).startswith("1 of about 60 requests, 2 min left · It names its build · ec.europa.eu")

    moment.now += 1
    display.answered(URL, {}, httpx2.Response(200))
    display.asks(URL)
    moment.now += 1
    assert str(display.__rich__()) == (
        "2 of about 60 requests, 2 min left · It names its build · ec.europa.eu is asked (1 s)"
    )
