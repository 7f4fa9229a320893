"""Accounts that watch, over a copy that a test stores readings in: no register, no surfaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.building import build_accounts
from registerwatch.db.engine import Database
from registerwatch.register.copy import StoredCopy
from registerwatch.sandbox.mail import KeptMail
from registerwatch.settings import Settings
from registerwatch.watches.observing import Observing
from registerwatch.webhooks.outbox import WebhookOutbox
from tests.parts.clocks import SteppedClock
from tests.parts.passwords import quick_passwords
from tests.watches.room import Room


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[Room]:
    clock = SteppedClock(1_800_000_000)
    accounts = build_accounts(Settings(data_dir=tmp_path), database, clock, KeptMail(), quick_passwords())
    outbox = WebhookOutbox(database, clock)
    yield Room(database, clock, accounts, outbox, StoredCopy(database, Observing(outbox)))
    accounts.passwords.close()
