"""The pages of a device and of its watch say where a newer read of another device has a certificate otherwise."""

from datetime import UTC, datetime

import pytest

from registerwatch_standins.register.records import Registration
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.certificate_rows import a_certificate, note_walk, scopes, store_certificates
from tests.support.harness import ServiceHarness
from tests.watches.certificate_steps import (
    HOUR,
    NUMBER,
    a_device,
    certify,
    read,
    sweep,
    two_devices_of_one_manufacturer,
)

DIFFERS = "! A newer read of another device differs"


def moment(at: float) -> str:
    """An instant in the words of pages."""
    return f"{datetime.fromtimestamp(at, UTC):%-d %b %Y, %H:%M} UTC"


def in_own_section(page: Markup) -> str:
    """How the certificate stands in the section of the device's own certificates."""
    [row] = [row for row in page.rows if row[0].startswith(NUMBER) and len(row) == 5]
    return row[1]


async def page_of(harness: ServiceHarness, device: Registration) -> Markup:
    """The public page of a device."""
    return Markup.of(await harness.client.get(f"/d/{device.primary_di}"))


async def a_device_and_another_read_later(harness: ServiceHarness) -> tuple[Registration, Registration]:
    """Two devices of one manufacturer, of which the one that was read last has the certificate withdrawn."""
    one, other = two_devices_of_one_manufacturer(harness)
    certify(harness, one)
    certify(harness, other, status="withdrawn", expiry="2029-01-01")
    await read(harness, one.primary_di)
    await read(harness, other.primary_di)
    return one, other


async def test_the_page_of_a_device_says_both_with_their_times_until_it_is_read_again(harness: ServiceHarness) -> None:
    one, other = await a_device_and_another_read_later(harness)

    page, of_other = await page_of(harness, one), await page_of(harness, other)

    assert in_own_section(page) == (
        "✓ Valid register: issued Counts as valid"
        f" A newer read of the device {other.primary_di} says: withdrawn, end 1 Jan 2029, as of {moment(harness.now)}."
        f" The last read of this device says: valid, end 16 Sep 2030, as of {moment(harness.now - 120)}."
    )
    assert page.facts["Certificates"].endswith(DIFFERS)
    assert accessibility_problems(page) == []
    assert in_own_section(of_other) == "✕ Withdrawn Not counted as valid"
    assert DIFFERS not in of_other.main
    await read(harness, one.primary_di)
    page = await page_of(harness, one)
    assert in_own_section(page) == "✓ Valid register: issued Counts as valid", "its own read is the newest again"
    assert DIFFERS not in page.main


async def test_a_status_in_other_words_that_counts_alike_is_said_with_the_words_of_both_reads(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    certify(harness, one)
    certify(harness, other, status="amended")
    address = await watch_page(owner_pages, one)
    read_at = harness.now
    await read(harness, other.primary_di)

    page, of_watch = await page_of(harness, one), await owner_pages.page(address)

    both = (
        "✓ Valid register: issued Counts as valid"
        f" A newer read of the device {other.primary_di} says: valid (register: amended), as of {moment(harness.now)}."
        f" The last read of this device says: valid (register: issued), as of {moment(read_at)}."
    )
    assert in_own_section(page) == both
    assert in_own_section(of_watch) == both.replace(" UTC", "")
    assert page.facts["Certificates"].endswith(DIFFERS)
    assert DIFFERS in of_watch.main
    await harness.finish_background_work()


async def test_a_list_that_was_read_later_still_leaves_no_doubt(harness: ServiceHarness) -> None:
    one, _ = await a_device_and_another_read_later(harness)
    srn = one.manufacturer.srn
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1, srn=srn, seen_at=harness.now - HOUR))
    assert DIFFERS in (await page_of(harness, one)).main

    async with harness.database.transaction() as connection:
        await connection.exec_driver_sql(f"UPDATE certificates SET seen_at = {int(harness.now) + 60}")

    assert DIFFERS not in (await page_of(harness, one)).main


async def watch_page(pages: PagesClient, device: Registration) -> str:
    """The address of the page of a new watch."""
    response = await pages.post("/app/watches/add", subject=device.primary_di)
    return str(response.headers["location"]).partition("?")[0]


