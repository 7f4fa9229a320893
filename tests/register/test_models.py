"""Which of several records answers for a UDI-DI, and what a reading does to what is stored."""

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.structs import replace
from registerwatch.register.models import (
    ADDED_IN,
    DETAILS,
    DOCUMENT_VERSION,
    FIRST_VERSION,
    FLAGS,
    ActorReference,
    Certificate,
    Completeness,
    Device,
    DeviceReading,
    RecordPrecedence,
    completed,
    document,
    fields_never_read,
    from_document,
    is_latest,
    may_be_outdated,
    merge,
    precedence_of,
)
from registerwatch.register.other_codes import OtherCode
from tests.register.builders import PROPERTY, UDI, a_device, a_full_reading, a_row, devices, legislations, readings

EMPTY: tuple[object, ...] = (None, "", (), {}, msgspec.UNSET)
REGULATIONS = ("refdata.applicable-legislation.mdr", "refdata.applicable-legislation.ivdr")

detailed, detailed_readings = devices(detailed=True), readings(detailed=True)
precedences = st.builds(
    RecordPrecedence,
    uuid=st.sampled_from(["u-1", "u-2", "u-3", "u-4"]),
    latest_version=st.booleans(),
    legislation_code=legislations,
    version_number=st.integers(0, 3),
)


def flags_of(device: Device) -> dict[str, bool]:
    return {} if device.characteristics is msgspec.UNSET else device.characteristics.known


@PROPERTY
@given(detailed, detailed_readings)
def test_a_full_reading_replaces_everything_but_characteristics_that_it_does_not_tell(
    stored: Device, reading: DeviceReading
) -> None:
    full = replace(reading, completeness=Completeness.EVERYTHING, lags=False)
    merged = merge(stored, full, stored_detail_version=9)

    assert merged is not None
    assert replace(merged, characteristics=msgspec.UNSET) == replace(full.device, characteristics=msgspec.UNSET)
    assert flags_of(merged) == flags_of(stored) | flags_of(full.device)


@pytest.mark.parametrize("completeness", [Completeness.EVERYTHING, Completeness.ALL_BUT_CERTIFICATES])
def test_a_full_reading_changes_the_flags_that_it_tells_and_no_other(completeness: Completeness) -> None:
    stored = a_device(sterile=True, latex=True, implantable=False)
    reading = replace(a_full_reading(sterile=False, reusable=True), completeness=completeness)
    merged = merge(stored, reading, stored_detail_version=1)

    assert merged is not None
    assert [getattr(merged, name) for name in FLAGS] == [False, True, False, True]


def test_a_part_fills_in_flags_with_yes_and_no_and_empties_none() -> None:
    merged = merge(a_device(sterile=True, latex=True), a_row(sterile=False, reusable=False))

    assert merged is not None
    assert [getattr(merged, name) for name in FLAGS] == [False, True, None, False]


@PROPERTY
@given(detailed, detailed_readings, st.none() | st.integers(0, 4))
def test_a_reading_without_certificates_replaces_everything_but_them(
    stored: Device, reading: DeviceReading, detail_version: int | None
) -> None:
    partial = replace(reading, completeness=Completeness.ALL_BUT_CERTIFICATES, lags=False)
    merged = merge(stored, partial, stored_detail_version=detail_version)

    assert merged is not None
    never_read = not stored.certs and detail_version is None
    assert merged.certs == (partial.device.certs if never_read else stored.certs)
    full = replace(partial, completeness=Completeness.EVERYTHING)
    assert replace(merged, certs=()) == replace(merge(stored, full) or stored, certs=())


@PROPERTY
@given(detailed, detailed_readings, st.none() | st.integers(1, 4))
def test_a_partial_reading_fills_in_and_never_blanks_a_field(
    stored: Device, reading: DeviceReading, detail_version: int | None
) -> None:
    row = replace(reading, completeness=Completeness.SOME)
    merged = merge(stored, row, stored_detail_version=detail_version)

    if merged is None:
        return
    dates = {"status_date", "former_status", "updated"}  # the next test is about them
    for name in {*Device.__struct_fields__} - {"characteristics"} - dates:
        told, before = getattr(row.device, name), getattr(stored, name)
        is_kept = told in EMPTY or (name == "special_type" and before is not msgspec.UNSET)
        assert getattr(merged, name) == (before if is_kept else told), name
    assert flags_of(merged) == flags_of(stored) | flags_of(row.device)


