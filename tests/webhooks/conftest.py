"""The webhooks of accounts over a database, a clock that tests move, and receivers without sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.building import build_accounts
from registerwatch.db.engine import Database
from registerwatch.net.posting import Poster
from registerwatch.sandbox.mail import KeptMail
from registerwatch.settings import Settings
from registerwatch.webhooks.building import build_webhooks
from tests.parts.clocks import SteppedClock
from tests.parts.passwords import quick_passwords
from tests.webhooks.post_room import PostRoom, Receivers


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[PostRoom]:
    clock, receivers = SteppedClock(1_800_000_000), Receivers()
    settings = Settings(data_dir=tmp_path, contact="service@acme.example")
    accounts = build_accounts(settings, database, clock, KeptMail(), quick_passwords())
    poster = Poster(receivers, allow_private=False, seconds=5.0)
    webhooks = build_webhooks(settings, database, clock, poster)
    yield PostRoom(database, clock, accounts, settings, poster, receivers, webhooks.configuring, webhooks.deliverer)
    accounts.passwords.close()
