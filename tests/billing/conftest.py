"""A room in which accounts pay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.db.engine import Database
from tests.billing.room import Room, open_room


@pytest.fixture
def room(database: Database, tmp_path: Path) -> Iterator[Room]:
    opened = open_room(database, tmp_path)
    yield opened
    opened.accounts.passwords.close()
