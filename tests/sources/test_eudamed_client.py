"""Whole reads: what they cost, which of several records they prefer, what they make of half an answer."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness
from registerwatch.register.outcomes import Found, NotFound, ReadFailed, RegisterFailure
from registerwatch.sources.eudamed.client import EudamedClient
from registerwatch.sources.eudamed.guards import REPROBE_SECONDS
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Certificate, Registration
from registerwatch_standins.register.world import World
from tests.register.builders import a_registered_certificate
from tests.register.canned import CannedRegister, a_page, ok, one_device
from tests.sources.conftest import Sender
from tests.sources.reader import Reader, known_from, reading
from tests.support.fakes import SteppedClock

DAY = 24 * 3600
NOBODYS = "04099999999992"


@pytest.fixture
def world() -> World:
    return GeneratedWorld(120, seed=7)


@pytest.fixture
async def reader(world: World, database: Database, clock: SteppedClock) -> AsyncIterator[Reader]:
    async with reading(world, database, clock) as reader:
        yield reader


def a_record(world: World, **differs: Any) -> Registration:
    """A regulation's registration with a Basic UDI-DI, alone under its UDI-DI, with these fields."""
    record = next(
        each
        for each in world.newest(10, 110)
        if each.legislation == "mdr" and each.basic_udi and len(world.by_primary_di(each.primary_di)) == 1
    )
    return world.change(record.uuid, new_version=False, **differs) if differs else record


def a_twin(world: World, record: Registration, uuid: str, **differs: Any) -> Registration:
    """Another registration of the same UDI-DI."""
    return world.register(replace(record, uuid=uuid, **differs))


def a_certificate(number: str, listed_in: str, **differs: Any) -> Certificate:
    return a_registered_certificate(number, listed_in, **{"expiry": "2031-05-01", **differs})


LEGACY = a_certificate("D-1", "basic-udi-record")
SEARCHED = a_certificate("Z-2", "certificate-search")

# What a read costs


async def test_the_first_read_probes_each_filter_once_and_the_next_one_does_not(reader: Reader) -> None:
    first, second = reader.world.newest(0, 2)

    await reader.found(first.primary_di)
    assert reader.asked() == {
        "search probe": 1, "search": 1, "detail": 1, "basic": 1, "certificates probe": 1, "certificates": 1,
    }  # fmt: skip
    await reader.found(second.primary_di)
    assert reader.asked() == {"search": 1, "detail": 1, "basic": 1, "certificates": 1}


async def test_filters_are_probed_again_after_a_day(reader: Reader) -> None:
    udi = reader.world.newest(0, 1)[0].primary_di
    await reader.found(udi)
    reader.clock.move(DAY - 60)
    reader.asked()
    await reader.found(udi)
    assert not any("probe" in kind for kind in reader.asked())

    reader.clock.move(61)
    await reader.found(udi)

    assert {kind for kind in reader.asked() if "probe" in kind} == {"search probe", "certificates probe"}


async def test_a_probe_asks_exactly_what_the_read_asks_but_for_the_value(reader: Reader) -> None:
    await reader.found(reader.world.newest(0, 1)[0].primary_di)

    for kind, name in (("search", "primaryDi"), ("certificates", "basicUdi")):
        probe, question = reader.queries(kind)
        assert probe[name] != question[name]
        assert {**probe, name: ""} == {**question, name: ""}


async def test_the_detail_is_left_out_while_its_version_is_stored_and_the_basic_record_never_is(
    reader: Reader,
) -> None:
    record = a_record(reader.world)
    before = await reader.found(record.primary_di)
    reader.asked()

    again = await reader.found(record.primary_di, known_from(before))

    assert reader.asked() == {"search": 1, "basic": 1, "certificates": 1}
    assert [each.keeps_detail for each in again] == [True]
    assert [replace(each, keeps_detail=False) for each in again] == before


