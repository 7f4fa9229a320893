"""A certificate of a record that no longer answers for its UDI-DI, and that the register lists as before."""

from datetime import timedelta
from typing import Any

import pytest

from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.standing import EARLIER_UNLISTED, OF_OTHER_RECORD
from registerwatch_standins.register.records import Registration
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_registered_certificate
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness
from tests.watches.certificate_steps import RECORD, a_device, certify, read_all_scopes, sweep
from tests.watches.steps import tried_at

DAY, NUMBER, UDI = 24 * 3600, "M-1", "07000000000003"


def legacy_record(harness: ServiceHarness) -> Registration:
    """A device under the MDD, whose record alone names a certificate that ends in 60 days."""
    like = next(each for each in harness.unique_devices(60) if each.legislation == "mdr")
    ends = (day_of(harness.now) + timedelta(60)).isoformat()
    certificate = a_registered_certificate(NUMBER, RECORD, expiry=ends, type="MDD_ANNEX_II_EXCLUDING_SECTION_4")
    uuid = "00000000-0000-4000-8000-000000000099"
    of_device = replace(like, uuid=uuid, primary_di=UDI, basic_udi=None)
    return harness.world.register(replace(of_device, legislation="mdd", certificates=(certificate,)))


def second_record(harness: ServiceHarness, legacy: Registration, **differs: Any) -> Registration:
    """A record under the MDR beside it, which answers from then on."""
    uuid = "00000000-0000-4000-8000-000000000100"
    fields = {"uuid": uuid, "legislation": "mdr", "basic_udi": "070000000NEW01XX", "certificates": (), **differs}
    return harness.world.register(replace(legacy, **fields))


async def watching(harness: ServiceHarness) -> tuple[NewAccount, Registration, str]:
    """An account that watches the device; its record; when that was read."""
    legacy = legacy_record(harness)
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 1000 * DAY)
    read_at = iso_utc(harness.now)
    await harness.post_watches(owner.api_key, UDI)
    await sweep(harness)
    await read_all_scopes(harness)
    return owner, legacy, read_at


async def read(harness: ServiceHarness) -> None:
    """Read the device, an hour later."""
    harness.clock.move(3600)
    await harness.service.refresher.refresh(UDI)
    await harness.update_index()


async def listing(harness: ServiceHarness, owner: NewAccount) -> dict[str, Any]:
    """The certificate and whether it is said to be listed, and of another record: of each surface for programs."""
    [watch] = await harness.get_list(owner.api_key, "watches")
    [expiring] = await harness.get_list(owner.api_key, "items")
    named = (await harness.get("/v1/certificates", number=NUMBER)).json()["named_by_devices"]
    assert [watch["certificate"], expiring["certificate"], *(each["number"] for each in named)] == [NUMBER] * 3
    return {
        "watch": (watch.get("certificate_listed", True), watch.get("certificate_other_record_as_of")),
        "expiring": (expiring.get("listed", True), expiring.get("other_record_as_of")),
        "number": ("dropped_at" not in named[0], named[0].get("other_record_as_of")),
    }


async def pages_of(harness: ServiceHarness, owner: NewAccount) -> dict[str, str]:
    """Every page that shows the certificate or its device."""
    pages = PagesClient(harness)
    await pages.sign_in(EMAIL, PASSWORD)
    [watch] = await harness.get_list(owner.api_key, "watches")
    own = (f"/app/watches/{watch['id']}", "/app/certificates", "/app/certificates?view=devices", "/app", f"/d/{UDI}")
    return {path: (await pages.get(path)).text for path in (*own, f"/?q={NUMBER}")}


async def files_of(harness: ServiceHarness) -> list[bool]:
    """Whether the files of watches and of certificates say of which record it is."""
    pages = PagesClient(harness)
    await pages.sign_in(EMAIL, PASSWORD)
    paths = ("/app/watches.csv", "/app/certificates.csv")
    return ["of another record of this UDI-DI" in (await pages.get(path)).text for path in paths]


async def test_a_certificate_of_a_record_that_another_one_displaced_is_listed_for_every_surface(
    harness: ServiceHarness,
) -> None:
    owner, legacy, read_at = await watching(harness)
    assert set((await listing(harness, owner)).values()) == {(True, None)}

    second_record(harness, legacy)
    await read(harness)

    assert set((await listing(harness, owner)).values()) == {(True, read_at)}
    for path, page in (await pages_of(harness, owner)).items():
        assert NUMBER in page, path
        assert "no longer listed" not in page.lower(), path
        assert "Of another record of" in page, path
        assert "The register names no certificate" not in page, path
    compared = await harness.client.get("/compare", params=[("d", UDI), ("d", harness.unique_devices(1)[0].primary_di)])
    assert OF_OTHER_RECORD[0] in compared.text
    assert await files_of(harness) == [True, True]
    assert await harness.get_list(owner.api_key, "events") == []
    for _ in range(58):
        harness.clock.move(DAY)
        await harness.service.watches.expiry.run()
    events = await harness.get_list(owner.api_key, "events")
    assert [each["changes"][0]["new"] for each in events] == ["in 7 days", "in 30 days"]


