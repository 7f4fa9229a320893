"""Certificates of manufacturers on pages: of the manufacturer, of a device, of one certificate, of a search."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from registerwatch.pages.public.certificates.listed_certificates import BY_RECORD, BY_SCOPE, NOT_THIS, SCOPE_UNREAD
from registerwatch.platform.structs import replace
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, certificate, gtin, registration
from tests.register.certificate_rows import (
    BODY,
    BODY_NAME,
    STATUS,
    a_certificate,
    a_refusal,
    certificate_id,
    note_history,
    note_walk,
    scopes,
    store_certificates,
)
from tests.support.harness import NOW, ServiceHarness

SRN = MAKER["srn"]
TODAY = date(2027, 1, 15)
AS_OF = "15 Jan 2027, 05:13 UTC"
HOSTILE = "<script>window.hacked = true</script>\u202e"


def of_maker(place: int, /, status: str = "issued", **fields: Any) -> dict[str, Any]:
    """A certificate of the manufacturer of every registration."""
    return a_certificate(place, status, **{"srn": SRN, **fields})


async def page_of(harness: ServiceHarness, path: str, **params: str) -> Markup:
    """A page with status 200."""
    response = await harness.get(path, **params)
    assert response.status_code == 200, response.text
    markup = Markup.of(response)
    assert markup.problems == []
    return markup


def utc(at: float) -> datetime:
    """Unix seconds as a time."""
    return datetime.fromtimestamp(at, UTC)


def texts(markup: Markup) -> str:
    """All paragraphs and captions."""
    return " ".join(each.text for tag in ("p", "caption") for each in markup.all(tag))


async def test_a_manufacturer_shows_its_certificates_those_in_force_first(site: SiteMaker) -> None:
    async with site(registration(gtin(1))) as harness:
        await note_walk(harness.database)
        await store_certificates(
            harness.database,
            of_maker(1, expiry="2030-09-16", **scopes()),
            of_maker(2, expiry=None, **scopes("++B-1")),
            of_maker(3, expiry="2027-02-01"),
            of_maker(4, "suspended", expiry="2029-01-01"),
            of_maker(5, expiry="2027-01-10", notified_body="9999"),
            of_maker(6, unlisted_at=NOW),
            bodies={BODY: BODY_NAME},
        )

        page = await page_of(harness, f"/a/{SRN}")

        ends = {row[0].split()[0]: row[1:3] for row in page.rows if row[0].startswith("Z-")}
        assert list(ends) == ["Z-25-003", "Z-25-001", "Z-25-002", "Z-25-004", "Z-25-005", "Z-25-006"]
        named = [row[0].partition("Notified body ")[2] for row in page.rows if row[0].startswith("Z-")]
        assert set(named) == {f"{BODY_NAME} ({BODY})", "9999"}
        assert ends["Z-25-003"] == ["! Ends within 90 days register: issued", "1 Feb 2027 Ends in 17 days"]
        assert ends["Z-25-001"] == ["✓ Valid register: issued", "16 Sep 2030 Ends in 1,340 days"]
        assert ends["Z-25-002"] == ["✓ No end date register: issued", "No end date"]
        assert ends["Z-25-005"] == ["✕ Expired register: issued", "10 Jan 2027 Ended 5 days ago"]
        assert ends["Z-25-004"][0] == "✕ Suspended"
        assert ends["Z-25-006"][0] == "✕ No longer listed register: issued"
        assert "A certificate of the manufacturer; its scope names no device." in [row[-1] for row in page.rows]
        assert f"6 certificates, those in force first; the register’s list as of {AS_OF}" in texts(page)
        assert page.link("Z-25-001") == f"/c/{certificate_id(1)}"


async def test_certificates_that_are_not_known_to_be_in_force_stand_behind_those_that_are(site: SiteMaker) -> None:
    async with site(registration(gtin(1))) as harness:
        await note_walk(harness.database)
        await store_certificates(
            harness.database,
            of_maker(1, "withdrawn", expiry="2027-02-01"),
            of_maker(2, "held-back", expiry="2027-02-01"),
            of_maker(3, expiry="2027-06-01", valid_from="2027-03-01"),
            of_maker(4, "restricted", expiry="2029-01-01"),
            of_maker(5, expiry=None),
        )

        page = await page_of(harness, f"/a/{SRN}")

    numbers = [row[0].split()[0] for row in page.rows if row[0].startswith("Z-")]
    assert numbers == ["Z-25-004", "Z-25-005", "Z-25-002", "Z-25-003", "Z-25-001"]


async def test_a_manufacturer_shows_refused_applications(site: SiteMaker) -> None:
    async with site(registration(gtin(1))) as harness:
        await note_walk(harness.database)
        await store_certificates(
            harness.database, refused=(a_refusal(1, srn=SRN), a_refusal(2, srn=SRN, refused_on=None))
        )

        rows = (await page_of(harness, f"/a/{SRN}")).rows

        assert ["APP-002", "No date given", BODY, "Annex ix chapter i"] in rows
        assert ["APP-001", "4 May 2026", BODY, "Annex ix chapter i"] in rows


@pytest.mark.parametrize(
    ("walk", "words"),
    [
        (None, "Not read yet. The register’s list of certificates has not been read yet. An empty list says nothing"),
        (
            {"complete_at": None, "problem": "It has a fault."},
            "Could not be read. The register’s list of certificates could not be read. It has a fault.",
        ),
        (
            {"problem": "It has a fault."},
            (
                "May be out of date. The register’s list of certificates could not be read again. It has a fault."
                f" What is here is of {AS_OF}."
            ),
        ),
        ({}, f"The register’s list of {AS_OF} has no certificate of this manufacturer."),
    ],
)
async def test_none_not_looked_yet_and_could_not_look_are_told_differently(
    site: SiteMaker, walk: dict[str, Any] | None, words: str
) -> None:
    async with site(registration(gtin(1))) as harness:
        if walk is not None:
            await note_walk(harness.database, **walk)

        of_maker_page = texts(await page_of(harness, f"/a/{SRN}"))
        of_device_page = texts(await page_of(harness, f"/d/{gtin(1)}"))
        missing = Markup.of(await harness.get(f"/c/{certificate_id(1)}"))

        assert words in of_maker_page
        assert words in of_device_page
        assert ("has no certificate" in of_maker_page) is (walk is not None and "complete_at" not in walk)
        assert missing.one("h1").text == ("No such certificate" if walk == {} else "This certificate cannot be shown")


async def test_a_device_says_which_certificates_of_its_manufacturer_name_it(site: SiteMaker) -> None:
    own = certificate("Z-25-003", "2030-09-16")
    async with site(registration(gtin(1), certificates=[own], basic_udi="++B-1")) as harness:
        await note_walk(harness.database)
        await store_certificates(
            harness.database,
            of_maker(1, **scopes("++B-1", "++B-2")),
            of_maker(2, **scopes("++B-2")),
            of_maker(3, **scopes()),
            of_maker(4),
            *(of_maker(number, "withdrawn") for number in range(5, 15)),
        )
        await harness.client.post(f"/d/{gtin(1)}")

        page = await page_of(harness, f"/d/{gtin(1)}")

        told = {
            row[0].split()[0]: row[-1] for row in page.rows if row[-1] in (BY_SCOPE, BY_RECORD, NOT_THIS, SCOPE_UNREAD)
        }
        assert list(told)[:2] == ["Z-25-001", "Z-25-003"]
        assert [told[f"Z-25-00{number}"] for number in (1, 2, 3, 4)] == [BY_SCOPE, NOT_THIS, BY_RECORD, SCOPE_UNREAD]
        assert len(told) == 10
        assert (
            "They are no proof for this device, unless its record or the scope of the certificate names it."
            in texts(page)
        )
        assert "10 of 14 certificates, those that are named for this device first, then those in force" in texts(page)
        assert page.link("Certificates on the page of the manufacturer") == f"/a/{SRN}#certificates"


async def test_a_device_that_was_read_after_a_scope_and_does_not_list_the_certificate_says_both_with_their_times(
    site: SiteMaker,
) -> None:
    own = [certificate("Z-25-002", "2030-09-16"), certificate("Z-25-001", "2030-09-16")]
    async with site(registration(gtin(1), certificates=own, basic_udi="++B-1")) as harness:
        await note_walk(harness.database)
        await store_certificates(harness.database, of_maker(1, **scopes("++B-1")), of_maker(2))
        await harness.client.post(f"/d/{gtin(1)}")
        before = await certificates_beside(harness)
        [record] = harness.world.by_primary_di(gtin(1))
        harness.world.change(record.uuid, certificates=record.certificates[:1])
        harness.clock.move(3600)
        await harness.client.post(f"/d/{gtin(1)}")

        after = await certificates_beside(harness)

    assert before == [("Z-25-001", BY_SCOPE), ("Z-25-002", BY_RECORD)]
    assert after == [
        ("Z-25-002", BY_RECORD),
        (
            "Z-25-001",
            (
                f"In doubt: its scope, as of {AS_OF}, names the Basic UDI-DI of this device; the device’s record,"
                " read later, as of 15 Jan 2027, 09:00 UTC, does not list it"
            ),
        ),
    ]


async def certificates_beside(harness: ServiceHarness) -> list[tuple[str, str]]:
    """What the page of the device says of each certificate of its manufacturer."""
    rows = (await page_of(harness, f"/d/{gtin(1)}")).rows
    return [(row[0].split()[0], row[-1]) for row in rows if len(row) == 4 and row[0].startswith("Z-")]


@pytest.mark.parametrize(
    ("hours", "standing", "age"), [(-1, "✕ Withdrawn", "A newer"), (1, "✓ Valid register: issued", "An older")]
)
async def test_a_certificate_that_a_device_has_otherwise_stands_as_the_newer_read_has_it_and_both_are_said(
    site: SiteMaker, hours: int, standing: str, age: str
) -> None:
    own = [certificate("Z-25-001", "2029-01-01"), certificate("Z-25-002", "2030-09-16")]
    async with site(registration(gtin(1), certificates=own)) as harness:
        [record] = harness.world.by_primary_di(gtin(1))
        withdrawn, other = record.certificates
        harness.world.change(record.uuid, certificates=(replace(withdrawn, status="withdrawn"), other))
        await harness.client.post(f"/d/{gtin(1)}")
        await note_walk(harness.database)
        listed_at = harness.now + hours * 3600
        await store_certificates(harness.database, *(of_maker(each, seen_at=listed_at) for each in (1, 2)))

        page = await page_of(harness, f"/d/{gtin(1)}")

    rows = {row[0].split()[0]: row[1] for row in page.rows if row[-1] == BY_RECORD}
    read, listed = (f"{time:%-d %b %Y, %H:%M} UTC" for time in map(utc, (NOW, listed_at)))
    assert rows["Z-25-001"] == (
        f"{standing} {age} read of this device says: withdrawn, end 1 Jan 2029, as of {read}."
        f" The register’s list says: valid, end 16 Sep 2030, as of {listed}."
    )
    assert "read of this device" not in rows["Z-25-002"]


async def test_a_certificate_has_a_page_with_its_scopes_and_its_history(site: SiteMaker) -> None:
    async with site(registration(gtin(1)), public_url="https://r.example") as harness:
        await note_walk(harness.database)
        scope = scopes("++B-1", description="Zirconia blanks", risk_class_code="refdata.risk-class.class-iia")
        await store_certificates(
            harness.database, of_maker(1, "suspended", revision="2", **scope), bodies={BODY: BODY_NAME}
        )
        await note_history(harness.database, 1, NOW - 7200, status_code="", expiry="2029-01-01")
        await note_history(harness.database, 1, NOW - 3600, status_code=f"{STATUS}issued")

        page = await page_of(harness, f"/c/{a_certificate(1)['uuid']}")
        answer = (await harness.get(f"/v1/certificates/{certificate_id(1)}")).json()

        assert page.one("h1").text == "Z-25-001"
        assert (page.facts["Standing today"], page.facts["Expiry"]) == ("✕ Suspended", "16 Sep 2030")
        assert page.facts["Notified body"] == f"{BODY_NAME} ({BODY})"
        assert "It proves nothing today: the register calls it suspended." in texts(page)
        assert ["Zirconia blanks", "++B-1", "Class IIa", "None"] in page.rows
        changes = [row[1:] for row in page.rows if "Jan 2027" in row[0]]
        assert changes == [
            ["Status", "Issued", "Suspended"],
            ["Status", "nothing", "Issued"],
            ["Date of expiry", "1 Jan 2029", "16 Sep 2030"],
        ]
        assert answer["history"][1]["changes"][1] == {"field": "expiry", "old": "2029-01-01", "new": "2030-09-16"}
        assert page.one("link", rel="canonical")["href"] == f"https://r.example/c/{certificate_id(1)}"
        assert page.structured["@type"] == "Certification"
        assert page.structured["certificationIdentification"] == "Z-25-001"
        assert page.structured["issuedBy"]["name"] == BODY_NAME


async def test_a_search_by_number_shows_certificates_above_devices(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Z-25-001 Stem")) as harness:
        await store_certificates(harness.database, of_maker(1), of_maker(2))

        page = await page_of(harness, "/", q="z-25-001")

        assert [each.text for each in page.all("h2")][:2] == ["Certificates with this number", "1 device found by name"]
        assert page.link("Z-25-001") == f"/c/{certificate_id(1)}"
        assert page.one("section")["data-announce"] == "1 certificate with this number. 1 device found by name"


async def test_hostile_texts_stay_texts_on_every_page(site: SiteMaker) -> None:
    texts_of_row = {"number": f"{HOSTILE} 1", "revision": HOSTILE, "actor_name": HOSTILE, "type_code": HOSTILE}
    codes = {"status_code": HOSTILE, "expiry": HOSTILE, "issue_date": HOSTILE, "valid_from": HOSTILE}
    scope = scopes(HOSTILE, description=HOSTILE, risk_class_code=HOSTILE, device_type_codes=[HOSTILE])
    async with site(registration(gtin(1))) as harness:
        await note_walk(harness.database, problem=HOSTILE)
        await store_certificates(
            harness.database,
            of_maker(1, **texts_of_row, **codes, **scope),
            refused=(a_refusal(1, srn=SRN, reference=HOSTILE, procedure_code=HOSTILE, refused_on=HOSTILE),),
            bodies={BODY: HOSTILE},
        )
        await note_history(harness.database, 1, status_code=HOSTILE, expiry=HOSTILE, unknown=HOSTILE)

        for path in (f"/c/{certificate_id(1)}", f"/a/{SRN}", f"/d/{gtin(1)}", f"/?q={HOSTILE} 1", f"/c/{HOSTILE}"):
            page = Markup.of(await harness.client.get(path))
            assert page.problems == [], path
            assert not [each for each in page.all("script") if "hacked" in each.text and not each.attributes], path
            assert page.all("bdi"), path