async def test_a_new_version_brings_the_detail_again(reader: Reader) -> None:
    record = a_record(reader.world)
    before = await reader.found(record.primary_di)
    reader.world.change(record.uuid, trade_names={"en": "Renamed", "": "Renamed for all"})
    reader.asked()

    [after] = await reader.found(record.primary_di, known_from(before))

    assert reader.asked()["detail"] == 1
    assert after.device.trade_names == {"en": "Renamed", "": "Renamed for all"}
    assert after.detail_version == record.version_number + 1


@pytest.mark.parametrize("listed_in", ["basic-udi-record", "certificate-search"])
async def test_a_certificate_that_changes_without_a_new_version_is_seen(reader: Reader, listed_in: str) -> None:
    certificate = a_certificate("N-1", listed_in)
    record = a_record(reader.world, certificates=(certificate,))
    before = await reader.found(record.primary_di)
    assert [each.expiry for each in before[0].device.certs] == ["2031-05-01"]
    reader.world.change(record.uuid, certificates=(replace(certificate, expiry="2036-05-01"),))
    reader.asked()

    [after] = await reader.found(record.primary_di, known_from(before))

    assert "detail" not in reader.asked()
    assert [each.expiry for each in after.device.certs] == ["2036-05-01"]


# Filters that are ignored


async def test_a_search_whose_probe_finds_something_is_not_relied_on(reader: Reader) -> None:
    reader.faults.fail("search", "ignored-filter")

    result = await reader.client.read_device(reader.world.newest(0, 1)[0].primary_di)

    assert isinstance(result, ReadFailed)
    assert "ignored the filter" in result.reason
    assert reader.asked() == {"search probe": 1}
    assert isinstance(await reader.client.read_device(NOBODYS), ReadFailed)
    assert reader.asked() == {"search probe": 1}, "what is not proven is probed before each read"


@pytest.mark.parametrize("mode", ["ignored-filter", "wrong-rows"])
async def test_a_filter_that_stops_filtering_after_its_probe_brings_nobody_elses_device(
    reader: Reader, mode: Any
) -> None:
    await reader.found(reader.world.newest(0, 1)[0].primary_di)
    reader.faults.fail("search", mode)

    result = await reader.client.read_device(NOBODYS)

    assert isinstance(result, ReadFailed)
    assert "ignored the filter" in result.reason


async def test_a_refuted_certificate_filter_is_left_alone_for_minutes_and_costs_the_device_nothing(
    world: World, database: Database, clock: SteppedClock
) -> None:
    record = a_record(world, certificates=(LEGACY, SEARCHED))
    async with reading(world, database, clock, basic_udi_filter_works=False) as reader:
        [told] = await reader.found(record.primary_di)
        assert reader.asked()["certificates probe"] == 1
        assert told.completeness is Completeness.EVERYTHING
        assert [each.number for each in told.device.certs] == ["D-1"], "what the Basic UDI-DI record lists"

        clock.move(REPROBE_SECONDS - 60)
        await reader.found(record.primary_di)
        assert reader.asked().keys() & {"certificates", "certificates probe"} == set()

        reader.state.eudamed.basic_udi_filter_works = True
        clock.move(61)
        [told] = await reader.found(record.primary_di)
        assert [each.number for each in told.device.certs] == ["D-1", "Z-2"]


async def test_a_certificate_filter_that_stops_filtering_brings_nobody_elses_certificates(
    world: World, database: Database, clock: SteppedClock
) -> None:
    record = a_record(world, certificates=(LEGACY, SEARCHED))
    stranger = next(each for each in world.newest(0, 120) if each.manufacturer.srn != record.manufacturer.srn)
    world.change(stranger.uuid, certificates=(a_certificate("FOREIGN", "certificate-search"),))
    async with reading(world, database, clock) as reader:
        [before] = await reader.found(record.primary_di)
        assert [each.number for each in before.device.certs] == ["D-1", "Z-2"]

        reader.state.eudamed.basic_udi_filter_works = False  # as after an update of the register
        [after] = await reader.found(record.primary_di, known_from([before]))

        assert "FOREIGN" not in [each.number for each in after.device.certs]
        assert after.completeness is Completeness.ALL_BUT_CERTIFICATES


