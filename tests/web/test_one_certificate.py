"""One certificate is told the same on every surface, where the list and a device's record were read apart."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from registerwatch.copy.certificates.certificate_queries import CertificateQueries
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate
from registerwatch_standins.register.records import Registration
from tests.mcp.messages import used
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import a_full_reading, a_registered_certificate, a_udi
from tests.register.certificate_rows import (
    BODY,
    SEEN_AT,
    STATUS,
    a_certificate,
    certificate_id,
    note_walk,
    scopes,
    store_certificates,
)
from tests.support.harness import ServiceHarness
from tests.support.statements import counted_statements
from tests.watches.certificate_steps import two_devices_of_one_manufacturer

HOUR = 3600
WITHDRAWN = f"{STATUS}withdrawn"
NUMBER = "Z-25-001"


async def read_device(harness: ServiceHarness, device: Registration | None = None, **differs: Any) -> tuple[str, str]:
    """A device whose record has the certificate withdrawn, or otherwise, read now: its UDI-DI and its manufacturer."""
    device = device or harness.separate_devices(1)[0]
    certificates = (a_registered_certificate(NUMBER, **{"status": "withdrawn", "expiry": "2029-01-01", **differs}),)
    harness.world.change(device.uuid, certificates=certificates)
    assert (await harness.get("/v1/refresh", q=device.primary_di)).json()["refreshed"]
    await harness.get("/v1/refresh", q=device.manufacturer.srn)
    return device.primary_di, device.manufacturer.srn


async def list_certificate(harness: ServiceHarness, srn: str, seen_at: int, **fields: Any) -> None:
    """The register's list, read at an instant, has the certificate valid until 2030."""
    await note_walk(harness.database)
    await store_certificates(harness.database, a_certificate(1, srn=srn, seen_at=seen_at, **fields))


async def answers(harness: ServiceHarness, srn: str) -> dict[str, dict[str, Any]]:
    """The certificate as each surface for programs has it."""
    rest = {
        "/v1/certificates": await harness.get("/v1/certificates", number=NUMBER),
        "/v1/certificates/{id}": await harness.get(f"/v1/certificates/{certificate_id(1)}"),
        "/v1/actors/{srn}/certificates": await harness.get(f"/v1/actors/{srn}/certificates"),
        "/v1/actors/{srn}": await harness.get(f"/v1/actors/{srn}"),
        "/v1/search": await harness.get("/v1/search", q=NUMBER),
    }
    found = {path: answer.json() for path, answer in rest.items()}
    found["search_devices"] = (await used(harness, "search_devices", q=NUMBER)).payload
    found["get_actor"] = (await used(harness, "get_actor", srn=srn)).payload
    return {name: _certificate(answer) for name, answer in found.items()}


def _certificate(answer: dict[str, Any]) -> dict[str, Any]:
    listed = answer.get("certificates", [answer])
    [found] = listed["newest"] if isinstance(listed, dict) else listed
    assert found["number"] == NUMBER
    return dict(found)


async def pages(harness: ServiceHarness, srn: str, udi: str) -> dict[str, tuple[str, str]]:
    """How the certificate stands on each page, and how it ends."""
    one = Markup.of(await harness.get(f"/c/{certificate_id(1)}"))
    found = {"/c/{id}": (one.facts["Standing today"], one.facts["End"])}
    for path in (f"/?q={NUMBER}", f"/a/{srn}", f"/d/{udi}"):
        markup = Markup.of(await harness.client.get(path))
        [row] = [
            row for row in markup.rows if row[0].startswith(NUMBER) and "Notified body" in row[0] and len(row) == 4
        ]
        place = 2 if path.startswith("/?q") else 1
        found[path] = row[place], row[place + 1]
    return found


def moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%-d %b %Y, %H:%M} UTC"


