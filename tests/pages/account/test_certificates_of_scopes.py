"""A certificate that a scope names for a watched device whose own certificates were not read, or not all scopes."""

from collections.abc import AsyncIterator

import pytest

from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import CertificateListing, Registration
from tests.pages.account.pages_client import PagesClient
from tests.pages.account.test_watch import watch_of
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter

HOUR = 3600


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A register whose certificate search finds what covers a Basic UDI-DI."""
    async with start_service(world=GeneratedWorld(120, seed=7)) as harness:
        yield harness


def a_device(harness: ServiceHarness) -> Registration:
    """A device that is alone under its UDI-DI, has a Basic UDI-DI, and no certificate."""
    return next(each for each in harness.unique_devices(60) if each.basic_udi and not each.certificates)


def listed(harness: ServiceHarness, device: Registration, number: str) -> CertificateListing:
    """A new certificate whose scope names a device."""
    codes = (device.basic_udi or "",)
    return harness.world.list_certificate(device.manufacturer.srn, number=number, basic_udis=codes, names_devices=True)


async def sweep(harness: ServiceHarness) -> None:
    harness.clock.move(HOUR)
    assert await harness.service.certificate_sweep.run_where_due() is not None


async def told(harness: ServiceHarness, pages: PagesClient, address: str, udi: str) -> dict[str, bool]:
    """Which surfaces name the certificate of the only watched device as withdrawn."""
    key = (await harness.post("/v1/keys", await pages.rest_session(), label="tests")).json()["api_key"]
    [program] = await harness.get_list(key, "watches")
    texts = {
        "list": (await pages.page("/app/watches")).rows[0][4],
        "watch": (await pages.page(address)).main,
        "file": (await pages.get("/app/watches.csv")).text,
        "device": Markup.of(await harness.client.get(f"/d/{udi}")).main,
        "certificates": (await pages.page("/app/certificates")).main,
        "program": program["certificate_standing"],
    }
    assert "Z-NEW" in program["certificate"]
    return {surface: "withdrawn" in text.casefold() for surface, text in texts.items()}


async def events(harness: ServiceHarness, pages: PagesClient) -> list[tuple[str, str, str]]:
    """The changes that the account was told."""
    found = await harness.events(await pages.caller())
    return [(change.field, change.old, change.new) for event in found for change in event.changes]


async def test_what_is_known_beside_a_failed_first_read_is_told_alike_and_its_withdrawal_is_an_event(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    device = a_device(harness)
    udi = device.primary_di
    certificate = listed(harness, device, "Z-NEW")
    await sweep(harness)
    while await harness.service.certificate_sweep.read_due_scopes():
        pass
    harness.faults.fail("certificates", "http-500")
    address = await watch_of(owner_pages, udi)
    await harness.finish_background_work()
    assert set((await told(harness, owner_pages, address, udi)).values()) == {False}
    assert "Certificates not all read" in (await owner_pages.page("/app/watches")).rows[0][4]

    harness.faults.clear()
    harness.world.change_certificate(certificate.uuid, status="withdrawn")
    await sweep(harness)

    assert set((await told(harness, owner_pages, address, udi)).values()) == {True}
    withdrawn = [("cert_status", "Issued", "Withdrawn")]
    assert await events(harness, owner_pages) == withdrawn
    harness.clock.move(120)
    await harness.service.refresher.refresh(udi)
    assert await events(harness, owner_pages) == withdrawn, "the first whole read has nothing new"
    await harness.finish_background_work()


async def test_what_one_scope_names_before_all_were_read_is_told_alike_and_its_withdrawal_is_an_event(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=GeneratedWorld(120, seed=7), basic_udi_filter_works=False) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        device = a_device(harness)
        udi = device.primary_di
        harness.world.list_certificate(device.manufacturer.srn, number="Z-OTHER", basic_udis=(), names_devices=True)
        await sweep(harness)
        certificate = listed(harness, device, "Z-NEW")
        harness.faults.fail("certificate", "http-500", skip=1)
        await sweep(harness)
        address = await watch_of(pages, udi)
        await harness.finish_background_work()
        assert set((await told(harness, pages, address, udi)).values()) == {False}

        harness.world.change_certificate(certificate.uuid, status="withdrawn")
        await sweep(harness)

        assert set((await told(harness, pages, address, udi)).values()) == {True}
        assert await events(harness, pages) == [("cert_status", "Issued", "Withdrawn")]
        await pages.client.aclose()