async def test_certificates_that_were_read_while_the_filter_worked_do_not_vanish_once_it_is_refuted(
    world: World, database: Database, clock: SteppedClock
) -> None:
    record = a_record(world, certificates=(LEGACY, SEARCHED))
    async with reading(world, database, clock) as reader:
        before = await reader.found(record.primary_di)
        reader.state.eudamed.basic_udi_filter_works = False
        clock.move(DAY + 1)

        [after] = await reader.found(record.primary_di, known_from(before))

        kept = after.completeness is Completeness.ALL_BUT_CERTIFICATES
        assert kept or [each.number for each in after.device.certs] == ["D-1", "Z-2"]


async def test_a_reading_says_whether_the_certificate_search_had_its_say(
    world: World, database: Database, clock: SteppedClock
) -> None:
    record = a_record(world, certificates=(LEGACY, SEARCHED))
    async with reading(world, database, clock, basic_udi_filter_works=False) as reader:
        [unasked] = await reader.found(record.primary_di)
        reader.state.eudamed.basic_udi_filter_works = True
        clock.move(DAY + 1)
        [asked] = await reader.found(record.primary_di)
        reader.faults.fail("certificates", "http-500")
        [failed] = await reader.found(record.primary_di)

    assert (unasked.searched, asked.searched, failed.searched) == (False, True, False)


@pytest.mark.parametrize("kind", ["search", "certificates"])
async def test_a_probe_that_is_throttled_is_asked_again_and_refutes_no_filter(reader: Reader, kind: Any) -> None:
    record = a_record(reader.world, certificates=(SEARCHED,))
    reader.faults.fail(kind, "empty-page", times=1)
    begin = reader.clock.now()

    [told] = await reader.found(record.primary_di)

    assert [each.number for each in told.device.certs] == ["Z-2"]
    assert reader.asked()[f"{kind} probe"] == 2
    assert reader.clock.now() - begin >= 5, "the register wants fewer requests"


# Certificates


async def test_certificates_of_both_sources_stand_together_in_order(reader: Reader) -> None:
    record = a_record(reader.world, certificates=(SEARCHED, LEGACY, a_certificate("A-3", "certificate-search")))

    [told] = await reader.found(record.primary_di)

    assert [each.number for each in told.device.certs] == ["A-3", "D-1", "Z-2"]
    assert [each.status for each in told.device.certs] == ["Issued"] * 3
    assert told.device.certs[1].notified_body_name == "Body"
    assert told.completeness is Completeness.EVERYTHING


async def test_one_certificate_in_both_sources_is_one_certificate(reader: Reader) -> None:
    both = (a_certificate("Z-2", "basic-udi-record", status="expired"), SEARCHED)
    record = a_record(reader.world, certificates=both)

    [told] = await reader.found(record.primary_di)

    assert [(each.number, each.status) for each in told.device.certs] == [("Z-2", "Issued")]


async def test_two_revisions_of_a_certificate_are_two(reader: Reader) -> None:
    revisions = tuple(a_certificate("Z-2", "certificate-search", revision=each) for each in ("00", "01"))
    record = a_record(reader.world, certificates=revisions)

    [told] = await reader.found(record.primary_di)

    assert [each.key for each in told.device.certs] == [("Z-2", "00"), ("Z-2", "01")]