@pytest.mark.parametrize("is_listed_before", [True, False])
async def test_a_newer_read_of_a_device_that_has_it_otherwise_is_said_with_both_times_everywhere(
    harness: ServiceHarness, is_listed_before: bool
) -> None:
    srn = harness.separate_devices(1)[0].manufacturer.srn
    listed_at, read_at = harness.now - HOUR, harness.now
    if is_listed_before:
        await list_certificate(harness, srn, listed_at)
    udi, _ = await read_device(harness)
    if not is_listed_before:
        await list_certificate(harness, srn, listed_at)
    await harness.update_index()

    said = await answers(harness, srn)
    shown = await pages(harness, srn, udi)

    read = {
        "udi": udi,
        "read_at": iso_utc(read_at),
        "standing": "Withdrawn",
        "status": "Withdrawn",
        "status_code": f"{STATUS}withdrawn",
        "expiry": "2029-01-01",
    }
    assert [name for name, each in said.items() if each["device_read"] != read] == []
    for each in said.values():
        assert (each["status"], each["expiry"], each["seen_at"]) == ("Issued", "2030-09-16", iso_utc(listed_at))
    proves = {each["proves"] for each in said.values() if "proves" in each}
    assert all("It proves nothing today: the register calls it withdrawn." in each for each in proves)
    words = (
        f"✕ Withdrawn A newer read of the device {udi} says: withdrawn, end 1 Jan 2029, as of {moment(read_at)}."
        f" The register’s list says: valid, end 16 Sep 2030, as of {moment(listed_at)}."
    )
    of_device = words.replace(f"the device {udi}", "this device")
    assert {path: standing for path, (standing, _) in shown.items()} == {
        path: of_device if path.startswith("/d/") else words for path in shown
    }
    assert {end for _, end in shown.values()} == {"1 Jan 2029"}
    structured = Markup.of(await harness.get(f"/c/{certificate_id(1)}")).structured
    assert (structured["expires"], structured["additionalProperty"]["value"]) == ("2029-01-01", "Withdrawn")


async def test_filters_of_certificates_go_by_the_list_and_their_description_says_so(harness: ServiceHarness) -> None:
    _, srn = await read_device(harness)
    await list_certificate(harness, srn, harness.now - HOUR)

    async def found(**chosen: str) -> list[tuple[str, str]]:
        listed = (await harness.get("/v1/certificates", number=NUMBER, **chosen)).json()["certificates"]
        return [(each["status"], each["device_read"]["status"]) for each in listed]

    assert await found(status="issued") == [("Issued", "Withdrawn")]
    assert await found(status="withdrawn") == []
    assert await found(expires_before="2029-06-30") == []
    described = (await harness.get("/openapi.json")).json()["paths"]["/v1/certificates"]["get"]["parameters"]
    told = {each["name"]: each["description"] for each in described}
    assert all("in the register's list" in told[name] for name in ("status", "expires_before"))
    assert "`device_read`" in told["status"]


@pytest.mark.parametrize(
    ("own", "hours"),
    [
        ({"status": "withdrawn"}, 1),
        ({"status": "issued", "expiry": "2030-09-16"}, -1),
        ({"status": "issued", "expiry": "2030-09-16"}, 1),
    ],
)
async def test_the_list_alone_is_told_with_its_time_where_it_is_newer_or_no_device_has_it_otherwise(
    harness: ServiceHarness, own: dict[str, Any], hours: int
) -> None:
    udi, srn = await read_device(harness, **own)
    listed_at = harness.now + hours * HOUR
    await list_certificate(harness, srn, listed_at)
    await harness.update_index()

    said, shown = await answers(harness, srn), await pages(harness, srn, udi)

    assert not any("device_read" in each for each in said.values())
    assert {each["seen_at"] for each in said.values()} == {iso_utc(listed_at)}
    assert shown[f"/?q={NUMBER}"][0] == f"✓ Valid register: issued The register’s list as of {moment(listed_at)}"
    assert {end.partition(" Ends")[0] for _, end in shown.values()} == {"16 Sep 2030"}
    assert not [path for path, (standing, _) in shown.items() if "says:" in standing and not path.startswith("/d/")]


async def test_what_the_list_dropped_and_a_device_still_has_is_told_with_both_times(harness: ServiceHarness) -> None:
    udi, srn = await read_device(harness, status="issued", expiry="2030-09-16")
    await list_certificate(harness, srn, harness.now - 2 * HOUR, unlisted_at=harness.now - HOUR)
    await harness.update_index()

    said, shown = await answers(harness, srn), await pages(harness, srn, udi)

    assert {each["device_read"]["standing"] for each in said.values()} == {"Valid"}
    for standing, _ in shown.values():
        assert standing.startswith("✓ Valid")
        assert f"The register’s list says: no longer listed, as of {moment(harness.now - HOUR)}" in standing


