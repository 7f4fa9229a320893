"""Nodes that are killed at any moment: the product in processes of its own, over one database.

A node is forked from a server that has loaded the product already, so that hundreds of them can start and die.
"""

import asyncio
import multiprocessing
import random
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from registerwatch.accounts.credentials import credential_of
from registerwatch.bootstrap import Service, build_service, working
from registerwatch.settings import Settings
from tests.support.fakes import quick_passwords

ACCOUNTS = 3
SUBJECTS = 12
CALM_SECONDS = 90.0

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.journeys.crash_loop"])


def settings_of(database_url: str, data_dir: Path, register_url: str) -> dict[str, Any]:
    """The settings of a node: it rechecks as fast as it can."""
    return {
        "data_dir": data_dir,
        "database_url": database_url,
        "register_url": f"{register_url}/eudamed",
        "datalake_url": f"{register_url}/datalake",
        "register_requests_per_minute": 1_000_000,
        "rate_limits": False,
        "recheck_interval": 1,
        "webhooks_allow_private": True,
    }


def _service(settings: dict[str, Any], **parts: Any) -> Service:
    return build_service(Settings(**settings), passwords=quick_passwords(), **parts)


async def open_accounts(settings: dict[str, Any], subjects: list[str], receiver_url: str) -> list[str]:
    """Accounts that watch all subjects, each with an address at the receiver; their keys."""
    service, keys = _service(settings), []
    try:
        for number in range(ACCOUNTS):
            opened = await service.accounts.sessions.trial("", f"owner{number}@acme.example", "correct horse")
            assert opened.api_key is not None
            keys.append(opened.api_key)
            caller = await service.accounts.sessions.caller(credential_of(opened.api_key, None))
            await service.notifications.webhooks.set_first(caller, receiver_url)
            for subject in subjects:
                watch = await service.watches.service.add(caller, subject)
                assert watch.snapshot is not None, watch.last_error
    finally:
        await service.close()
    return keys


def node(settings: dict[str, Any], key: str) -> None:
    """One node, until it is killed: it rechecks and delivers, and one account syncs all the time."""

    async def run() -> None:
        async with working(_service(settings)) as service:
            caller = await service.accounts.sessions.caller(credential_of(key, None))
            while True:
                await service.watches.sync.sync(caller)
                await asyncio.sleep(0.05)

    asyncio.run(run())


class Nodes:
    """Nodes of which one is killed now and then, and replaced."""

    def __init__(self, settings: dict[str, Any], keys: list[str], size: int) -> None:
        self._settings, self._keys, self._size = settings, keys, size
        self._processes: list[BaseProcess] = []
        self.killed = 0

    def start_missing(self) -> None:
        """Start as many as were killed."""
        while len(self._processes) < self._size:
            key = self._keys[(self.killed + len(self._processes)) % len(self._keys)]
            process = _forking.Process(target=node, args=(self._settings, key), daemon=True)
            process.start()
            self._processes.append(process)

    def kill_one(self, rng: random.Random) -> None:
        """Kill any node, at once and for good."""
        victim = self._processes.pop(rng.randrange(len(self._processes)))
        assert victim.is_alive(), "a node ends only when it is killed"
        _kill(victim)
        self.killed += 1

    def kill_all(self) -> None:
        """Leave none."""
        while self._processes:
            _kill(self._processes.pop())


def _kill(process: BaseProcess) -> None:
    process.kill()
    process.join(20)


class _ClockAhead:
    """By this clock the leases and holds of killed nodes have run out."""

    def now(self) -> float:
        return time.time() + 3_600

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def read_and_deliver_all(settings: dict[str, Any], keys: list[str]) -> None:
    """One more node, that nobody kills, reads everything once more and delivers it."""
    service = _service(settings, clock=_ClockAhead())
    async with asyncio.timeout(CALM_SECONDS), working(service):
        for key in keys:
            caller = await service.accounts.sessions.caller(credential_of(key, None))
            synced = await service.watches.sync.sync(caller)
            assert synced.synced == SUBJECTS, synced
        while (await service.notifications.deliveries.waiting())[0]:
            await asyncio.sleep(0.05)
