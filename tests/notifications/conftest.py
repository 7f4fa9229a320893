"""The webhooks of accounts over a database, a clock that tests move, and receivers without sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.wiring import build_accounts
from registerwatch.db.engine import Database
from registerwatch.mail.memory_mailer import KeptMail
from registerwatch.net.safe_http import Poster
from registerwatch.notifications.wiring import build_webhooks
from registerwatch.settings import Settings
from tests.notifications.post_room import PostRoom, Receivers
from tests.support.clocks import SteppedClock
from tests.support.passwords import quick_passwords


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[PostRoom]:
    clock, receivers = SteppedClock(1_800_000_000), Receivers()
    settings = Settings(data_dir=tmp_path, contact="service@acme.example")
    accounts = build_accounts(settings, database, clock, KeptMail(), quick_passwords())
    poster = Poster(receivers, allow_private=False, seconds=5.0)
    webhooks = build_webhooks(settings, database, clock, poster)
    yield PostRoom(database, clock, accounts, settings, poster, receivers, webhooks.configuring, webhooks.deliverer)
    accounts.passwords.close()
