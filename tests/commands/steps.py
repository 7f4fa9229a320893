"""Who types `registerwatch accounts …`, and what people do with the service meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.clock import SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.settings import load_settings
from tests.support.fakes import quick_passwords
from tests.support.harness import ServiceHarness, built_harness
from tests.support.terminal import Said, Terminal

EMAIL = "owner@acme.example"
MEMBER = "member@acme.example"
PASSWORD = "correct horse"

T = TypeVar("T")


class Operator:
    """Types commands for one service, and knows what its people do meanwhile."""

    def __init__(self, terminal: Terminal, database_url: str, data_dir: Path) -> None:
        self._terminal = terminal
        self._database_url = database_url
        self._data_dir = data_dir

    def types(self, *words: str, answering: str = "") -> Said:
        """Run `registerwatch accounts …` to its end; `answering` is what is typed when it asks."""
        return self._terminal.types("accounts", *words, typed=answering)

    def meanwhile(self, act: Callable[[Accounts], Awaitable[T]]) -> T:
        """What happens in the service between two commands."""

        async def happen() -> T:
            settings = load_settings()
            database = Database(settings.database_address)
            accounts = build_accounts(settings, database, SystemClock(), MemoryMailer(), quick_passwords())
            try:
                return await act(accounts)
            finally:
                await accounts.close()
                await database.close()

        return asyncio.run(happen())

    def over_http(self, act: Callable[[ServiceHarness], Awaitable[T]], **options: object) -> T:
        """What people ask of the service between two commands, at the time of this machine."""

        async def happen() -> T:
            async with built_harness(self._database_url, self._data_dir, **options) as harness:
                harness.clock.move(time.time() - harness.clock.now())
                return await act(harness)

        return asyncio.run(happen())

    def knows(self, email: str, name: str = "Acme") -> None:
        """Somebody signed up."""
        self.meanwhile(lambda accounts: accounts.sessions.trial(name, email, PASSWORD))
