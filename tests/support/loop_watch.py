"""A watch over the event loop: a request may not hold it for long, else all others wait.

What is measured is the processor's time of this thread between two points at which a request waits for something,
without collections of garbage, which come when they come. On a slow machine more is allowed, and how slow it is at the
moment is measured with each step that seems too long: machines are shared.
"""

import gc
import time
from collections.abc import Coroutine, Generator
from threading import local
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

MAX_SECONDS = 0.02
TOLERANCE = 3.0
"""What a machine that does other work takes longer: in some of thousands of steps the kernel takes its time, too."""
USUAL_SECONDS = 0.002
"""What the measured work takes on a machine of today."""


class LoopWatch:
    """Notes requests that hold the loop, by method, path and seconds."""

    def __init__(self) -> None:
        self._of_thread = _OfThread()
        self._held: list[str] = []
        self.most = _most()
        gc.callbacks.append(self._note_collection)

    def over(self, app: ASGIApp) -> ASGIApp:
        """An application whose requests are watched."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            await _Steps(app(scope, receive, send), f"{scope.get('method', '')} {scope.get('path', '')}", self)

        return watched

    def taken(self) -> list[str]:
        """What was noted since this was asked last."""
        held, self._held = self._held, []
        return held

    def now(self) -> float:
        """Seconds of the processor that this thread has used for something else than collecting garbage."""
        return time.thread_time() - self._of_thread.collecting

    def note(self, request: str, seconds: float) -> None:
        """Note a step of a request that took so long."""
        if seconds > self.most and seconds > _most():
            self._held.append(f"{request} held the event loop for {seconds * 1_000:.0f} ms")

    def _note_collection(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._of_thread.began = time.thread_time()
        else:
            self._of_thread.collecting += time.thread_time() - self._of_thread.began


class _OfThread(local):
    """Seconds that a thread has collected garbage for, and when it began to."""

    collecting = began = 0.0


class _Steps:
    """A coroutine that is measured from each point at which it waits to the next."""

    def __init__(self, coroutine: Any, request: str, watch: LoopWatch) -> None:
        self._coroutine: Coroutine[Any, Any, None] = coroutine
        self._request = request
        self._watch = watch

    def __await__(self) -> Generator[Any, Any, None]:
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            began = self._watch.now()
            try:
                waits = self._coroutine.send(sent) if thrown is None else self._coroutine.throw(thrown)
            except StopIteration:
                return
            finally:
                self._watch.note(self._request, self._watch.now() - began)
            sent = thrown = None
            try:
                sent = yield waits
            except BaseException as error:  # noqa: BLE001  # what a task is cancelled with, too
                thrown = error


def _most() -> float:
    """The seconds that a step may take on this machine at the moment."""
    fastest = min(_measured() for _ in range(5))
    return MAX_SECONDS * TOLERANCE * max(1.0, fastest / USUAL_SECONDS)


def _measured() -> float:
    began = time.thread_time()
    total = 0
    for number in range(100_000):
        total += number & 7
    return time.thread_time() - began


loop_watch = LoopWatch()