async def test_a_list_that_has_it_as_the_other_device_keeps_the_doubt_and_is_said_in_the_same_note(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    certify(harness, one)
    certify(harness, other, status="withdrawn")
    listed = harness.world.list_certificate(one.manufacturer.srn, number=NUMBER, expiry="2030-09-16", basic_udis=())
    await sweep(harness)
    address, read_at = await watch_page(owner_pages, one), harness.now
    await read(harness, other.primary_di)
    of_other = f"A newer read of the device {other.primary_di} says: withdrawn, as of {moment(harness.now)}."
    harness.world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)

    page, of_watch = await page_of(harness, one), await owner_pages.page(address)

    own = f"The last read of this device says: valid, as of {moment(read_at)}."
    in_list = f"The register’s list says: withdrawn, as of {moment(harness.now)}."
    stands = "✓ Valid register: issued Counts as valid"
    assert page.facts["Certificates"].endswith(DIFFERS)
    assert in_own_section(page) == f"{stands} {of_other} {own}", "the section of the list has the rest"
    assert f"An older read of this device says: valid, as of {moment(read_at)}. {in_list}" in page.main
    assert of_watch.main.count(DIFFERS) == 2
    assert in_own_section(of_watch) == f"{stands} {of_other} {in_list} {own}".replace(" UTC", "")
    await harness.finish_background_work()


@pytest.mark.parametrize(
    ("differs", "of_list", "of_own"),
    [
        ({"status": "withdrawn"}, "withdrawn", "valid"),
        ({"expiry": "2031-01-01"}, "valid, end 1 Jan 2031", "valid, end 16 Sep 2030"),
    ],
)
async def test_the_page_of_a_watch_says_where_the_list_read_later_has_it_otherwise_until_the_device_is_read(
    harness: ServiceHarness, owner_pages: PagesClient, differs: dict[str, str], of_list: str, of_own: str
) -> None:
    device = a_device(harness)
    certify(harness, device)
    listed = harness.world.list_certificate(device.manufacturer.srn, number=NUMBER, expiry="2030-09-16", basic_udis=())
    await sweep(harness)
    address, read_at = await watch_page(owner_pages, device), harness.now
    await sweep(harness)
    stands = "✓ Valid register: issued Counts as valid"
    assert in_own_section(await owner_pages.page(address)) == stands, "they agree"
    harness.world.change_certificate(listed.uuid, **differs)
    await sweep(harness)

    page = await owner_pages.page(address)

    in_list = f"The register’s list says: {of_list}, as of {moment(harness.now)}."
    own = f"The last read of this device says: {of_own}, as of {moment(read_at)}."
    assert in_own_section(page) == f"{stands} {in_list} {own}".replace(" UTC", "")
    assert DIFFERS not in page.main, "that is of other devices"
    assert accessibility_problems(page) == []
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    assert in_own_section(page) == stands, "its own read is the newest again"
    await harness.finish_background_work()


async def test_a_certificate_that_its_scope_alone_names_for_a_device_can_be_in_doubt_too(
    harness: ServiceHarness,
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    harness.world.change(one.uuid, certificates=())
    listed_at = int(harness.now) - HOUR
    named = {**scopes(one.basic_udi or ""), "scopes_read_at": listed_at, "seen_at": listed_at}
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1, srn=one.manufacturer.srn, **named))
    await read(harness, one.primary_di)
    certify(harness, other, status="withdrawn")
    await read(harness, other.primary_di)

    page = await page_of(harness, one)

    assert f"The register’s list says: valid, as of {moment(listed_at)}" in in_own_section(page)
    assert DIFFERS in page.facts["Certificates"]


async def test_the_page_of_a_watch_says_so_until_the_device_is_read_for_it(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    certify(harness, one)
    certify(harness, other, status="withdrawn")
    response = await owner_pages.post("/app/watches/add", subject=one.primary_di)
    address = str(response.headers["location"]).partition("?")[0]
    await read(harness, other.primary_di)

    page = await owner_pages.page(address)

    assert f"A newer read of the device {other.primary_di} says: withdrawn, as of" in in_own_section(page)
    assert DIFFERS in page.facts["Certificates"]
    assert page.main.count(DIFFERS) == 2, "among the badges of the watch, too"
    assert accessibility_problems(page) == []
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    assert in_own_section(page) == "✓ Valid register: issued Counts as valid"
    assert DIFFERS not in page.main
    assert DIFFERS in (await page_of(harness, one)).main, "strangers are not told that it was read for a watch"
    await harness.finish_background_work()
