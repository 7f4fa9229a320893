"""How a device stands is told with the same words, order and tone on every surface, and as docs/standing.md says."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from registerwatch.pages.addresses import compare_address
from registerwatch.platform.clock import day_of
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import CertificateState, shown_certificates, words_by_status
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, CERTIFICATE_STATUSES, StatusFilter, label
from registerwatch.register.models import Certificate, Completeness, Device
from registerwatch.register.standing import SubjectStanding, device_standing, market_tone
from registerwatch.watches import repository
from registerwatch.watches.diff import NUMBER, STATUS, FieldChange, compare
from registerwatch.watches.events.event_rules import severity_of
from registerwatch.watches.models import EventSeverity
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import Snapshot, encoded, snapshot_of_device
from tests.files.lists.steps import ListSteps
from tests.mcp.messages import used
from tests.notifications.feeds.feed_reader import days_of
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import NewAccount, ServiceHarness

PAGE = (Path(__file__).parents[3] / "docs" / "standing.md").read_text(encoding="utf-8")
SURFACES = ("page", "watch", "scan", "list", "file")
"""Of those in the table of the documentation."""
MARKS = {"good": "✓", "warn": "!", "bad": "✕", "none": "–"}


def _certificate(number: str, expiry: str | None, status: str = "issued", **fields: Any) -> Certificate:
    code = CERTIFICATE_STATUS_PREFIX + status
    return Certificate(number, expiry=expiry, status=label(code), status_code=code, type_code="x", **fields)


FAR, FARTHER, SOON, PAST = "2029-01-01", "2031-06-30", "2027-03-01", "2026-12-01"
VALID = _certificate("Z-1", FAR)
STANDINGS: Mapping[str, tuple[StatusFilter | None, Sequence[Certificate]]] = {
    "valid": (StatusFilter.ON, (VALID,)),
    "two are valid": (StatusFilter.ON, (VALID, _certificate("Z-2", FARTHER))),
    "one has no end date": (StatusFilter.ON, (VALID, _certificate("Z-2", None))),
    "ends soon": (StatusFilter.ON, (_certificate("Z-1", SOON),)),
    "not valid yet": (StatusFilter.ON, (_certificate("Z-1", FAR, valid_from=SOON),)),
    "restricted": (StatusFilter.ON, (VALID, _certificate("Z-2", FARTHER, "restricted"))),
    "expired": (StatusFilter.ON, (_certificate("Z-1", PAST),)),
    "expired by status, not by date": (StatusFilter.ON, (_certificate("Z-1", FAR, "expired"),)),
    "cancelled beside expired": (StatusFilter.ON, (_certificate("Z-1", PAST), _certificate("Z-2", FAR, "cancelled"))),
    "suspended beside valid": (StatusFilter.ON, (VALID, _certificate("Z-2", FARTHER, "suspended"))),
    "withdrawn, suspended and expired": (
        StatusFilter.ON,
        (_certificate("Z-1", PAST), _certificate("Z-2", FAR, "suspended"), _certificate("Z-3", FAR, "withdrawn")),
    ),
    "a status that is not known": (StatusFilter.ON, (_certificate("Z-1", FAR, "held-back"),)),
    "a status that is no longer given": (StatusFilter.ON, (Certificate("Z-1", expiry=FAR, type_code="x"),)),
    "left the market": (StatusFilter.OFF, (VALID,)),
    "no market status": (None, (VALID,)),
    "not for the EU, and withdrawn": (StatusFilter.NOT_EU, (_certificate("Z-1", FAR, "withdrawn"),)),
    "no certificate": (StatusFilter.ON, ()),
    "an earlier one is no longer listed": (StatusFilter.ON, ()),
    "certificates are not read": (StatusFilter.ON, ()),
    "not all certificates are read": (StatusFilter.ON, (VALID,)),
}
UNREAD = frozenset({"certificates are not read", "not all certificates are read"})
"""Devices that a load brought, whose certificates nobody has read since."""
EARLIER = {
    "an earlier one is no longer listed": _certificate("Z-1", FAR),
    "a status that is no longer given": _certificate("Z-1", FAR, "withdrawn"),
}
"""Certificates as they were listed before."""
UDIS = {name: a_udi(number) for number, name in enumerate(STANDINGS)}

Table = dict[str, dict[str, str]]


@pytest.fixture
async def account(harness: ServiceHarness, owner_pages: PagesClient) -> ListSteps:
    """An account that watches a device in each standing and has them in a list."""
    watches: list[NewWatch] = []
    for number, (name, (market, certs)) in enumerate(STANDINGS.items()):
        *own, earlier = (
            each and replace(each, number=f"{number}-{each.number}") for each in (*certs, EARLIER.get(name))
        )
        told: dict[str, Any] = {**_status(market), "certs": tuple(own)}
        reading = a_full_reading(f"u-{number}", UDIS[name], trade_name=name, **told)
        completeness = Completeness.SOME if name in UNREAD else reading.completeness
        await harness.store(replace(reading, completeness=completeness))
        seen = _seen(reading.device, earlier, are_all_read=name not in UNREAD)
        watches.append(NewWatch(UDIS[name], name, encoded(seen), harness.now))
    key = await _watch(harness, owner_pages, *watches)
    return ListSteps(harness, NewAccount("", "", await owner_pages.rest_session(), key, {}))


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_every_surface_tells_every_standing_alike_and_as_the_documentation_has_it(
    harness: ServiceHarness, owner_pages: PagesClient, account: ListSteps
) -> None:
    standings = _expected(harness)
    told = await _told(harness, owner_pages, account)

    for name, standing in standings.items():
        for surface, words in told[name].items():
            _check(f"{name}: {surface}", words, standing)
    table = {name: [each[surface] for surface in SURFACES] for name, each in told.items()}
    assert _table_of_page() == table


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_answers_for_programs_have_the_facts_that_pages_tell(harness: ServiceHarness, account: ListSteps) -> None:
    list_id = await account.kept("GTIN\n" + "\n".join(UDIS.values()))
    lines = {each["subject"]: each for each in await account.lines(list_id)}
    today = day_of(harness.now)
    for name, standing in _expected(harness).items():
        answer = (await harness.get(f"/v1/devices/{UDIS[name]}")).json()
        assert (await used(harness, "get_device", udi=UDIS[name])).payload == answer
        certificates = [Certificate(each["number"], **_facts(each)) for each in answer["certs"]]
        line = lines[UDIS[name]]
        told = device_standing(answer["status"], answer["status_code"], shown_certificates(certificates, today))
        assert replace(told, has_unread="certificates" in answer["missing"]).badges == list(standing.badges)
        assert line["certificates_read"] is (name not in UNREAD)
        assert line["status"] == _status(STANDINGS[name][0])["status"]
        if standing.certificates.covered_until:
            assert line["certified_until"] == standing.certificates.covered_until


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_watches_for_programs_say_how_certificates_stand_in_the_words_of_the_pages(
    harness: ServiceHarness, owner_pages: PagesClient, account: ListSteps
) -> None:
    key = account.owner.api_key
    answers = {each["subject"]: each for each in await harness.get_list(key, "watches")}
    tool = await used(harness, "list_watches", key)
    rows = {row[2]: row[4] for row in (await owner_pages.page("/app/watches")).rows}

    assert tool.payload["watches"] == list(answers.values())
    for name, standing in _expected(harness).items():
        words = standing.certificates.words
        assert answers[UDIS[name]].get("certificate_standing", "") == words, name
        assert standing.certificates.tone == "good" or words.casefold() in rows[UDIS[name]].casefold(), name
    assert "certificate_standing" not in answers[UDIS["no certificate"]]
    earlier = answers[UDIS["an earlier one is no longer listed"]]
    assert ("certificate_standing" in earlier, earlier["certificate_listed"]) == (False, False)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_calendar_and_v1_say_how_a_certificate_stands_where_its_end_date_is_not_all(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    statuses = "issued", "restricted", "suspended", "withdrawn", "expired"
    certs = tuple(_certificate(f"Z-{each}", SOON, each) for each in statuses)
    reading = a_full_reading("u-1", a_udi(1), trade_name="Pump", certs=certs)
    seen = snapshot_of_device(reading.device, certificates_read=True, searched=True)
    key = await _watch(harness, owner_pages, NewWatch(a_udi(1), "Pump", encoded(seen), harness.now))
    feed = (await harness.post("/v1/feeds", key)).json()["feed"]["expiring"]

    days = days_of((await harness.client.get(feed)).content)

    assert sorted(each.summary for each in days) == [
        "Certificate Z-issued ends: Pump",
        "End date of certificate Z-expired (expired by status, not by date): Pump",
        "End date of certificate Z-restricted (restricted): Pump",
        "End date of certificate Z-suspended (suspended): Pump",
        "End date of certificate Z-withdrawn (withdrawn): Pump",
    ]
    items = await harness.get_list(key, "items")
    assert {each["certificate"]: each.get("standing") for each in items} == {
        "Z-issued": None,
        "Z-expired": "Expired by status, not by date",
        "Z-restricted": "Restricted",
        "Z-suspended": "Suspended",
        "Z-withdrawn": "Withdrawn",
    }


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_revisions_of_one_number_are_told_apart_where_certificates_that_end_are_listed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    certs = (
        _certificate("Z-1", SOON, "withdrawn", revision="01"),
        _certificate("Z-1", SOON, revision="02"),
        _certificate("Z-2", SOON),
    )
    reading = a_full_reading("u-1", a_udi(1), trade_name="Pump", certs=certs)
    seen = snapshot_of_device(reading.device, certificates_read=True, searched=True)
    key = await _watch(harness, owner_pages, NewWatch(a_udi(1), "Pump", encoded(seen), harness.now))
    feed = (await harness.post("/v1/feeds", key)).json()["feed"]["expiring"]

    days = days_of((await harness.client.get(f"{feed}&alarms=7")).content)
    items = await harness.get_list(key, "items")
    rows = [row[0] for row in (await owner_pages.page("/app")).rows if row[1:2] == ["Pump"]]

    assert [each.summary for each in days] == [
        "End date of certificate Z-1, revision 01 (withdrawn): Pump",
        "Certificate Z-1, revision 02 ends: Pump",
        "Certificate Z-2 ends: Pump",
    ]
    assert len({each.uid for each in days}) == 3, "calendars show one event of those with one UID"
    assert [(each["certificate"], each.get("revision"), each.get("standing")) for each in items] == [
        ("Z-1", "01", "Withdrawn"),
        ("Z-1", "02", None),
        ("Z-2", None, None),
    ]
    assert [row.partition(" Notified body")[0] for row in rows] == [
        "Z-1 Revision 02",
        "Z-2",
        "Z-1 Revision 01 ✕ Withdrawn",
    ]


def test_a_change_to_a_status_that_is_not_good_or_a_new_certificate_with_it_is_mailed_as_high() -> None:
    """A mail calls severe what a page calls `warn` or `bad`, and nothing else."""
    today = day_of(1_800_000_000)
    for status in CERTIFICATE_STATUSES:
        [shown] = shown_certificates([_certificate("Z-1", FARTHER, status)], today)
        change = FieldChange(STATUS, "Issued", shown.register_word, "Z-1")
        assert (severity_of(change, today) is EventSeverity.HIGH) is (shown.state.tone != "good"), status
        new = FieldChange(NUMBER, "", "Z-1", "Z-1", standing=words_by_status(shown.certificate.status_code) or None)
        assert (severity_of(new, today) is EventSeverity.HIGH) is (shown.state.tone != "good"), status
    for market in StatusFilter:
        change = FieldChange("status", "x", label(market.code))
        assert (severity_of(change, today) is EventSeverity.HIGH) is (market_tone(market.code) != "good"), market


def test_the_page_has_every_state_in_order_of_seriousness() -> None:
    rows = [line.split(" | ") for line in _lines_under("Certificates, the worst first")]
    assert [row[0].removeprefix("| ") for row in rows] == [
        f"{MARKS[each.tone]} {each.words}" for each in CertificateState
    ]


def _status(market: StatusFilter | None) -> dict[str, str]:
    """A market status as words and code, both empty where a record gives none."""
    code = market.code if market else ""
    return {"status": label(code), "status_code": code}


def _seen(device: Device, earlier: Certificate | None, *, are_all_read: bool) -> Snapshot:
    """What the watch of a device has seen, of which the register listed a certificate earlier."""
    now = snapshot_of_device(device, certificates_read=bool(device.certs) or are_all_read, searched=are_all_read)
    if earlier is None:
        return now
    before = replace(device, certs=(earlier,))
    return compare(snapshot_of_device(before, certificates_read=True, searched=True), now)[1]


async def _watch(harness: ServiceHarness, pages: PagesClient, *new: NewWatch) -> str:
    """Watches of the account; a key of it."""
    caller = await pages.caller()
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, new, harness.now)
    key: str = (await harness.post("/v1/keys", await pages.rest_session(), label="tests")).json()["api_key"]
    return key


def _check(where: str, words: str, standing: SubjectStanding) -> None:
    """Whether a surface has the words of a standing, and no tone that is better than it."""
    certificates = standing.certificates
    plain, worst = words.casefold(), certificates.words.partition(" (")[0]
    if standing.status[1] != "good" and not where.endswith(": certificates"):
        assert standing.status_in_file.casefold() in plain, where
    if certificates.words and certificates.tone != "good":
        assert worst.casefold() in plain, where
    worse = {f"✕ {state.words}" for state in CertificateState if state.rank < _worst_rank(worst)}
    assert not any(each in words.replace(worst, "") for each in worse), where
    for fact, day in certificates.ends:
        assert not day or fact.casefold() not in plain or spoken(day) in words or day in words, where
    assert "valid until" not in plain, where
    assert "ends in" not in plain or certificates.counted, where
    assert standing.tone == "good" or not {"✓ In the register", "✓ Found"} & {words[:17], words[:7]}, where


def spoken(day: str) -> str:
    """A day as pages have it: `1 Jan 2029`."""
    return f"{date.fromisoformat(day).day} {date.fromisoformat(day):%b %Y}"


def _worst_rank(words: str) -> int:
    found = [state.rank for state in CertificateState if words.startswith(state.words)]
    return max(found, default=0)


def _expected(harness: ServiceHarness) -> dict[str, SubjectStanding]:
    today = day_of(harness.now)
    return {
        name: replace(
            device_standing(**_status(market), certificates=shown_certificates(certs, today)),
            has_unread=name in UNREAD,
        )
        for name, (market, certs) in STANDINGS.items()
    }


async def _told(harness: ServiceHarness, pages: PagesClient, account: ListSteps) -> Table:
    """What each surface says of each device."""
    list_id = await account.kept("GTIN\n" + "\n".join(UDIS.values()))
    codes = "\n".join(UDIS.values())
    watches = {row[2]: row[4] for row in (await pages.page("/app/watches")).rows}
    links = (await pages.page("/app/watches")).all("a")
    addresses = {each.text: each["href"] or "" for each in links if (each["href"] or "").startswith("/app/watches/")}
    by_device = (await pages.page("/app/certificates", view="devices")).rows
    scanned = {row[0]: row[3] for row in Markup.of(await pages.post("/app/scan", codes=codes)).rows}
    lines = {row[1]: f"{row[2]}; {row[3]}" for row in (await pages.page(f"/app/lists/{list_id}")).rows}
    files = await _files(pages, codes, list_id)
    found: Table = {}
    for name, udi in UDIS.items():
        page = Markup.of(await harness.get(f"/d/{udi}"))
        found[name] = {
            "page": f"{page.facts['Market status']}; {page.facts['Certificates']}",
            "compare": await _compared(harness, udi),
            "watches": watches[udi],
            "watch": _header(await pages.page(addresses[name])),
            "certificates": "; ".join(row[3] for row in by_device if row[0] == f"{name} {udi}"),
            "scan": scanned[f"{name}{udi}"],
            "list": lines[udi].replace(f"; {name}", ";", 1).removesuffix(";"),
            "file": files[udi],
        }
    return found


async def _compared(harness: ServiceHarness, udi: str) -> str:
    other = next(each for each in UDIS.values() if each != udi)
    rows = Markup.of(await harness.client.get(compare_address([udi, other]))).rows
    return "; ".join(row[1] for row in rows if row[0].startswith(("Market status ", "Certificates ")))


def _header(page: Markup) -> str:
    """The badges at the top of the page of a watch."""
    return next(each.text for each in page.all("p") if each.text.endswith(" Read")).removesuffix(" Read")


async def _files(pages: PagesClient, codes: str, list_id: int) -> dict[str, str]:
    """What the files of watches, of a list and of scanned codes say alike."""
    names = ("Certificate standing", "Certificates", "Certificates")
    answers = (
        await pages.get("/app/watches.csv"),
        await pages.get(f"/app/lists/{list_id}/lines.csv"),
        await pages.post("/app/scan", step="csv", codes=codes),
    )
    told = [_rows_of(answer.text, column) for answer, column in zip(answers, names, strict=True)]
    assert told[0] == told[1] == told[2]
    return told[0]


def _rows_of(text: str, column: str) -> dict[str, str]:
    found = {}
    for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))):
        status = row.get("Market status") or row.get("Status") or ""
        cells = status, row[column], row["First end"], row["Covered until"]
        found[row["UDI-DI or SRN"]] = "; ".join(cell or "–" for cell in cells)
    return found


def _facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("expiry", "status", "status_code", "valid_from") if name in answer}


def _lines_under(heading: str) -> list[str]:
    """The rows of the first table under a heading."""
    table = PAGE.partition(f"\n## {heading}\n")[2].partition("\n|")[2].partition("\n\n")[0]
    return f"|{table}".splitlines()[2:]


def _table_of_page() -> dict[str, list[str]]:
    rows = [line.strip("|").strip().split(" | ") for line in _lines_under("What each surface says")]
    return {row[0]: row[1:] for row in rows}
