"""Steps of tests about certificates whose scopes name watched devices."""

from collections import Counter
from typing import Any

from registerwatch_standins.register.records import CertificateListing, Registration
from tests.register.builders import a_registered_certificate
from tests.support.harness import ServiceHarness

HOUR = 3600
NUMBER = "Z-25-001"
RECORD, SEARCH = "basic-udi-record", "certificate-search"
"""Places in which the stand-in register lists certificates of devices."""


async def sweep(harness: ServiceHarness) -> None:
    """Read the list of all certificates, an hour later."""
    harness.clock.move(HOUR)
    assert await harness.service.certificate_sweep.run_where_due() is not None


async def read_all_scopes(harness: ServiceHarness) -> None:
    """Read the scopes that are due."""
    while await harness.service.certificate_sweep.read_due_scopes():
        pass


def a_device(harness: ServiceHarness) -> Registration:
    """A device that is alone under its UDI-DI, has a Basic UDI-DI, and no certificate."""
    return next(each for each in harness.unique_devices(60) if each.basic_udi and not each.certificates)


def two_devices_of_one_manufacturer(harness: ServiceHarness) -> list[Registration]:
    """Two devices that share nothing else."""
    devices = harness.separate_devices(120)
    [(srn, _)] = Counter(each.manufacturer.srn for each in devices).most_common(1)
    return [each for each in devices if each.manufacturer.srn == srn][:2]


def certify(harness: ServiceHarness, device: Registration, place: str = RECORD, **differs: Any) -> None:
    """Let the register list a certificate, and no other one, for a device."""
    fields = {"expiry": "2030-09-16", **differs}
    harness.world.change(device.uuid, certificates=(a_registered_certificate(NUMBER, place, **fields),))


def list_certificate(harness: ServiceHarness, device: Registration, number: str, **differs: Any) -> CertificateListing:
    """A new certificate whose scope names a device."""
    wanted: dict[str, Any] = {"basic_udis": (device.basic_udi or "",), "names_devices": True, **differs}
    return harness.world.list_certificate(device.manufacturer.srn, number=number, **wanted)


async def read(harness: ServiceHarness, udi: str) -> None:
    """Read a device, two minutes later."""
    harness.clock.move(120)
    await harness.service.refresher.refresh(udi)