async def test_it_is_of_its_own_record_again_when_that_answers_and_gone_when_the_register_has_it_no_more(
    harness: ServiceHarness,
) -> None:
    owner, legacy, _ = await watching(harness)
    second = second_record(harness, legacy)
    await read(harness)

    harness.world.remove(second.uuid)
    for _ in range(2):
        await harness.post_sync(owner.api_key)
        harness.clock.move(3600)
    assert set((await listing(harness, owner)).values()) == {(True, None)}

    second_record(harness, legacy)
    await read(harness)
    harness.world.remove(legacy.uuid)
    await read(harness)
    assert set((await listing(harness, owner)).values()) == {(False, None)}
    assert await harness.get_list(owner.api_key, "events") == []


async def test_an_own_certificate_that_is_dropped_is_no_longer_listed_beside_one_of_another_record(
    harness: ServiceHarness,
) -> None:
    owner, legacy, read_at = await watching(harness)
    own = a_registered_certificate("N-1", RECORD, expiry="2027-02-24")
    second = second_record(harness, legacy, certificates=(own,))
    await read(harness)

    harness.world.change(second.uuid, certificates=())
    await read(harness)

    items = await harness.get_list(owner.api_key, "items")
    assert {each["certificate"]: each.get("listed", True) for each in items} == {"N-1": False, NUMBER: True}
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["certificate"], watch["certificate_other_record_as_of"]) == (NUMBER, read_at)
    assert "certificate_listed" not in watch
    page = (await pages_of(harness, owner))[f"/app/watches/{watch['id']}"]
    assert EARLIER_UNLISTED[0] in page
    assert OF_OTHER_RECORD[0] in page


async def test_it_is_gone_and_its_end_is_not_told_when_the_register_has_no_record_of_the_device_any_more(
    harness: ServiceHarness,
) -> None:
    owner, legacy, _ = await watching(harness)
    own = a_registered_certificate("N-1", RECORD, expiry="2030-01-01")
    second = second_record(harness, legacy, certificates=(own,))
    await read(harness)
    harness.world.remove(legacy.uuid)
    harness.world.remove(second.uuid)
    await read(harness)
    await harness.post_sync(owner.api_key)

    [named] = (await harness.get("/v1/certificates", number=NUMBER)).json()["named_by_devices"]
    assert "dropped_at" in named
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["listed"], watch["certificate"], watch["certificate_standing"]) == (False, "N-1", "Valid")
    assert await harness.get_list(owner.api_key, "items") == []
    harness.clock.move(40 * DAY)
    await harness.service.watches.expiry.run()
    [event] = await harness.get_list(owner.api_key, "events")
    assert event["summary"] == "certificate:  → N-1"


async def test_a_certificate_of_the_record_that_answers_is_new_and_does_not_replace_that_of_the_other(
    harness: ServiceHarness,
) -> None:
    owner, legacy, read_at = await watching(harness)
    own = a_registered_certificate("N-1", RECORD, expiry="2030-01-01")
    second_record(harness, legacy, certificates=(own,))
    await read(harness)

    [event] = await harness.get_list(owner.api_key, "events")
    assert [(each["field"], each["old"], each["new"]) for each in event["changes"]] == [("certificate", "", "N-1")]
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["certificate"], watch["certificate_standing"]) == ("N-1", "Valid")
    items = await harness.get_list(owner.api_key, "items")
    assert [(each["certificate"], each["other_record_as_of"]) for each in items] == [(NUMBER, read_at)]


async def test_searches_by_its_number_have_it_as_the_other_record_does_where_the_one_that_answers_drops_it(
    harness: ServiceHarness,
) -> None:
    owner, legacy, read_at = await watching(harness)
    longer = replace(legacy.certificates[0], expiry="2031-01-01")
    second = second_record(harness, legacy, certificates=(longer,))
    await read(harness)
    harness.world.change(second.uuid, certificates=())
    await read(harness)

    assert set((await listing(harness, owner)).values()) == {(True, read_at)}
    [named] = (await harness.get("/v1/certificates", number=NUMBER)).json()["named_by_devices"]
    [item] = await harness.get_list(owner.api_key, "items")
    assert named["device_read"]["expiry"] == item["expiry"] == legacy.certificates[0].expiry