@pytest.mark.parametrize("mode", ["http-500", "timeout", "empty-page", "broken-json", "json-of-wrong-shape"])
async def test_a_certificate_search_that_cannot_be_read_leaves_the_rest_of_the_read(reader: Reader, mode: Any) -> None:
    record = a_record(reader.world, certificates=(LEGACY, SEARCHED))
    await reader.found(record.primary_di)
    reader.world.change(record.uuid, reference="NEW-1")
    reader.faults.fail("certificates", mode)

    [told] = await reader.found(record.primary_di)

    assert told.completeness is Completeness.ALL_BUT_CERTIFICATES
    assert told.device.reference == "NEW-1"


async def test_a_legacy_device_asks_for_no_certificates_by_the_code_that_eudamed_made_of_its_udi_di(
    reader: Reader,
) -> None:
    record = next(each for each in reader.world.newest(0, 120) if each.basic_udi is None)

    [told] = await reader.found(record.primary_di)

    assert reader.asked().keys() & {"certificates", "certificates probe"} == set()
    assert told.completeness is Completeness.EVERYTHING


# Twins


@pytest.mark.parametrize(
    ("twin", "wins"),
    [
        ({"latest_version": False, "version_number": 99}, False),
        ({"legislation": "mdd", "version_number": 99}, False),
        ({"legislation": "ivdr", "version_number": 99}, True),
        ({"version_number": 0}, False),
        ({}, False),
    ],
    ids=["superseded", "legacy", "higher version", "lower version", "larger uuid"],
)
async def test_the_record_that_answers_is_the_first_and_the_only_one_read_in_full(
    reader: Reader, twin: dict[str, Any], wins: bool
) -> None:
    record = a_record(reader.world)
    a_twin(reader.world, record, "ffffffff-0000-4000-8000-000000000000", **twin)

    first, second = await reader.found(record.primary_di)

    assert (first.device.uuid != record.uuid) is wins
    assert (first.completeness, second.completeness) == (Completeness.EVERYTHING, Completeness.SOME)
    assert first.device.legislation_code
    assert second.device.legislation_code
    assert reader.asked()["detail"] == 1


async def test_of_equals_the_smaller_uuid_answers(reader: Reader) -> None:
    record = a_record(reader.world)
    a_twin(reader.world, record, "00000000-0000-4000-8000-000000000000")

    first, _ = await reader.found(record.primary_di)

    assert first.device.uuid == "00000000-0000-4000-8000-000000000000"


async def test_the_legislation_of_twins_that_are_stored_is_not_asked_again(reader: Reader) -> None:
    record = a_record(reader.world)
    a_twin(reader.world, record, "ffffffff-0000-4000-8000-000000000000", legislation="mdd")
    before = await reader.found(record.primary_di)
    assert reader.asked()["basic"] == 2

    again = await reader.found(record.primary_di, known_from(before))

    assert [replace(each, keeps_detail=False) for each in again] == before
    assert reader.asked()["basic"] == 1, "that of the current record alone"


async def test_too_many_records_under_one_udi_are_no_answer_rather_than_a_wrong_one(reader: Reader) -> None:
    record = a_record(reader.world)
    for number in range(8):
        a_twin(reader.world, record, f"{number}fffffff-0000-4000-8000-000000000000", legislation="mdd")

    result = await reader.client.read_device(record.primary_di)

    assert isinstance(result, ReadFailed)
    assert "too many records" in result.reason


async def test_a_record_that_is_listed_twice_is_read_once_and_in_full(sender: Sender, clock: SteppedClock) -> None:
    row = {"uuid": "u-1", "primaryDi": NOBODYS, "basicUdi": "B-1", "versionNumber": 1}
    client = EudamedClient(sender(one_device(row, more_rows=(row,))), "http://register.test", clock)

    result = await client.read_device(NOBODYS)

    assert isinstance(result, Found)
    assert [(each.device.uuid, each.completeness) for each in result.value] == [("u-1", Completeness.EVERYTHING)]


