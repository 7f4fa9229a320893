"""Basic UDI-DI records: which of them are a device's own, and what they say beside its row."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registerwatch.register.models import Contradiction, Device, merge
from registerwatch.register.outcomes import Found, ReadFailed
from registerwatch.sources.eudamed.client import EudamedClient
from tests.register.builders import a_row
from tests.register.canned import CannedRegister, a_page, ok
from tests.sources.conftest import Sender
from tests.support.fakes import SteppedClock

UDI, SRN, KEY = "04000000000006", "DE-MF-000000000", "01EXAMPLE0BASIC"
ROW = {
    "uuid": "u-1",
    "primaryDi": UDI,
    "versionNumber": 1,
    "manufacturerSrn": SRN,
    "riskClass": {"code": "refdata.risk-class.class-iia"},
}
RECORD = {
    "basicUdi": {"code": f"B-{UDI}"},
    "legislation": {"code": "refdata.applicable-legislation.mdd"},
    "riskClass": {"code": "refdata.risk-class.class-iib"},
    "manufacturer": {"srn": SRN, "name": "Example GmbH"},
}


def a_register(row: dict[str, Any], record: Any) -> CannedRegister:
    """A register with one device, and this Basic UDI-DI record behind it."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        path, query = request.url.path, request.url.params
        if "/basicUdiData/" in path:
            return ok(record)
        if path.endswith("/devices/udiDiData"):
            return ok(a_page(row) if query["primaryDi"] == row["primaryDi"] else a_page())
        return ok({"uuid": row["uuid"], "versionNumber": 1}) if "/udiDiData/" in path else ok(a_page())

    return CannedRegister(answer)


async def read(sender: Sender, clock: SteppedClock, row: dict[str, Any], record: Any) -> Device | ReadFailed:
    """The device that a client makes of this row and record."""
    client = EudamedClient(sender(a_register(row, record)), "http://register.test/eudamed", clock)
    result = await client.read_device(row["primaryDi"])
    if isinstance(result, ReadFailed):
        return result
    assert isinstance(result, Found)
    return result.value[0].device


@pytest.mark.parametrize("of_row", [None, "++OTHERBASIC"])
async def test_a_legacy_device_whose_row_has_no_or_another_basic_udi_di_is_read_and_says_so(
    sender: Sender, clock: SteppedClock, of_row: str | None
) -> None:
    device = await read(sender, clock, {**ROW, "basicUdi": of_row}, RECORD)

    assert isinstance(device, Device), device
    risk = Contradiction("risk_class", "Class IIa", "Class IIb")
    basic_udi = [] if of_row is None else [Contradiction("basic_udi", of_row, f"B-{UDI}")]
    assert (device.basic_udi, device.risk_class, device.legislation) == (f"B-{UDI}", "Class IIa", "MDD")
    assert device.contradictions == (*basic_udi, risk)


async def test_the_described_record_of_a_legacy_device_is_accepted(
    sender: Sender, clock: SteppedClock, captures: Path
) -> None:
    record = json.loads((captures / "described_basic_udi_record_legacy.json").read_bytes())

    device = await read(sender, clock, {**ROW, "basicUdi": "++OTHERBASIC", "basicUdiDiDataUlid": KEY}, record)

    assert isinstance(device, Device), device
    assert (device.basic_udi, [each.number for each in device.certs]) == (f"B-{UDI}", ["2195-MED-1306401"])


async def test_the_key_of_the_record_shows_that_it_is_the_devices_own(sender: Sender, clock: SteppedClock) -> None:
    row = {**ROW, "basicUdi": "++ONE", "basicUdiDiDataUlid": KEY}

    device = await read(sender, clock, row, {**RECORD, "ulid": KEY, "basicUdi": {"code": "++OTHER"}})

    assert isinstance(device, Device), device
    assert device.basic_udi == "++OTHER"


@pytest.mark.parametrize(
    "differs",
    [
        {"ulid": "01EXAMPLE0OTHER"},
        {"manufacturer": {"srn": "FR-MF-000000001"}},
        {"basicUdi": {"code": "++OTHER"}},
        {"basicUdi": {"code": "B-04000000000013"}},
    ],
    ids=["key", "manufacturer", "Basic UDI-DI without a key", "EUDAMED DI of another device"],
)
async def test_the_record_of_another_device_is_refused(
    sender: Sender, clock: SteppedClock, differs: dict[str, Any]
) -> None:
    row = {**ROW, "basicUdi": "++ONE", "basicUdiDiDataUlid": KEY}

    assert isinstance(await read(sender, clock, row, {**RECORD, **differs}), ReadFailed)


def test_a_row_that_contradicts_the_record_as_before_changes_nothing() -> None:
    told = (Contradiction("basic_udi", "++ROW", "B-1"),)
    stored = Device(uuid="u-1", udi=UDI, basic_udi="B-1", contradictions=told)

    same, other = (merge(stored, a_row(udi=UDI, basic_udi=each)) for each in ("++ROW", "++NEW"))

    assert same == stored
    assert other is not None
    assert other.basic_udi == "++NEW"