@pytest.mark.parametrize(
    ("first", "told"), [("withdrawn", []), ("issued", ["Withdrawn"]), ("restricted", ["Withdrawn"])]
)
async def test_what_the_other_record_has_better_is_no_news_when_the_one_that_answers_drops_the_certificate(
    harness: ServiceHarness, first: str, told: list[str]
) -> None:
    owner, legacy, _ = await watching(harness)
    others = "issued" if first == "withdrawn" else "withdrawn"
    harness.world.change(legacy.uuid, certificates=(replace(legacy.certificates[0], status=others),))
    await read(harness)
    newer = second_record(harness, legacy, certificates=(replace(legacy.certificates[0], status=first),))
    await read(harness)
    before = len(await harness.get_list(owner.api_key, "events"))
    harness.world.change(newer.uuid, certificates=())
    await read(harness)

    events = await harness.get_list(owner.api_key, "events")
    changes = [each for event in events[: len(events) - before] for each in event["changes"]]
    assert [each["new"] for each in changes if each["field"] == "cert_status"] == told
    assert [each["other_record_as_of"] is not None for each in await harness.get_list(owner.api_key, "items")] == [True]


async def test_who_watches_it_later_has_the_same_certificates(harness: ServiceHarness) -> None:
    first, legacy, _ = await watching(harness)
    second_record(harness, legacy)
    await read(harness)
    await harness.post_sync(first.api_key)

    later = await harness.sign_up(email="later@other.example")
    await harness.post_watches(later.api_key, UDI)

    assert await harness.get_list(later.api_key, "items") == await harness.get_list(first.api_key, "items") != []
    calendar = await _calendar(harness, later)
    assert "Of another record of this UDI-DI" in calendar.replace("\r\n ", "")


async def test_watches_are_read_next_where_the_certificate_of_another_record_changes_without_a_read_of_the_device(
    harness: ServiceHarness,
) -> None:
    alone = legacy_record(harness)
    harness.world.remove(alone.uuid)
    uuid, basic_udi = "00000000-0000-4000-8000-000000000088", "070000000OLD01XX"
    legacy = harness.world.register(replace(alone, uuid=uuid, basic_udi=basic_udi))
    uuid = "00000000-0000-4000-8000-000000000077"
    sibling = harness.world.register(replace(legacy, uuid=uuid, primary_di="07000000000010"))
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, UDI)
    second_record(harness, legacy)
    harness.clock.move(3600)
    await harness.post_sync(owner.api_key)

    withdrawn = (replace(legacy.certificates[0], status="withdrawn"),)
    for each in (legacy, sibling):
        harness.world.change(each.uuid, certificates=withdrawn)
    harness.clock.move(1200)
    await harness.service.refresher.refresh(sibling.primary_di)
    assert "Withdrawn" in (await harness.get(f"/d/{UDI}")).text
    assert await tried_at(harness) == [0]
    await harness.service.watches.recheck.run()

    [item] = await harness.get_list(owner.api_key, "items")
    assert item["standing"] == "Withdrawn"
    [event] = await harness.get_list(owner.api_key, "events")
    assert event["summary"] == "cert_status: Issued → Withdrawn"


async def test_another_device_with_the_same_certificate_is_said_to_be_read_at_another_time(
    harness: ServiceHarness,
) -> None:
    owner, legacy, _ = await watching(harness)
    uuid = "00000000-0000-4000-8000-000000000077"
    other = harness.world.register(replace(legacy, uuid=uuid, primary_di="07000000000010"))
    await harness.post_watches(owner.api_key, other.primary_di)
    second_record(harness, legacy)
    await read(harness)

    harness.world.change(other.uuid, certificates=(replace(legacy.certificates[0], status="withdrawn"),))
    harness.clock.move(3600)
    await harness.post_sync(owner.api_key)

    pages = PagesClient(harness)
    await pages.sign_in(EMAIL, PASSWORD)
    page = (await pages.get("/app/certificates")).text
    assert "Devices were read at different times" in page
    assert "read at the same time" not in page


async def _calendar(harness: ServiceHarness, owner: NewAccount) -> str:
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    return (
        await harness.client.get("/v1/expiring.ics", params={"token": feed["expiring"].partition("token=")[2]})
    ).text


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_records_under_one_basic_udi_share_their_certificates(harness: ServiceHarness) -> None:
    first = a_device(harness)
    certify(harness, first)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, first.primary_di)

    new = a_registered_certificate("N-1", RECORD)
    harness.world.change(first.uuid, certificates=(new,))
    uuid, version = "00000000-0000-4000-8000-000000000100", first.version_number + 1
    harness.world.register(replace(first, uuid=uuid, version_number=version, certificates=(new,)))
    harness.clock.move(3600)
    await harness.post_sync(owner.api_key)

    [event] = await harness.get_list(owner.api_key, "events")
    assert ("certificate", "Z-25-001", "N-1") in [
        (each["field"], each["old"], each["new"]) for each in event["changes"]
    ]
    assert OF_OTHER_RECORD[0] not in (await harness.get(f"/d/{first.primary_di}")).text
