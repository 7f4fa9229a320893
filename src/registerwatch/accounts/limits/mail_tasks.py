"""Sends mails after the request that caused them was answered."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from registerwatch.errors import RegisterwatchError

MAX_SENDING = 100
CLOSING_SECONDS = 2.0

log = structlog.get_logger(__name__)


class MailTasks:
    """Mails of one kind that are being sent. `what` names the kind in the log: `reset link`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._sending: set[asyncio.Task[None]] = set()

    def start(self, send: Callable[[], Awaitable[None]]) -> None:
        """Send in the background; while 100 are being sent, drop it. Errors are logged."""
        if len(self._sending) >= MAX_SENDING:
            log.error(f"no {self._what} was mailed: too many are being sent already")
            return
        task = asyncio.create_task(self._send(send), name=f"mail a {self._what}")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def settled(self) -> None:
        """Wait until every requested mail was sent or has failed."""
        await asyncio.gather(*self._sending)

    async def close(self) -> None:
        """Let mails that are being sent finish within two seconds, and cancel the others."""
        tasks = set(self._sending)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, send: Callable[[], Awaitable[None]]) -> None:
        try:
            await send()
        except RegisterwatchError as error:
            log.error(f"no {self._what} was mailed", reason=str(error))
