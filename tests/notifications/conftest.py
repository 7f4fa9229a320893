"""The webhooks of accounts over a database, a clock that tests move, and receivers without sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.wiring import build_accounts
from registerwatch.db.engine import Database
from registerwatch.mail.memory_mailer import KeptMail
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.wiring import build_notifications
from registerwatch.settings import Settings
from tests.notifications.post_room import PostRoom, Receivers
from tests.support.clocks import SteppedClock
from tests.support.passwords import quick_passwords


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[PostRoom]:
    clock, receivers = SteppedClock(1_800_000_000), Receivers()
    settings = Settings(data_dir=tmp_path, contact="service@acme.example")
    accounts = build_accounts(settings, database, clock, KeptMail(), quick_passwords())
    http_client = SafeHttpClient(receivers, allow_private=False, seconds=5.0)
    notifications = build_notifications(settings, database, clock, http_client)
    yield PostRoom(
        database, clock, accounts, settings, http_client, receivers, notifications.webhooks, notifications.deliveries
    )
    accounts.passwords.close()
