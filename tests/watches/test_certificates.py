"""Certificates of a watched device as a user sees them: in its answer, in syncs, in the list of what expires."""

from itertools import permutations
from typing import Any

import pytest

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.sources.eudamed.guards import PROBE_VALUE
from registerwatch_standins.register.records import Certificate, Registration
from tests.register.builders import a_registered_certificate
from tests.support.harness import NOW, NewAccount, ServiceHarness, ServiceStarter
from tests.watches.steps import SEARCHED, sync

DAY = 24 * 3600


async def watched(harness: ServiceHarness, *certificates: Certificate) -> tuple[NewAccount, Registration]:
    """An account that watches a device with these certificates, for years."""
    record = next(each for each in harness.unique_devices(120) if each.basic_udi)
    harness.world.change(record.uuid, certificates=certificates)
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 1000 * DAY)
    await harness.post_watches(owner.api_key, record.primary_di)
    return owner, record


async def served(harness: ServiceHarness, record: Registration) -> dict[str, dict[str, Any]]:
    """The device's certificates by number, as REST answers them."""
    answer = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    return {each["number"]: each for each in answer["certs"]}


async def expiring(harness: ServiceHarness, owner: NewAccount) -> dict[str, bool]:
    """The certificates that are listed as expiring, and whether each is confirmed."""
    return {each["certificate"]: each.get("confirmed", True) for each in await harness.get_list(owner.api_key, "items")}


# A certificate search that ignores its filter


async def test_a_certificate_that_the_record_replaced_is_replaced_although_the_search_cannot_be_read(
    harness: ServiceHarness,
) -> None:
    owner, record = await watched(harness, a_registered_certificate("OLD"), SEARCHED)
    harness.faults.fail("certificates", "ignored-filter")
    harness.world.change(record.uuid, certificates=(a_registered_certificate("NEW"), SEARCHED))

    told = await sync(harness, owner, DAY + 1)

    assert told == ["certificate: OLD → NEW"]
    assert list(await served(harness, record)) == ["NEW", "Z-2"]
    assert await expiring(harness, owner) == {"NEW": True, "Z-2": False}
    assert await sync(harness, owner) == []


async def test_where_the_search_was_never_read_the_records_own_certificates_are_replaced(
    start_service: ServiceStarter,
) -> None:
    async with start_service(basic_udi_filter_works=False) as harness:
        owner, record = await watched(harness, a_registered_certificate("OLD"))
        harness.world.change(record.uuid, certificates=(a_registered_certificate("NEW"),))

        told = await sync(harness, owner)

        assert told == ["certificate: OLD → NEW"]
        assert list(await served(harness, record)) == ["NEW"]
        assert await expiring(harness, owner) == {"NEW": True}


async def test_what_a_search_once_brought_is_marked_until_it_is_confirmed(
    harness: ServiceHarness,
) -> None:
    owner, record = await watched(harness, a_registered_certificate("D-1"), SEARCHED)
    assert "confirmed" not in (await served(harness, record))["Z-2"]
    harness.faults.fail("certificates", "ignored-filter")
    await sync(harness, owner, DAY + 1)

    marked = await served(harness, record)

    assert (marked["Z-2"]["confirmed"], marked["Z-2"]["unconfirmed_since"]) == (False, iso_utc(NOW + DAY + 1))
    assert "confirmed" not in marked["D-1"]
    page = (await harness.get(f"/d/{record.primary_di}")).text
    assert "Not confirmed since" in page
    harness.faults.clear()
    assert await sync(harness, owner, 600) == []
    assert "confirmed" not in (await served(harness, record))["Z-2"]
    assert await expiring(harness, owner) == {"D-1": True, "Z-2": True}
    harness.faults.fail("certificates", "ignored-filter")
    await sync(harness, owner, DAY + 1)
    assert await sync(harness, owner, 31 * DAY) == []
    assert (await served(harness, record))["Z-2"]["confirmed"] is False, "however long that takes"
    assert await expiring(harness, owner) == {"D-1": True, "Z-2": False}