@pytest.mark.parametrize(("revision", "new_revision"), [("", ""), ("01", "")])
async def test_a_record_that_another_one_of_its_number_replaced_does_not_stand_as_a_later_read_of_a_device(
    harness: ServiceHarness, revision: str, new_revision: str
) -> None:
    udi, srn = await read_device(harness, status="issued", expiry="2030-09-16", revision=revision or None)
    dropped_at = harness.now - HOUR
    await list_certificate(harness, srn, dropped_at, unlisted_at=dropped_at, revision=revision, status_code=WITHDRAWN)
    other = a_certificate(2, srn=srn, seen_at=dropped_at, number=NUMBER, revision=new_revision)
    await store_certificates(harness.database, other)
    await harness.update_index()

    one = (await harness.get(f"/v1/certificates/{certificate_id(1)}")).json()
    of_number = (await harness.get("/v1/certificates", number=NUMBER)).json()["certificates"]
    of_maker = (await harness.get(f"/v1/actors/{srn}/certificates")).json()["certificates"]
    standing = Markup.of(await harness.get(f"/c/{certificate_id(1)}")).facts["Standing today"]
    rows = [Markup.of(await harness.get(path)).rows for path in (f"/a/{srn}", f"/d/{udi}")]

    assert one["unlisted_at"] == iso_utc(dropped_at)
    assert not any("device_read" in each for each in (one, *of_number, *of_maker))
    assert standing.startswith("✕ No longer listed")
    for of_page in rows:
        stood = [row[1].partition(" register")[0] for row in of_page if row[0].startswith(NUMBER) and len(row) == 4]
        assert sorted(stood) == ["✓ Valid", "✕ No longer listed"]


