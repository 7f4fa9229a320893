"""The display of a long command's requests on standard error: the current one, their number, failures."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx2
from rich.console import Console
from rich.live import Live
from rich.text import Text

from registerwatch.sources.request_observer import Retry

REFRESHES_PER_SECOND = 4
FIRST_SECONDS_PER_REQUEST = 2.0
"""The assumed duration of a request before any was answered: the initial pace of a new service."""

Seconds = Callable[[], float]


class Countdown:
    """Shows repeated requests: a line for each failure, and in a terminal the seconds until the next try."""

    def __init__(self, console: Console, monotonic: Seconds = time.monotonic) -> None:
        self._console = console
        self._monotonic = monotonic
        self._until: float | None = None

    def asks(self, url: str) -> None:
        """End the wait."""
        self._until = None

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """Show nothing."""

    def failed(self, retry: Retry) -> None:
        """Show a line."""
        self._console.print(Text(f"{retry.words}."), soft_wrap=True)
        self._until = None if retry.seconds is None else self._monotonic() + retry.seconds

    @property
    def waiting(self) -> str:
        """What the command waits for now, empty for nothing."""
        if self._until is None:
            return ""
        return f"trying again in {max(0, round(self._until - self._monotonic()))} s"


class LookDisplay(Countdown):
    """Also shows the progress of checks: the current check, the number of the request, the time left."""

    def __init__(self, console: Console, expected: int, monotonic: Seconds = time.monotonic) -> None:
        super().__init__(console, monotonic)
        self._expected = expected
        self._began = self._asked_at = monotonic()
        self._asked = self._answered = 0
        self._title = self._host = ""

    def looks_at(self, title: str) -> None:
        """Show the next check."""
        self._title = title

    def asks(self, url: str) -> None:
        """Count a request that waits for its slot and is sent."""
        super().asks(url)
        self._asked += 1
        self._host, self._asked_at = urlsplit(url).netloc, self._monotonic()

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """Count a response."""
        self._answered += 1

    def __rich__(self) -> Text:
        """The line at the end of a terminal."""
        now, expected = self._monotonic(), max(self._expected, self._asked)
        each = (now - self._began) / self._answered if self._answered else FIRST_SECONDS_PER_REQUEST
        left = round(max(0, expected - self._answered) * each)
        doing = self.waiting or f"{self._host} is asked ({round(now - self._asked_at)} s)"
        return Text(f"{self._asked} of about {expected} requests, {_minutes(left)} left · {self._title} · {doing}")


@contextmanager
def shown(display: LookDisplay, console: Console) -> Iterator[None]:
    """Show progress during the block, if standard error is a terminal."""
    if not console.is_terminal:
        yield
        return
    with Live(display, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True):
        yield


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"
