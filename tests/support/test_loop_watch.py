"""The watch over the event loop itself: it notes who holds the loop, and nobody who waits."""

import asyncio
import time
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.support.loop_watch import loop_watch


def _work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def _app(scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.sleep(0)
    if scope["path"] == "/work":
        _work(loop_watch.most * 4)
    elif scope["path"] == "/parts":
        for _ in range(4):
            _work(loop_watch.most / 2)
            await asyncio.sleep(0)
    elif scope["path"] == "/thread":
        await asyncio.to_thread(_work, loop_watch.most * 4)
    elif scope["path"] == "/fails":
        _work(loop_watch.most * 4)
        raise KeyError


async def test_a_request_is_noted_that_works_for_long_without_waiting_for_anything() -> None:
    watched = loop_watch.over(_app)
    for path in ("/work", "/parts", "/thread"):
        await watched({"type": "http", "method": "GET", "path": path}, _nothing, _nothing)
    with pytest.raises(KeyError):
        await watched({"type": "http", "method": "POST", "path": "/fails"}, _nothing, _nothing)
    noted = loop_watch.taken()
    assert [each.partition(" held")[0] for each in noted] == ["GET /work", "POST /fails"]
    assert loop_watch.taken() == []


async def _nothing(*_: object) -> Any:
    raise AssertionError("the application sends nothing")