async def test_of_several_devices_the_one_that_was_read_last_decides_and_another_ones_page_says_both(
    harness: ServiceHarness,
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    srn = one.manufacturer.srn
    read_at = harness.now
    await list_certificate(harness, srn, read_at - HOUR)
    first, _ = await read_device(harness, one)
    harness.clock.move(600)
    await read_device(harness, other, status="issued", expiry="2030-09-16")
    await harness.update_index()

    said, shown = await answers(harness, srn), await pages(harness, srn, first)

    assert not any("device_read" in each for each in said.values())
    assert shown[f"/d/{first}"][0] == (
        "✓ Valid register: issued"
        f" An older read of this device says: withdrawn, end 1 Jan 2029, as of {moment(read_at)}."
        f" The register’s list says: valid, end 16 Sep 2030, as of {moment(read_at - HOUR)}, and so does a read of the"
        f" device {other.primary_di}, as of {moment(read_at + 600)}."
    )
    assert shown["/c/{id}"][0] == "✓ Valid register: issued"


async def test_a_newer_worse_read_without_a_revision_is_told_beside_a_read_of_another_device_with_it(
    harness: ServiceHarness,
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    srn = one.manufacturer.srn
    await list_certificate(harness, srn, harness.now - HOUR, revision="02")
    await read_device(harness, other, status="issued", expiry="2030-09-16", revision="02")
    harness.clock.move(600)
    udi, _ = await read_device(harness, one, expiry="2030-09-16")
    await harness.update_index()

    said = await answers(harness, srn)
    shown = {**await pages(harness, srn, udi), **await pages(harness, srn, other.primary_di)}

    assert {name: each["device_read"]["standing"] for name, each in said.items()} == dict.fromkeys(said, "Withdrawn")
    assert {each["device_read"]["udi"] for each in said.values()} == {udi}
    assert {path: standing.partition(" of ")[0] for path, (standing, _) in shown.items()} == dict.fromkeys(
        shown, "✕ Withdrawn A newer read"
    )


@pytest.mark.parametrize(
    ("of_first", "own", "told"),
    [
        ({}, {}, {"01": "Withdrawn", "02": "Withdrawn"}),
        ({"expiry": "2026-01-01"}, {}, {"02": "Withdrawn"}),
        ({}, {"expiry": "2029-01-01"}, {"01": "Withdrawn", "02": "Withdrawn"}),
        ({"expiry": "2029-01-01"}, {"expiry": "2029-01-01", "status": "issued"}, {}),
        ({"status_code": WITHDRAWN}, {"status": "issued"}, {}),
    ],
)
async def test_a_read_that_may_be_of_several_listed_certificates_is_told_of_those_with_its_end_that_it_has_worse(
    harness: ServiceHarness, of_first: dict[str, Any], own: dict[str, Any], told: dict[str, str]
) -> None:
    """Where the list has one of them as the device has it, it is that one."""
    udi, srn = await read_device(harness, **{"expiry": "2030-09-16", **own})
    await list_certificate(harness, srn, harness.now - HOUR, revision="01", **of_first)
    second = a_certificate(2, srn=srn, seen_at=harness.now - HOUR, number=NUMBER, revision="02")
    await store_certificates(harness.database, second)

    listed = (await harness.get("/v1/certificates", number=NUMBER)).json()
    page = Markup.of(await harness.get(f"/a/{srn}"))

    found = {each["revision"]: each["device_read"] for each in listed["certificates"] if "device_read" in each}
    assert {revision: each["standing"] for revision, each in found.items()} == told
    assert "named_by_devices" not in listed
    for revision in ("01", "02"):
        [row] = [row for row in page.rows if row[0].startswith(f"{NUMBER} revision {revision}")]
        assert (f"A newer read of the device {udi} says: withdrawn" in row[1]) == (revision in told)


async def test_a_worse_read_that_can_only_be_of_a_replaced_certificate_is_told_of_that_one(
    harness: ServiceHarness,
) -> None:
    _, srn = await read_device(harness, revision="02")
    dropped_at = harness.now - HOUR
    await list_certificate(harness, srn, dropped_at, unlisted_at=dropped_at)
    other = a_certificate(2, srn=srn, seen_at=dropped_at, number=NUMBER, revision="01")
    await store_certificates(harness.database, other)

    listed = (await harness.get("/v1/certificates", number=NUMBER)).json()["certificates"]

    assert {each["revision"]: each.get("device_read", {}).get("standing") for each in listed} == {
        "": "Withdrawn",
        "01": None,
    }


async def test_what_a_read_for_a_watch_found_after_the_list_is_told_as_the_newer_one(
    harness: ServiceHarness,
) -> None:
    """Its Basic UDI-DI record is as it was, so that read alone shows nobody when that was."""
    owner = await harness.sign_up()
    device = harness.separate_devices(1)[0]
    udi, srn = await read_device(harness, device, status="issued", expiry="2030-09-16")
    await harness.post_watches(owner.api_key, udi)
    listed_at = harness.now + 60
    await list_certificate(harness, srn, listed_at)
    harness.clock.move(600)
    certificates = (a_registered_certificate(NUMBER, status="withdrawn", expiry="2030-09-16"),)
    harness.world.change(device.uuid, certificates=certificates)

    await harness.post_sync(owner.api_key)

    told = (await harness.get(f"/v1/devices/{udi}")).json()
    assert (told["read_at"], told["certs_read_at"]) == (iso_utc(harness.now), iso_utc(harness.now))
    await harness.update_index()
    said, shown = await answers(harness, srn), await pages(harness, srn, udi)
    assert {each["device_read"]["standing"] for each in said.values()} == {"Withdrawn"}
    assert {standing.partition(" A newer read")[0] for standing, _ in shown.values()} == {"✕ Withdrawn"}
    page = Markup.of(await harness.client.get(f"/d/{udi}"))
    assert "could not be read again" not in page.main


async def test_a_certificate_that_only_its_scope_names_for_a_device_is_told_as_the_list_has_it(
    harness: ServiceHarness,
) -> None:
    [device] = harness.separate_devices(1)
    harness.world.change(device.uuid, certificates=())
    srn, listed_at = device.manufacturer.srn, harness.now - HOUR
    await list_certificate(harness, srn, listed_at, **{**scopes(device.basic_udi or ""), "scopes_read_at": listed_at})
    await harness.get("/v1/refresh", q=device.primary_di)
    served = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    assert [each["number"] for each in served["certs"]] == [NUMBER]

    async with harness.database.transaction() as connection:
        await connection.exec_driver_sql(f"UPDATE certificates SET status_code = '{STATUS}suspended'")

    assert "device_read" not in (await harness.get(f"/v1/certificates/{certificate_id(1)}")).json()


async def test_a_certificate_with_a_number_that_no_list_can_have_is_stored_with_its_device_alone(
    harness: ServiceHarness,
) -> None:
    [device] = harness.separate_devices(1)
    harness.world.change(device.uuid, certificates=(a_registered_certificate("Z" * 3000),))
    assert (await harness.get("/v1/refresh", q=device.primary_di)).json()["refreshed"]


async def test_a_certificate_that_the_list_does_not_have_yet_is_found_where_a_device_names_it(
    harness: ServiceHarness,
) -> None:
    await note_walk(harness.database)
    udi, srn = await read_device(harness)
    own = {
        "number": NUMBER,
        "revision": "",
        "srn": srn,
        "notified_body": BODY,
        "type": "MDD Annex II without section 4",
        "type_code": "refdata.legacy.mdd-certificate-type.ii-ex-4",
        "device_read": {
            "udi": udi,
            "read_at": iso_utc(harness.now),
            "standing": "Withdrawn",
            "status": "Withdrawn",
            "status_code": WITHDRAWN,
            "expiry": "2029-01-01",
        },
    }

    listed = (await harness.get("/v1/certificates", number="z-25 -001")).json()
    found = (await harness.get("/v1/search", q=" z-25- 001")).json()
    tool = (await used(harness, "search_devices", q=NUMBER)).payload
    page = Markup.of(await harness.client.get(f"/?q={NUMBER}"))

    assert (listed["certificates"], listed["named_by_devices"], listed["state"]) == ([], [own], "complete")
    for answer in (found, tool):
        assert (answer.get("certificates"), answer["named_by_devices"]) == (None, [own])
        assert answer["certificate_list"] == {"state": "complete", "as_of": iso_utc(SEEN_AT), "error": None}
    [row] = [row for row in page.rows if row[0].startswith(NUMBER)]
    assert row[1:] == [srn, f"✕ Withdrawn The record of the device {udi} as of {moment(harness.now)}", "1 Jan 2029"]
    assert f"the register’s list of {moment(SEEN_AT)} does not have them" in page.one("caption").text
    assert accessibility_problems(page) == []
    for other in ({"srn": "DE-MF-000000001"}, {"notified_body": "9999"}):
        assert "named_by_devices" not in (await harness.get("/v1/certificates", number=NUMBER, **other)).json()
    await list_certificate(harness, srn, harness.now + HOUR)
    for path, query in (("/v1/certificates", {"number": NUMBER}), ("/v1/search", {"q": NUMBER})):
        answer = (await harness.get(path, **query)).json()
        assert [each["number"] for each in answer["certificates"]] == [NUMBER]
        assert "named_by_devices" not in answer, "the list has it"


async def test_a_number_with_other_spaces_is_that_of_the_certificate_in_the_list(harness: ServiceHarness) -> None:
    udi, srn = await read_device(harness)
    await list_certificate(harness, srn, harness.now - HOUR, number="Z-25 -001 ")

    listed = (await harness.get("/v1/certificates", number=NUMBER)).json()
    one = (await harness.get(f"/v1/certificates/{certificate_id(1)}")).json()
    of_maker = (await harness.get(f"/v1/actors/{srn}")).json()["certificates"]["newest"]
    pages = [Markup.of(await harness.client.get(path)) for path in (f"/?q={NUMBER}", f"/a/{srn}", f"/d/{udi}")]

    assert [each["device_read"]["udi"] for each in (*listed["certificates"], one, *of_maker)] == [udi] * 3
    assert "named_by_devices" not in listed
    for page in pages:
        [row] = [row for row in page.rows if row[0].startswith("Z-25 -001")]
        assert any("✕ Withdrawn A newer read of" in each for each in row)


async def test_a_manufacturers_certificate_is_found_by_its_number_among_many_others_with_it(
    harness: ServiceHarness,
) -> None:
    own = Certificate(NUMBER, notified_body=BODY)
    for place in range(21):
        srn = f"DE-MF-{place:09}"
        await harness.store(a_full_reading(f"u-{place}", a_udi(place), manufacturer_srn=srn, certs=(own,)))
        harness.clock.move(60)

    for wanted in ({}, {"srn": "DE-MF-000000000"}, {"srn": "DE-MF-000000000", "notified_body": BODY}):
        found = (await harness.get("/v1/certificates", number=NUMBER, **wanted)).json()["named_by_devices"]
        assert [each["srn"] for each in found] == ["DE-MF-000000000"] if wanted else len(found) == 20


@pytest.mark.parametrize(
    ("certificate", "of_device"),
    [({}, {"manufacturer_srn": ""}), ({"confirmed": False, "listed_in": "search"}, {})],
)
async def test_a_search_that_does_not_look_for_a_certificate_of_a_record_does_not_say_that_no_record_names_it(
    harness: ServiceHarness, certificate: dict[str, Any], of_device: dict[str, Any]
) -> None:
    await note_walk(harness.database)
    own = Certificate(NUMBER, status_code=WITHDRAWN, **certificate)
    await harness.store(a_full_reading("u-1", a_udi(1), certs=(own,), **of_device))
    await harness.update_index()

    page = Markup.of(await harness.client.get(f"/?q={NUMBER}"))

    assert "no record of a device here names" not in page.main
    assert "where the record has no SRN of the manufacturer, or where the last read could not confirm it" in page.main


async def named(harness: ServiceHarness) -> list[tuple[dict[str, Any], str]]:
    """Each certificate that records of devices name, as programs and as the page have it."""
    listed = (await harness.get("/v1/certificates", number=NUMBER)).json().get("named_by_devices", [])
    found = (await harness.get("/v1/search", q=NUMBER)).json().get("named_by_devices", [])
    tool = (await used(harness, "search_devices", q=NUMBER)).payload.get("named_by_devices", [])
    page = Markup.of(await harness.client.get(f"/?q={NUMBER}"))
    rows = [row[2] for row in page.rows if row[0].startswith(NUMBER)]
    assert listed == found == tool
    return list(zip(listed, rows, strict=True))


@pytest.mark.parametrize(("status", "standing"), [("issued", "No longer listed"), ("withdrawn", "Withdrawn")])
async def test_a_certificate_that_its_only_device_names_no_more_is_said_to_be_listed_no_longer(
    harness: ServiceHarness, status: str, standing: str
) -> None:
    [device] = harness.separate_devices(1)
    first_at = harness.now
    udi, _ = await read_device(harness, device, status=status, expiry="2030-09-16")
    harness.clock.move(30 * 24 * HOUR)
    harness.world.change(device.uuid, certificates=())
    assert (await harness.get("/v1/refresh", q=udi)).json()["refreshed"]

    [(found, row)] = await named(harness)

    read = found["device_read"]
    assert (read["standing"], read["read_at"], found["dropped_at"]) == (
        standing,
        iso_utc(first_at),
        iso_utc(harness.now),
    )
    was = "valid" if status == "issued" else status
    assert row.startswith(f"✕ {standing} ")
    assert f"The record of the device {udi} had it ({was}) as of {moment(first_at)}, and does not have it as of" in row


async def test_a_certificate_whose_device_is_gone_stands_as_on_its_page_with_when_that_was(
    harness: ServiceHarness,
) -> None:
    [other] = harness.separate_devices(1)
    uuid = "00000000-0000-4000-8000-000000000001"
    device = harness.world.register(replace(other, uuid=uuid, primary_di="07000000000005"))
    udi, _ = await read_device(harness, device, status="issued", expiry="2030-09-16")
    harness.clock.move(30 * 24 * HOUR)
    harness.world.remove(device.uuid)
    await harness.get("/v1/refresh", q=udi)

    [(found, row)] = await named(harness)

    assert (found["device_read"]["standing"], found["device_unlisted_at"]) == ("Valid", iso_utc(harness.now))
    assert row.startswith("✓ Valid")
    assert row.endswith(f"The register does not list that device any more, as of {moment(harness.now)}")


async def test_a_certificate_that_its_device_names_with_a_revision_now_is_told_once(harness: ServiceHarness) -> None:
    [device] = harness.separate_devices(1)
    await read_device(harness, device)
    harness.clock.move(600)
    await read_device(harness, device, status="issued", revision="02")

    [(found, _)] = await named(harness)

    assert (found["revision"], found["device_read"]["read_at"]) == ("02", iso_utc(harness.now))
    assert "dropped_at" not in found


async def test_what_neither_the_list_nor_the_device_has_any_more_does_not_stand_as_the_device_had_it(
    harness: ServiceHarness,
) -> None:
    [device] = harness.separate_devices(1)
    udi, srn = await read_device(harness, device, status="issued", expiry="2030-09-16")
    await list_certificate(harness, srn, harness.now - 2 * HOUR, unlisted_at=harness.now - HOUR)
    harness.clock.move(600)
    harness.world.change(device.uuid, certificates=())
    assert (await harness.get("/v1/refresh", q=udi)).json()["refreshed"]
    await harness.update_index()

    said, shown = await answers(harness, srn), await pages(harness, srn, udi)

    assert not any("device_read" in each for each in said.values())
    assert {standing.partition(" register")[0] for standing, _ in shown.values()} == {"✕ No longer listed"}


async def test_a_newer_withdrawal_is_told_also_where_that_device_has_the_certificate_no_more(
    harness: ServiceHarness,
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    srn = one.manufacturer.srn
    await list_certificate(harness, srn, harness.now - HOUR)
    first, _ = await read_device(harness, one, status="issued", expiry="2030-09-16")
    harness.clock.move(600)
    await read_device(harness, other)
    harness.clock.move(600)
    harness.world.change(other.uuid, certificates=())
    assert (await harness.get("/v1/refresh", q=other.primary_di)).json()["refreshed"]

    one_read = (await harness.get(f"/v1/certificates/{certificate_id(1)}")).json()["device_read"]
    page = Markup.of(await harness.client.get(f"/d/{first}"))

    assert one_read["standing"] == "Withdrawn"
    assert "A newer read of another device differs" in page.main


@pytest.mark.parametrize(
    ("walk", "state", "words"),
    [
        (None, "unread", "Not read yet. The register’s list of certificates has not been read yet."),
        ({"complete_at": None, "problem": "It has a fault."}, "failed", "Could not be read. "),
        (
            {"problem": "It has a fault."},
            "outdated",
            f"What is here is of {datetime.fromtimestamp(SEEN_AT, UTC):%-d %b}",
        ),
        (
            {},
            "complete",
            f"of certificates of {datetime.fromtimestamp(SEEN_AT, UTC):%-d %b %Y, %H:%M} UTC has none with",
        ),
    ],
)
async def test_a_search_for_a_number_that_finds_nothing_says_how_the_list_was_read(
    harness: ServiceHarness, walk: dict[str, Any] | None, state: str, words: str
) -> None:
    if walk is not None:
        await note_walk(harness.database, **walk)

    found = (await harness.get("/v1/search", q="QX-99-123")).json()
    page = Markup.of(await harness.client.get("/?q=QX-99-123"))

    assert (found["total"], found["certificate_list"]["state"]) == (0, state)
    assert words in page.main
    assert "was found in records of devices here" in page.main
    assert "certificate_list" not in (await harness.get("/v1/search", q="set")).json()
    assert "records of devices here" not in Markup.of(await harness.client.get("/?q=04012345678901")).main


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_search_by_number_scans_no_table(harness: ServiceHarness) -> None:
    _, srn = await read_device(harness)
    await list_certificate(harness, srn, harness.now - HOUR)
    queries = CertificateQueries(harness.database)
    with counted_statements() as sent:
        [found] = await queries.with_number(NUMBER, 10)
        assert await queries.of_devices_alone(NUMBER, 10) == []

    async with harness.database.reading() as connection:
        for statement in sent:
            values = (NUMBER,) * statement.count("?")
            plan = (await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)).all()
            assert not [step for *_, step in plan if re.match(r"SCAN (?!CONSTANT)", step)], (statement, plan)
    assert len(sent) == 3
    assert found.read is not None


@pytest.mark.parametrize("statuses", [("withdrawn", "issued"), ("issued", "withdrawn")])
async def test_of_devices_that_were_read_at_one_instant_the_worst_counts_whichever_was_stored_last(
    harness: ServiceHarness, statuses: tuple[str, str]
) -> None:
    one, other = two_devices_of_one_manufacturer(harness)
    srn = one.manufacturer.srn
    await list_certificate(harness, srn, harness.now - HOUR)
    for device, status in zip((one, other), statuses, strict=True):
        await read_device(harness, device, status=status)

    said = await answers(harness, srn)

    assert {each["device_read"]["standing"] for each in said.values()} == {"Withdrawn"}
