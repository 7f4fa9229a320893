"""The use cases of accounts over a database, with a clock that stands still and mails that are kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.support.fakes import SteppedClock, quick_passwords


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def mail() -> MemoryMailer:
    return MemoryMailer()


@pytest.fixture
async def accounts(
    database: Database, clock: SteppedClock, mail: MemoryMailer, tmp_path: Path
) -> AsyncIterator[Accounts]:
    built = build_accounts(Settings(data_dir=tmp_path), database, clock, mail, quick_passwords())
    yield built
    await built.close()
