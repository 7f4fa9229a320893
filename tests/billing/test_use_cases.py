"""What is built from which settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from registerwatch.billing.stripe_provider import StripeProvider
from registerwatch.billing.use_cases import build_billing
from registerwatch.errors import PaymentsUnavailable
from registerwatch.mail.mailer import NoMailer
from registerwatch.platform.clock import SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.billing.plain_provider import SETTINGS


@pytest.fixture
def database_kind() -> str:
    """Nothing here depends on the database."""
    return "sqlite"


async def test_with_a_key_and_prices_the_provider_is_stripe(database: Database, tmp_path: Path) -> None:
    billing = build_billing(Settings(data_dir=tmp_path, **SETTINGS), database, SystemClock(), NoMailer())

    assert billing.payments is not None
    assert isinstance(billing.payments.provider, StripeProvider)
    await billing.close()


async def test_without_them_there_is_none_and_the_message_says_what_is_missing(
    database: Database, tmp_path: Path
) -> None:
    billing = build_billing(Settings(data_dir=tmp_path), database, SystemClock(), NoMailer())

    for use_case in ("checkouts", "event_receiver"):
        with pytest.raises(PaymentsUnavailable, match="REGISTERWATCH_PAYMENT_API_KEY"):
            getattr(billing, use_case)
    assert await billing.shown(1) is None
    await billing.close()


def test_a_service_that_takes_no_payments_does_not_load_the_providers_library() -> None:
    asked = "import sys, registerwatch.app; raise SystemExit('stripe' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", asked], timeout=60, check=False).returncode == 0
