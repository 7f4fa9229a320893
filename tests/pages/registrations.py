"""Made-up registrations as lines of a file of records."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

MAKER = {"srn": "DE-MF-000000901", "name": "Muster GmbH"}


def registration(primary_di: str, trade_name: str | None = None, **differences: Any) -> dict[str, Any]:
    """A registration of this UDI-DI, but for these differences. `trade_name` is English."""
    return {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, primary_di)),
        "primary_di": primary_di,
        "basic_udi": "4012345TESTQ7",
        "device_name": None,
        "trade_names": {"en": trade_name} if trade_name else None,
        "reference": None,
        "model": None,
        "risk_class": "refdata.risk-class.class-iib",
        "legislation": "refdata.applicable-legislation.mdr",
        "status": "refdata.device-model-status.on-the-market",
        "emdn": ["P091203"],
        "manufacturer": MAKER,
        "authorised_representative": None,
        "certificates": [],
        "version_date": "2025-01-02T10:11:12.131",
        **differences,
    }


def certificate(number: str, expiry: str | None, **differences: Any) -> dict[str, Any]:
    """A certificate of a registration, but for these differences."""
    return {
        "number": number,
        "revision": None,
        "expiry": expiry,
        "starting_validity": "2021-01-02",
        "notified_body": "0123",
        "notified_body_name": "Prüfstelle",
        "type": "MDR_QUALITY_MANAGEMENT_SYSTEM",
        **differences,
    }


def gtin(number: int) -> str:
    """The `number`-th made-up UDI-DI."""
    digits = f"0401234{number:06d}"
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def in_days(days: int) -> str:
    """The date so many days from today."""
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()
