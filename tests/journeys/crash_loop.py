"""Nodes that are killed at any moment: the product in processes of its own, over one database.

A node is forked from a server that has loaded the product already, so that hundreds of them can start and die.
"""

import asyncio
import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import users
from registerwatch.bootstrap import Service, build_service, working
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.targets.channel_models import NewChannel
from registerwatch.settings import Settings
from tests.support.fakes import quick_passwords
from tests.support.harness import PACE

ACCOUNTS = 3
SUBJECTS = 12
CALM_SECONDS = 90.0
ROWS = 8
"""Of a page, so that a manufacturer has several."""
SWEEP_STEP_SECONDS = 700
"""A node's clock is so much before that of the node before it."""
CALM_STEP_SECONDS = 4_000
"""Enough for the list of certificates to be due again."""

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.journeys.crash_loop"])


def settings_of(database_url: str, data_dir: Path, register_url: str, **others: Any) -> dict[str, Any]:
    """The settings of a node: it rechecks as fast as it can."""
    return {
        "data_dir": data_dir,
        "database_url": database_url,
        "register_url": f"{register_url}/eudamed",
        "datalake_url": f"{register_url}/datalake",
        "register_requests_per_minute": PACE,
        "datalake_requests_per_minute": PACE,
        "rate_limits": False,
        "recheck_interval": 1,
        "webhooks_allow_private": True,
        **others,
    }


def _service(settings: dict[str, Any], **parts: Any) -> Service:
    return build_service(Settings(**settings), passwords=quick_passwords(), start_pace=PACE, **parts)


async def open_accounts(settings: dict[str, Any], subjects: list[str], receiver_url: str) -> list[str]:
    """Accounts that watch all subjects, each with an address at the receiver, whose owners get mails of every change
    where there is a mail server; their keys.
    """
    service, keys = _service(settings), []
    try:
        for number in range(ACCOUNTS):
            opened = await service.accounts.sessions.trial("", f"owner{number}@acme.example", "correct horse")
            assert opened.api_key is not None
            keys.append(opened.api_key)
            caller = await service.accounts.sessions.caller(credential_of(opened.api_key, None))
            await service.notifications.webhooks.set_first(caller, receiver_url)
            if "smtp_url" in settings:
                owner = await service.accounts.sessions.caller(credential_of(None, opened.session))
                await _choose_mails(service, owner)
            for subject in subjects:
                watch = await service.watches.service.add(caller, subject)
                assert watch.snapshot is not None, watch.last_error
    finally:
        await service.close()
    return keys


async def _choose_mails(service: Service, owner: Caller) -> None:
    async with service.database.transaction() as connection:
        await connection.execute(update(users).where(users.c.account_id == owner.account.id).values(confirmed_at=1))
    await service.notifications.channels.add(owner, NewChannel(EMAIL))


def node(settings: dict[str, Any], key: str, place: int) -> None:
    """One node, until it is killed: it rechecks and delivers, and one account syncs all the time."""

    async def run() -> None:
        async with working(_service(settings)) as service:
            caller = await service.accounts.sessions.caller(credential_of(key, None))
            while True:
                await service.watches.sync.sync(caller)
                await asyncio.sleep(0.05)

    asyncio.run(run())


def sweeping_node(settings: dict[str, Any], key: str, place: int) -> None:
    """One node, until it is killed: it sweeps lists, few rows a page. By its clock everything is due, and leases of
    nodes before it have run out, which may still be at work.
    """

    async def run() -> None:
        service = _service(settings, clock=_ClockAhead((place + 1) * SWEEP_STEP_SECONDS), page_size=ROWS)
        while True:
            await _sweep(service)
            await service.watches.expiry.run()

    asyncio.run(run())


async def _sweep(service: Service) -> None:
    await service.device_sweep.refresh_queue()
    await service.device_sweep.run_due()
    await service.certificate_sweep.run_where_due()
    await service.certificate_sweep.read_due_scopes()


async def sweep_all(settings: dict[str, Any], place: int) -> None:
    """One more node, that nobody kills, sweeps everything twice."""
    for again in range(2):
        clock = _ClockAhead((place + again + 1) * CALM_STEP_SECONDS)
        service = _service(settings, clock=clock, page_size=ROWS)
        try:
            async with asyncio.timeout(CALM_SECONDS):
                await _sweep(service)
        finally:
            await service.close()


Run = Callable[[dict[str, Any], str, int], None]


class Nodes:
    """Nodes of which one is killed now and then, and replaced."""

    def __init__(self, settings: dict[str, Any], keys: list[str], size: int, run: Run = node) -> None:
        self._settings, self._keys, self._size, self._run = settings, keys, size, run
        self._processes: list[BaseProcess] = []
        self.killed = 0

    def start_missing(self) -> None:
        """Start as many as were killed."""
        while len(self._processes) < self._size:
            place = self.killed + len(self._processes)
            key = self._keys[place % len(self._keys)]
            process = _forking.Process(target=self._run, args=(self._settings, key, place), daemon=True)
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

    def __init__(self, seconds: int = 3_600) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return time.time() + self._seconds

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def read_and_deliver_all(settings: dict[str, Any], keys: list[str]) -> None:
    """One more node, that nobody kills, reads everything once more; another one delivers it, gathered mails too."""
    service = _service(settings, clock=_ClockAhead())
    async with asyncio.timeout(CALM_SECONDS), working(service):
        for key in keys:
            caller = await service.accounts.sessions.caller(credential_of(key, None))
            synced = await service.watches.sync.sync(caller)
            assert synced.synced == SUBJECTS, synced
    service = _service(settings, clock=_ClockAhead(7_200))
    async with asyncio.timeout(CALM_SECONDS), working(service):
        while (await service.notifications.deliveries.waiting())[0]:
            await asyncio.sleep(0.05)