async def test_a_record_that_answers_again_has_what_was_searched_last_for_another_one_of_its_device(
    harness: ServiceHarness,
) -> None:
    owner, first = await watched(harness, SEARCHED)
    suspended = replace(SEARCHED, status="suspended")
    second = replace(first, uuid="00000000-0000-4000-8000-000000000001", version_number=first.version_number + 1)
    harness.world.change(first.uuid, latest_version=False, certificates=(suspended,))
    harness.world.register(replace(second, certificates=(suspended,)))
    assert "cert_status: Issued → Suspended" in (await sync(harness, owner))[0]

    harness.faults.fail("certificates", "ignored-filter")
    harness.world.change(first.uuid, latest_version=True)
    harness.world.change(second.uuid, latest_version=False)
    told = await sync(harness, owner, DAY + 1)

    assert not any("cert_status" in each for each in told)
    certificate = (await served(harness, first))["Z-2"]
    assert (certificate["status"], certificate["confirmed"]) == ("Suspended", False)


# An odd answer to a control probe


async def test_an_odd_answer_to_a_probe_is_told_and_the_search_is_read_again_some_minutes_later(
    harness: ServiceHarness,
) -> None:
    harness.faults.fail("certificates", "ignored-filter", times=1, contains=PROBE_VALUE)
    owner, record = await watched(harness, a_registered_certificate("D-1"), SEARCHED)

    before = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    health = (await harness.get("/health")).json()["register"]
    metrics = (await harness.client.get("/metrics")).text

    assert [each["number"] for each in before["certs"]] == ["D-1"]
    assert (before["complete"], before["missing"]) == (False, ["certificates"])
    assert health["certificate_search"] == "ignored"
    assert "registerwatch_certificate_search_ignored 1.0" in metrics
    assert await sync(harness, owner, 301) == [], "what the search finds now may have been there all the time"
    after = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert [each["number"] for each in after["certs"]] == ["D-1", "Z-2"]
    assert after["complete"] is True
    assert (await harness.get("/health")).json()["register"]["certificate_search"] == "read"
    assert "registerwatch_certificate_search_ignored 0.0" in (await harness.client.get("/metrics")).text


async def test_a_filter_that_ceases_to_filter_is_noticed_with_the_next_read(harness: ServiceHarness) -> None:
    owner, record = await watched(harness, a_registered_certificate("OLD"), SEARCHED)
    harness.faults.fail("certificates", "ignored-filter")
    harness.world.change(record.uuid, certificates=(a_registered_certificate("NEW"), SEARCHED))

    told = await sync(harness, owner) + await sync(harness, owner)

    assert told == ["certificate: OLD → NEW"]


# Certificates that are alike


ALIKE = [a_registered_certificate("1833/MDD", expiry=f"20{year}-05-26") for year in (27, 28, 29)]


async def test_certificates_that_are_alike_are_all_shown(harness: ServiceHarness) -> None:
    owner, record = await watched(harness, *ALIKE[:2])

    answer = (await harness.get(f"/v1/devices/{record.primary_di}")).json()

    assert [each["expiry"] for each in answer["certs"]] == ["2027-05-26", "2028-05-26"]
    assert "2027-05-26" in str(await harness.get_list(owner.api_key, "items"))


@pytest.mark.parametrize("order", list(permutations(range(2))))
async def test_certificates_that_are_alike_are_compared_whatever_their_order(
    harness: ServiceHarness, order: tuple[int, ...]
) -> None:
    owner, record = await watched(harness, *ALIKE[:2])
    changed = [ALIKE[0], a_registered_certificate("1833/MDD", expiry="2030-12-31")]

    harness.world.change(record.uuid, certificates=tuple(ALIKE[each] for each in order))
    unchanged = await sync(harness, owner)
    harness.world.change(record.uuid, certificates=tuple(changed[each] for each in order))
    told = await sync(harness, owner)

    assert unchanged == []
    assert told == ["cert_expiry: 2028-05-26 → 2030-12-31"]