@PROPERTY
@given(detailed, detailed_readings)
def test_a_partial_reading_leaves_no_date_with_a_status_or_version_that_it_was_not_told_with(
    stored: Device, reading: DeviceReading
) -> None:
    row = replace(reading, completeness=Completeness.SOME)
    merged = merge(stored, row)

    if merged is None:
        return
    dates = {(each.status_code, each.status_date) for each in (stored, row.device)}
    assert not merged.status_date or (merged.status_code, merged.status_date) in dates or not row.device.status_code
    assert merged.updated is None or (merged.version, merged.updated) in {
        (each.version, each.updated) for each in (stored, row.device)
    }
    if merged.former_status is not msgspec.UNSET:
        assert (merged.status_date, merged.former_status) == (None, stored.dated_status)
        assert merged.former_status.status_code != merged.status_code


@PROPERTY
@given(devices(), readings(), st.none() | st.integers(1, 4))
def test_an_older_or_lagging_reading_changes_nothing(
    stored: Device, reading: DeviceReading, detail_version: int | None
) -> None:
    row = replace(reading, completeness=Completeness.SOME)
    told, before = row.device.version or 0, stored.version or 0
    outdated = told < before or (row.lags and detail_version is not None and told <= detail_version)

    assert (merge(stored, row, stored_detail_version=detail_version) is None) is outdated


@PROPERTY
@given(st.none() | precedences, readings())
def test_only_the_register_or_a_newer_version_makes_a_superseded_record_the_latest_again(
    stored: RecordPrecedence | None, reading: DeviceReading
) -> None:
    is_superseded = stored is not None and not stored.latest_version
    newer = stored is None or (reading.device.version or 0) > stored.version_number

    assert is_latest(stored, reading) is (reading.latest_version and (newer or not reading.lags or not is_superseded))


@PROPERTY
@given(st.none() | precedences, readings())
def test_what_the_register_told_lately_outdates_all_that_lags_but_newer_versions_of_what_it_listed(
    stored: RecordPrecedence | None, reading: DeviceReading
) -> None:
    newer = stored is not None and stored.latest_version and (reading.device.version or 0) > stored.version_number

    assert may_be_outdated(stored, reading) is (reading.lags and not newer)


@PROPERTY
@given(st.none() | detailed, detailed_readings)
def test_reading_the_same_twice_is_reading_it_once(stored: Device | None, reading: DeviceReading) -> None:
    once = merge(stored, reading) or stored
    assert once is not None

    assert (merge(once, reading) or once) == once


@PROPERTY
@given(readings())
def test_the_first_reading_is_stored_as_it_is(reading: DeviceReading) -> None:
    assert merge(None, reading) == reading.device


def test_a_bulk_row_that_names_a_representative_without_its_name_keeps_the_stored_name() -> None:
    stored = a_device(authorised_representative=ActorReference("DE-AR-000000002", "Representative GmbH"))

    merged = merge(stored, a_row(authorised_representative=ActorReference("DE-AR-000000002", "")))

    assert merged is not None
    assert merged.authorised_representative == stored.authorised_representative


@PROPERTY
@given(st.lists(precedences, min_size=1, max_size=4, unique_by=lambda each: each.uuid))
def test_the_order_in_which_records_arrive_does_not_decide_which_one_answers(records: list[RecordPrecedence]) -> None:
    assert len({min(order, key=lambda each: each.rank).uuid for order in permutations(records)}) == 1


@PROPERTY
@given(precedences, precedences)
def test_the_latest_version_answers_then_the_regulation_then_the_higher_version_then_the_smaller_uuid(
    one: RecordPrecedence, other: RecordPrecedence
) -> None:
    if one.uuid == other.uuid:
        return
    if one.latest_version != other.latest_version:
        preferred = one if one.latest_version else other
    elif (one.legislation_code in REGULATIONS) != (other.legislation_code in REGULATIONS):
        preferred = one if one.legislation_code in REGULATIONS else other
    elif one.version_number != other.version_number:
        preferred = one if one.version_number > other.version_number else other
    else:
        preferred = one if one.uuid < other.uuid else other

    assert min((one, other), key=lambda each: each.rank) is preferred


@PROPERTY
@given(precedences, precedences, precedences)
def test_rank_is_a_total_order(one: RecordPrecedence, two: RecordPrecedence, three: RecordPrecedence) -> None:
    assert (one.rank == two.rank) or (one.rank < two.rank) != (two.rank < one.rank)
    if one.rank < two.rank < three.rank:
        assert one.rank < three.rank


@PROPERTY
@given(precedences)
def test_the_best_rank_is_that_under_a_regulation_where_the_legislation_is_not_known(one: RecordPrecedence) -> None:
    assert one.best_rank == replace(one, legislation_code=one.legislation_code or "mdr").rank
    assert one.best_rank <= one.rank


