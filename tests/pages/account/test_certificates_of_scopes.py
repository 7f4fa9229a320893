"""A certificate that a scope names for a device whose own certificates were not read, or not all scopes."""

from collections.abc import AsyncIterator

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.generated import GeneratedWorld
from tests.pages.account.pages_client import PagesClient
from tests.pages.account.test_watch import watch_of
from tests.pages.markup import Markup
from tests.rest.test_completeness import a_certificate
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.watches.certificate_steps import HOUR, a_device, list_certificate, read, read_all_scopes, sweep


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A register whose certificate search finds what covers a Basic UDI-DI."""
    async with start_service(world=GeneratedWorld(120, seed=7)) as harness:
        yield harness


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
    certificate = list_certificate(harness, device, "Z-NEW")
    await sweep(harness)
    await read_all_scopes(harness)
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
    await read(harness, udi)
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
        certificate = list_certificate(harness, device, "Z-NEW")
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


async def entries(harness: ServiceHarness, udi: str) -> list[tuple[list[str], list[str]]]:
    """The changed fields of a history with certificates, the last ones first, and what was read for the first time."""
    found = (await harness.get(f"/v1/devices/{udi}/history")).json()["entries"]
    shown = [([each["field"] for each in entry["changes"]], entry["first_read"]) for entry in found]
    return [each for each in shown if "certs" in [*each[0], *each[1]]]


async def history_pages(harness: ServiceHarness, udi: str) -> list[str]:
    addresses = f"/d/{udi}", f"/d/{udi}/history"
    return [Markup.of(await harness.client.get(each)).main.replace("became ", "") for each in addresses]


async def test_the_history_has_a_withdrawal_that_came_before_all_certificates_could_be_read(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=GeneratedWorld(120, seed=7), basic_udi_filter_works=False) as harness:
        device = a_device(harness)
        udi = device.primary_di
        certificate = list_certificate(harness, device, "Z-NEW")
        await sweep(harness)
        await read_all_scopes(harness)
        assert (await harness.get(f"/v1/devices/{udi}")).json()["missing"] == ["certificates"]
        assert await entries(harness, udi) == []

        list_certificate(harness, device, "Z-MORE")
        await sweep(harness)
        assert await entries(harness, udi) == [([], ["certs"])], "it is not known since when the register has it"
        for page in await history_pages(harness, udi):
            assert "Since then more was read (certificates), and what had been read before stayed as it was." in page
            assert "No change was observed" not in page

        harness.world.change_certificate(certificate.uuid, status="withdrawn")
        await sweep(harness)
        assert (await entries(harness, udi))[0] == (["certs"], [])
        for page in await history_pages(harness, udi):
            assert "Status of certificate Z-NEW: Issued → Withdrawn" in page


async def test_the_history_has_a_withdrawal_in_the_record_while_the_search_fails(harness: ServiceHarness) -> None:
    device = a_device(harness)
    udi, own = device.primary_di, a_certificate("R-1", "basic-udi-record")
    harness.world.change(device.uuid, certificates=(own,))
    list_certificate(harness, device, "Z-NEW")
    await sweep(harness)
    harness.faults.fail("certificates", "http-500")
    await harness.service.refresher.refresh(udi)
    await harness.finish_background_work()
    before = await entries(harness, udi)

    now = harness.world.by_uuid(device.uuid)
    assert now is not None
    found_by_search = [each for each in now.certificates if each.number != "R-1"]
    harness.world.change(device.uuid, certificates=(replace(own, status="withdrawn"), *found_by_search))
    harness.clock.move(HOUR)
    await harness.service.refresher.refresh(udi)
    assert await entries(harness, udi) == [(["certs"], []), *before]
    for page in await history_pages(harness, udi):
        assert "Status of certificate R-1: Issued → Withdrawn" in page

    harness.faults.clear()
    harness.clock.move(HOUR)
    await harness.service.refresher.refresh(udi)
    assert (await harness.get(f"/v1/devices/{udi}")).json()["missing"] == []
    assert (await entries(harness, udi))[0] == ([], ["certs"]), "both were known"
    await harness.finish_background_work()