async def test_a_list_that_breaks_off_before_its_total_is_not_taken_for_the_whole(
    sender: Sender, clock: SteppedClock
) -> None:
    row = {"uuid": "u-1", "primaryDi": NOBODYS, "basicUdi": "B-1", "versionNumber": 1}

    async def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("primaryDi") == NOBODYS:
            return ok(a_page(row, total=2))
        return await whole.handle_async_request(request)

    whole = one_device(row)
    client = EudamedClient(sender(CannedRegister(answer)), "http://register.test", clock)

    assert isinstance(await client.read_device(NOBODYS), ReadFailed), "a stored twin may be on the rest of the list"


# Other records, no records


async def test_a_udi_that_the_register_does_not_have_is_not_found(reader: Reader) -> None:
    assert await reader.client.read_device(NOBODYS) == NotFound()
    assert reader.asked() == {"search probe": 1, "search": 1}


@pytest.mark.parametrize("kind", ["detail", "basic"])
@pytest.mark.parametrize("mode", ["wrong-record", "redirect-302", "json-of-null-fields"])
async def test_a_record_that_is_another_devices_or_missing_is_unreadable_and_never_not_found(
    reader: Reader, kind: Any, mode: Any
) -> None:
    record = a_record(reader.world)
    reader.faults.fail(kind, mode)

    assert isinstance(await reader.client.read_device(record.primary_di), ReadFailed)


@pytest.mark.parametrize("uuid", ["a\nb", "\x00", "../../other", "a?b#c", "a/b", "http://elsewhere.test/"])
async def test_a_key_of_the_register_never_leads_a_request_elsewhere(
    sender: Sender, clock: SteppedClock, uuid: str
) -> None:
    register = one_device({"uuid": uuid, "primaryDi": NOBODYS, "versionNumber": 1})
    client = EudamedClient(sender(register), "http://register.test/eudamed", clock)

    await client.read_device(NOBODYS)

    for request in register.asked:
        assert request.url.host == "register.test"
        assert request.url.path.startswith(("/eudamed/devices/", "/eudamed/certificates/")), request.url
        assert request.url.params["languageIso2Code"] == "en"


# Actors


async def test_an_actor_is_told_with_its_count_and_a_page_of_its_devices(reader: Reader) -> None:
    record = a_record(reader.world)
    srn = record.manufacturer.srn

    result = await reader.client.read_actor(srn)

    assert isinstance(result, Found)
    actor, rows = result.value.actor, result.value.rows
    owned = [each for each in reader.world.newest(0, 120) if each.manufacturer.srn == srn]
    assert (actor.srn, actor.name, actor.country) == (srn, record.manufacturer.name, srn[:2])
    assert actor.device_total == len(owned)
    assert actor.status_code == "refdata.actor-status.active"
    assert actor.complete
    assert {each.device.manufacturer_srn for each in rows} == {srn}
    assert len(rows) == len(owned) > 20
    assert reader.asked() == {"actor-search probe": 1, "actor-search": 1, "search probe": 1, "search": 1}


async def test_an_authorised_representative_is_told_with_its_count_and_without_rows(reader: Reader) -> None:
    represented = [each for each in reader.world.newest(0, 120) if each.authorised_representative]
    assert represented[0].authorised_representative is not None
    srn = represented[0].authorised_representative.srn

    result = await reader.client.read_actor(srn)

    assert isinstance(result, Found)
    assert result.value.rows == []
    assert result.value.actor.device_total == sum(
        each.authorised_representative is not None and each.authorised_representative.srn == srn for each in represented
    )


async def test_an_actor_that_the_register_does_not_have_is_not_found(reader: Reader) -> None:
    assert await reader.client.read_actor("DE-MF-999999999") == NotFound()


UNREADABLE_ROWS: dict[str, Any] = {
    "no uuid": {"uuid": None, "primaryDi": "04099999999992"},
    "an empty uuid": {"uuid": " ", "primaryDi": "04099999999992"},
    "no UDI-DI": {"uuid": "u-9"},
    "a UDI-DI that is a number": {"uuid": "u-9", "primaryDi": 4099999999992},
    "null": None,
    "a list": [],
}
unreadable_rows = pytest.mark.parametrize("row", UNREADABLE_ROWS.values(), ids=UNREADABLE_ROWS)