@pytest.mark.parametrize("legislation", ["mdr", "refdata.applicable-legislation.mdr"])
def test_a_regulation_is_known_by_its_full_code_and_by_its_last_segment(legislation: str) -> None:
    assert RecordPrecedence("u-9", True, legislation, 1).rank < RecordPrecedence("u-1", True, "mdd", 9).rank


def test_a_record_without_a_version_stands_at_version_0() -> None:
    assert precedence_of(a_row()).version_number == 0
    assert precedence_of(a_full_reading(version=3)).version_number == 3


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@PROPERTY
@given(detailed, texts, st.dictionaries(texts, texts, max_size=2), st.lists(texts, max_size=2))
def test_a_stored_document_reads_back_as_the_same_device(
    device: Device, name: str, names: dict[str, str], numbers: list[str]
) -> None:
    device = replace(
        device, trade_name=name, trade_names=names, certs=tuple(Certificate(number=number) for number in numbers)
    )

    assert from_document(document(device)) == device
    assert from_document(document(device).decode()) == device


@PROPERTY
@given(detailed)
def test_a_document_has_every_field_and_says_nothing_by_empty_texts_and_null_dates(device: Device) -> None:
    told = json.loads(document(device))

    assert list(told) == [each for each in Device.__struct_fields__ if each in told]
    missing = {name for name in Device.__struct_fields__ if getattr(device, name) is msgspec.UNSET}
    assert (
        {*Device.__struct_fields__} - {*told} == missing <= {"other_codes", "contradictions", "former_status", *DETAILS}
    )
    assert (told["found"], told["source"]) == (True, "eudamed-public")
    for name, value in told.items():
        nullable = name in {"status_date", "version", "updated", "authorised_representative", *FLAGS}
        assert value is not None or nullable, name
    assert all("expiry" not in each or each["expiry"] for each in told["certs"])


INNER, CARTON = "14099999999999", "24099999999996"
KNOWN = (OtherCode(INNER, "container_package", quantity=10, contains=UDI), OtherCode(CARTON, "container_package"))


def merged_codes(told: Any, stored: Any = KNOWN) -> Any:
    """The other codes of a device after a bulk row that tells some."""
    merged = merge(a_device(other_codes=stored), a_row(other_codes=told))
    assert merged is not None
    return merged.other_codes


def test_a_bulk_row_without_quantities_keeps_those_that_are_stored_and_their_order() -> None:
    bare = [OtherCode(code, "container_package") for code in (CARTON, INNER)]

    assert merged_codes(tuple(bare)) == KNOWN
    assert merged_codes((OtherCode(CARTON, "secondary"), bare[1])) == (KNOWN[0], OtherCode(CARTON, "secondary"))


def test_a_bulk_row_takes_codes_away_where_it_tells_them_and_leaves_them_where_it_tells_none() -> None:
    assert merged_codes((KNOWN[1],)) == (KNOWN[1],)
    assert merged_codes(()) is msgspec.UNSET
    assert merged_codes(msgspec.UNSET) == KNOWN


def test_a_device_without_other_codes_is_stored_without_the_field() -> None:
    told = merge(None, a_row(other_codes=()))

    assert told is not None
    assert told == a_device()
    assert b"other_codes" not in document(told)


def test_a_document_of_an_older_version_is_served_with_the_fields_that_it_lacks_and_no_other_is_touched() -> None:
    now = document(a_device(trade_name="A"))
    before = now.replace(b',"sterile":null', b"", 1)

    assert completed(before, DOCUMENT_VERSION - 1) == now
    assert completed(before, DOCUMENT_VERSION) is before


def test_every_field_that_came_later_says_in_which_version_of_documents() -> None:
    first = """found udi trade_name manufacturer_name manufacturer_srn status status_code status_date risk_class
        risk_class_code manufacturer_status manufacturer_status_code basic_udi legislation legislation_code reference
        version updated device_name device_model trade_names emdn authorised_representative certs uuid source"""

    assert {*Device.__struct_fields__} - {*first.split()} == {*ADDED_IN}, "CONTRIBUTING says how a field is added"
    assert all(FIRST_VERSION < each <= DOCUMENT_VERSION for each in ADDED_IN.values())


@PROPERTY
@given(detailed, st.integers(0, DOCUMENT_VERSION))
def test_only_a_field_that_is_empty_and_that_came_after_the_document_was_never_read(
    device: Device, version: int
) -> None:
    unread = fields_never_read(device, version)

    assert set(unread) == {
        name
        for name in Device.__struct_fields__
        if getattr(device, name) in EMPTY and ADDED_IN.get(name, FIRST_VERSION) > version
    }
