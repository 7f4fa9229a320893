"""The register ceases to heed the filter of its certificate search: what it found before is in doubt, which is said."""

from datetime import timedelta
from typing import Any

import pytest

from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.sources.eudamed.guards import PROBE_SECONDS, PROBE_VALUE, REPROBE_SECONDS
from registerwatch.watches.models import NO_SEARCH
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_registered_certificate
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness, auth_headers
from tests.watches.certificate_steps import a_device, list_certificate, read_all_scopes

DAY = 24 * 3600


async def watching_a_certified_device(harness: ServiceHarness) -> tuple[NewAccount, str]:
    """An account that watches a device, one of whose certificates the certificate search alone lists; its UDI-DI."""
    record = next(each for each in harness.unique_devices(120) if each.basic_udi)
    of_record = a_registered_certificate("D-1", "basic-udi-record", type="MDR_QUALITY_MANAGEMENT_SYSTEM")
    of_search = a_registered_certificate("Z-2", "certificate-search", type="MDR_QUALITY_MANAGEMENT_SYSTEM")
    harness.world.change(record.uuid, certificates=(of_record, of_search))
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    return owner, record.primary_di


async def said(harness: ServiceHarness, owner: NewAccount) -> tuple[str, list[str]]:
    """What the watch says went wrong, and the devices whose certificates are in doubt."""
    [watch] = await harness.get_list(owner.api_key, "watches")
    expiring: dict[str, Any] = (await harness.client.get("/v1/expiring", headers=auth_headers(owner.api_key))).json()
    return watch["last_error"], expiring.get("unsure", [])


async def test_a_filter_that_the_control_probe_refutes_is_said_until_it_filters_again(harness: ServiceHarness) -> None:
    owner, udi = await watching_a_certified_device(harness)
    assert await said(harness, owner) == ("", [])

    harness.clock.move(PROBE_SECONDS + 1)
    harness.faults.fail("certificates", "ignored-filter", contains=PROBE_VALUE)
    for _ in range(2):
        await harness.post_sync(owner.api_key)
        assert await said(harness, owner) == (NO_SEARCH, [udi])
        harness.clock.move(60)

    harness.faults.clear()
    harness.clock.move(REPROBE_SECONDS)
    await harness.post_sync(owner.api_key)
    assert await said(harness, owner) == ("", [])
    assert await harness.get_list(owner.api_key, "events") == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("is_list_read", [True, False])
async def test_what_a_search_found_is_not_gone_for_every_surface_however_long_nobody_can_search(
    harness: ServiceHarness, is_list_read: bool
) -> None:
    device, number = a_device(harness), "Z-2"
    ends = (day_of(harness.now) + timedelta(60)).isoformat()
    list_certificate(harness, device, number, expiry=ends, names_devices=False)
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 1000 * DAY)
    await harness.post_watches(owner.api_key, device.primary_di)
    since = iso_utc(harness.now + DAY)

    harness.faults.fail("certificates", "ignored-filter", contains=PROBE_VALUE)
    for _ in range(54):
        harness.clock.move(DAY)
        if is_list_read:
            await harness.service.certificate_sweep.run_where_due()
            await read_all_scopes(harness)
        await harness.service.refresher.refresh(device.primary_di)
        await harness.service.watches.expiry.run()

    assert await said(harness, owner) == (NO_SEARCH, [device.primary_di])
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["certificate"], watch.get("certificate_listed", True)) == (number, True)
    assert (watch["certificate_standing"], watch["health"]["state"]) == ("Ends within 90 days", "partial")
    [expiring] = await harness.get_list(owner.api_key, "items")
    assert (expiring["certificate"], expiring.get("listed", True), expiring["confirmed"]) == (number, True, False)
    assert (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()["entries"] == []
    events = await harness.get_list(owner.api_key, "events")
    assert [each["changes"][0]["new"] for each in events] == ["in 7 days", "in 30 days"]
    stored = (await harness.get(f"/v1/devices/{device.primary_di}")).json()["certs"]
    assert [(each["number"], each["unconfirmed_since"]) for each in stored] == [(number, since)]
    pages = PagesClient(harness)
    await pages.sign_in(EMAIL, PASSWORD)
    for path in (f"/app/watches/{watch['id']}", "/app/certificates", f"/d/{device.primary_di}", "/app"):
        page = (await pages.get(path)).text
        assert "no longer listed" not in page.lower(), path
        assert number in page, path


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_watch_whose_certificates_could_not_be_searched_for_three_days_is_read_in_part(
    harness: ServiceHarness,
) -> None:
    owner, _ = await watching_a_certified_device(harness)
    harness.faults.fail("certificates", "ignored-filter", contains=PROBE_VALUE)
    for _ in range(2):
        harness.clock.move(3 * PROBE_SECONDS + 1)
        await harness.post_sync(owner.api_key)

    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["last_error"], watch["health"]["state"]) == (NO_SEARCH, "partial")
