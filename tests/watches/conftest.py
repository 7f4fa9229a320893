"""Accounts that watch, over a copy that a test stores readings in: no register, no surfaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.wiring import build_accounts
from registerwatch.db.engine import Database
from registerwatch.mail.memory_mailer import KeptMail
from registerwatch.notifications.outbox import Outbox
from registerwatch.register.store.records import RecordStore
from registerwatch.settings import Settings
from registerwatch.watches.observe import WatchObserver
from tests.support.clocks import SteppedClock
from tests.support.passwords import quick_passwords
from tests.watches.room import Room


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[Room]:
    clock = SteppedClock(1_800_000_000)
    accounts = build_accounts(Settings(data_dir=tmp_path), database, clock, KeptMail(), quick_passwords())
    outbox = Outbox(database, clock)
    yield Room(database, clock, accounts, outbox, RecordStore(database, WatchObserver(outbox)))
    accounts.passwords.close()