def a_manufacturer(*rows: Any) -> CannedRegister:
    """A register of one manufacturer whose devices are these rows."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("srn") != SRN:
            return ok(a_page())
        return ok(a_page({"srn": SRN, "name": "Alpha"}) if request.url.path.endswith("/eos") else a_page(*rows))

    return CannedRegister(answer)


SRN = "DE-MF-000000001"
ITS_ROW = {"uuid": "u-1", "primaryDi": NOBODYS, "manufacturerSrn": SRN}


@unreadable_rows
async def test_an_actor_is_told_without_a_row_that_cannot_be_read_and_with_its_whole_count(
    sender: Sender, clock: SteppedClock, row: Any
) -> None:
    client = EudamedClient(sender(a_manufacturer(row, ITS_ROW)), "http://register.test", clock)

    result = await client.read_actor(SRN)

    assert isinstance(result, Found)
    assert [each.device.uuid for each in result.value.rows] == ["u-1"]
    assert result.value.actor.device_total == 2


@unreadable_rows
async def test_rows_that_cannot_be_read_hide_no_row_of_somebody_else(
    sender: Sender, clock: SteppedClock, row: Any
) -> None:
    others = {**ITS_ROW, "manufacturerSrn": "FR-MF-000000002"}
    for rows in ((row, others), (row, ITS_ROW, others), (row,)):
        client = EudamedClient(sender(a_manufacturer(*rows)), "http://register.test", clock)
        assert isinstance(await client.read_actor(SRN), ReadFailed)


@unreadable_rows
async def test_a_device_one_of_whose_records_cannot_be_read_is_unreadable(
    sender: Sender, clock: SteppedClock, row: Any
) -> None:
    register = one_device({"uuid": "u-1", "primaryDi": NOBODYS, "versionNumber": 1}, more_rows=(row,))
    client = EudamedClient(sender(register), "http://register.test", clock)

    result = await client.read_device(NOBODYS)

    assert isinstance(result, ReadFailed), "it may be the record that counts"


@pytest.mark.parametrize("mode", ["ignored-filter", "wrong-rows", "empty-page"])
@pytest.mark.parametrize("kind", ["actor-search", "search"])
async def test_an_actor_search_that_cannot_be_believed_is_unreadable(reader: Reader, kind: Any, mode: Any) -> None:
    one, other = sorted({each.manufacturer.srn for each in reader.world.newest(0, 120)})[:2]
    assert isinstance(await reader.client.read_actor(one), Found)
    reader.faults.fail(kind, mode, contains=other)

    assert isinstance(await reader.client.read_actor(other), ReadFailed)


# The newest registrations


async def test_pages_of_the_newest_registrations_tell_every_record_once_and_where_they_end(
    database: Database, clock: SteppedClock
) -> None:
    world = GeneratedWorld(650, seed=7)
    async with reading(world, database, clock) as reader:
        pages = [page async for page in reader.client.batches()]

    assert [len(page.readings) for page in pages] == [300, 300, 50]
    assert [page.cursor for page in pages] == ["1", "2", ""]
    assert {page.total for page in pages} == {650}
    assert [row.device.uuid for page in pages for row in page.readings] == [each.uuid for each in world.newest(0, 650)]


@pytest.mark.parametrize(
    "page",
    [a_page(total=3_200_000, last=False), a_page(total=3_200_000, last=None), a_page(total=3_200_000, last=True)],
    ids=["more to come", "nothing said", "claims to be the last"],
)
async def test_an_empty_page_of_a_register_that_has_records_is_no_end(
    sender: Sender, clock: SteppedClock, page: dict[str, object]
) -> None:
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(page))), "http://register.test", clock)

    with pytest.raises(RegisterFailure):
        await anext(client.batches("0"))


async def test_a_register_that_claims_to_have_become_empty_on_the_way_is_not_believed(
    sender: Sender, clock: SteppedClock
) -> None:
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(a_page()))), "http://register.test", clock)

    with pytest.raises(RegisterFailure):
        await anext(client.batches("7"))


async def test_a_page_with_more_rows_than_its_total_is_not_believed(sender: Sender, clock: SteppedClock) -> None:
    rows = [{"uuid": f"u-{each}", "primaryDi": f"{each:014}"} for each in range(300)]
    page = a_page(*rows, total=10, last=False)
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(page))), "http://register.test", clock)

    with pytest.raises(RegisterFailure):
        await anext(client.batches("3"))


@unreadable_rows
@pytest.mark.parametrize("place", [0, 150, 299])
async def test_a_row_that_cannot_be_read_costs_the_others_of_its_page_nothing(
    sender: Sender, clock: SteppedClock, row: Any, place: int
) -> None:
    rows: list[Any] = [{"uuid": f"u-{each}", "primaryDi": f"{each:014}"} for each in range(299)]
    rows.insert(place, row)
    page = a_page(*rows, total=900, last=None)
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(page))), "http://register.test", clock)

    with capture_logs() as logged:
        told = await anext(client.batches("1"))

    assert [each.device.uuid for each in told.readings] == [f"u-{each}" for each in range(299)]
    assert (told.cursor, told.total) == ("2", 900), "the register sent a full page"
    assert [(each["event"], each["record"], each["field"]) for each in logged] == [
        ("a field cannot be read", "device row", "whole row")
    ]
    assert NOBODYS not in str(logged), "the log has where a row is broken and not what it says"


@unreadable_rows
async def test_a_page_of_which_no_row_can_be_read_is_a_failure(sender: Sender, clock: SteppedClock, row: Any) -> None:
    page = a_page(*[row] * 300, total=900)
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(page))), "http://register.test", clock)

    with pytest.raises(RegisterFailure, match="no row of it can be read"):
        await anext(client.batches("0"))


async def test_rows_that_cannot_be_read_count_where_a_page_is_held_against_its_total(
    sender: Sender, clock: SteppedClock
) -> None:
    rows = [{"uuid": None}] * 299 + [{"uuid": "u-1", "primaryDi": NOBODYS}]
    page = a_page(*rows, total=10, last=False)
    client = EudamedClient(sender(CannedRegister(lambda _request: ok(page))), "http://register.test", clock)

    with pytest.raises(RegisterFailure, match="contradicts itself"):
        await anext(client.batches("0"))


async def test_a_page_behind_the_end_is_empty_and_the_last(database: Database, clock: SteppedClock) -> None:
    async with reading(GeneratedWorld(50, seed=7), database, clock) as reader:
        page = await anext(reader.client.batches("1"))

    assert (page.readings, page.cursor, page.total) == ([], "", 50)


async def test_every_request_says_which_service_asks(database: Database, clock: SteppedClock, world: World) -> None:
    async with reading(world, database, clock) as reader:
        await reader.found(world.newest(0, 1)[0].primary_di)
        agents = {request.headers["user-agent"] for request in reader.log.requests}

    assert agents == {"Registerwatch/1.0 (+https://example.org)"}
    assert not any(agent.lower().startswith("python") for agent in agents)


async def test_only_the_register_is_asked_and_no_redirect_of_it_followed(sender: Sender, clock: SteppedClock) -> None:
    register = CannedRegister(lambda _request: httpx2.Response(302, headers={"location": "http://elsewhere.test/"}))
    client = EudamedClient(sender(register), "http://register.test", clock)

    result = await client.read_device(NOBODYS)

    assert isinstance(result, ReadFailed), "a search that finds nothing answers 200, so a redirect is a failure"
    assert {request.url.host for request in register.asked} == {"register.test"}