async def test_of_certificates_that_are_alike_one_that_goes_is_silent_and_one_that_comes_is_told(
    harness: ServiceHarness,
) -> None:
    owner, record = await watched(harness, *ALIKE[:2])

    harness.world.change(record.uuid, certificates=(ALIKE[1],))
    gone = await sync(harness, owner)
    harness.world.change(record.uuid, certificates=(ALIKE[1], ALIKE[0]))
    back = await sync(harness, owner)
    harness.world.change(record.uuid, certificates=(ALIKE[2], *ALIKE[:2]))
    come = await sync(harness, owner)

    assert (gone, back) == ([], [])
    assert come == ["certificate:  → 1833/MDD"]


async def test_one_number_of_two_notified_bodies_is_two_certificates(harness: ServiceHarness) -> None:
    bodies = [a_registered_certificate("N-1", notified_body=body) for body in ("0123", "0482")]
    owner, record = await watched(harness, *bodies)
    withdrawn = a_registered_certificate("N-1", notified_body="0482", status="withdrawn")

    harness.world.change(record.uuid, certificates=(withdrawn, bodies[0]))

    assert await sync(harness, owner) == ["cert_status: Issued → Withdrawn"]


# One certificate gone and one come in the same read

OLD = a_registered_certificate("OLD", expiry="2027-05-01")
NEW = replace(OLD, number="NEW", expiry="2031-05-01", status="amended")


async def test_a_certificate_of_the_same_body_and_kind_in_place_of_another_is_a_change_of_number(
    harness: ServiceHarness,
) -> None:
    owner, record = await watched(harness, OLD)

    harness.world.change(record.uuid, certificates=(NEW,))

    assert await sync(harness, owner) == [
        "certificate: OLD → NEW; cert_status: Issued → Amended; cert_expiry: 2027-05-01 → 2031-05-01"
    ]


@pytest.mark.parametrize(
    "other",
    [replace(NEW, notified_body="0482"), replace(NEW, type="MDR_QUALITY_MANAGEMENT_SYSTEM")],
    ids=["body", "kind"],
)
async def test_a_certificate_of_another_body_or_kind_is_new_and_the_one_that_went_is_no_change(
    harness: ServiceHarness, other: Certificate
) -> None:
    owner, record = await watched(harness, OLD)

    harness.world.change(record.uuid, certificates=(other,))

    assert await sync(harness, owner) == ["certificate:  → NEW"]
    [event] = await harness.get_list(owner.api_key, "events")
    assert event["changes"] == [{"field": "certificate", "old": "", "new": "NEW", "certificate": "NEW"}]
    assert list(await expiring(harness, owner)) == []
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["certificate"], watch["cert_expiry"]) == ("NEW", "2031-05-01")
    assert await sync(harness, owner) == []
    harness.world.change(record.uuid, certificates=(OLD, other))
    assert await sync(harness, owner) == [], "it is back, and what it was is known"
    harness.world.change(record.uuid, certificates=(replace(OLD, status="withdrawn"), other))
    assert await sync(harness, owner) == ["cert_status: Issued → Withdrawn"]


async def test_one_number_of_another_body_is_a_new_certificate_whose_end_is_no_change_of_the_old_end(
    harness: ServiceHarness,
) -> None:
    owner, record = await watched(harness, OLD)

    harness.world.change(record.uuid, certificates=(replace(NEW, number="OLD", notified_body="0482"),))

    assert await sync(harness, owner) == ["certificate:  → OLD"]


async def test_a_certificate_always_has_a_revision(harness: ServiceHarness) -> None:
    _, record = await watched(harness, a_registered_certificate("D-1"), a_registered_certificate("D-2", revision="02"))

    certificates = await served(harness, record)

    assert {number: each["revision"] for number, each in certificates.items()} == {"D-1": "", "D-2": "02"}
    schema = (await harness.get("/openapi.json")).json()["components"]["schemas"]["Certificate"]
    assert {"number", "revision"} <= set(schema["required"])
