"""`registerwatch work`."""

import asyncio
import signal

from registerwatch import logs
from registerwatch.bootstrap import build_service, working
from registerwatch.settings import Settings, load_settings


def work() -> None:
    """Do the work in the background and nothing else: recheck, deliver, tidy. Any number may run beside `serve`."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    asyncio.run(_work(settings))


async def _work(settings: Settings) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with working(build_service(settings)):
        await ended.wait()
