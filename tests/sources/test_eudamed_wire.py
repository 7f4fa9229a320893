"""What is decoded of the register's replies, and what never is."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.structs import replace
from registerwatch.register.models import Completeness, Device, document
from registerwatch.sources.data_lake import wire as data_lake
from registerwatch.sources.eudamed import convert, wire
from registerwatch.sources.eudamed.convert_certificates import certificate_of
from registerwatch.sources.eudamed.wire import BasicUdiRecord, Code, DeviceDetail, DeviceRow
from registerwatch.sources.fields import preferred_name
from registerwatch.sources.requests import AnswerReader
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.wire import basic_records as sent_basic
from registerwatch_standins.register.wire import datalake as sent_datalake
from registerwatch_standins.register.wire import devices as sent
from tests.register.builders import PROPERTY
from tests.sources.reader import reading_of

PERSONAL = (
    "electronicMail",
    "telephone",
    "validatorEmail",
    "validatorTelephone",
    "regulatoryComplianceResponsibles",
    "lastUpdatedByUser",
)
PERSONAL_COLUMNS = ("PRRC_FIRST_NAME", "PRRC_FAMILY_NAME", "PRRC_EMAIL", "PRRC_TELEPHONE", "ACT_EMAIL", "ACT_TELEPHONE")
SECRET = "made-up-person@example.org"

Json = Any


def seeded(value: Json) -> Json:
    """The same reply with made-up contact data in every object of it."""
    if isinstance(value, list):
        return [seeded(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: seeded(each) for name, each in value.items() if name not in PERSONAL}
    contact: dict[str, Json] = dict.fromkeys(PERSONAL, SECRET)
    contact["regulatoryComplianceResponsibles"] = [{"firstName": SECRET, "electronicMail": SECRET}]
    return {**kept, **contact}


CAPTURES: dict[str, AnswerReader[Any]] = {
    "device_search_page.json": wire.device_rows,
    "device_search_by_primary_di.json": wire.device_rows,
    "device_detail.json": wire.device_detail,
    "eos_search_page.json": wire.actor_rows,
    "certificate_search_page.json": wire.certificate_rows,
}


@pytest.mark.parametrize("name", CAPTURES)
def test_real_replies_decode_and_leave_personal_data_outside(captures: Path, name: str) -> None:
    reply = seeded(json.loads((captures / name).read_bytes()))
    assert SECRET in json.dumps(reply)

    decoded = CAPTURES[name].decode(json.dumps(reply).encode())

    assert SECRET not in msgspec.json.encode(decoded).decode()
    assert SECRET not in repr(decoded)


@pytest.mark.parametrize("name", ["device_search_page.json", "device_search_by_primary_di.json"])
def test_rows_of_real_searches_become_devices(captures: Path, name: str) -> None:
    raw = json.loads((captures / name).read_bytes())["content"]
    page = wire.device_rows.decode((captures / name).read_bytes())

    assert len(page.content) == len(raw) > 0
    for row, told in zip(page.content, raw, strict=True):
        reading = convert.reading_of_row(row)
        device = reading.device
        assert reading.completeness is Completeness.SOME
        assert (device.uuid, device.udi) == (told["uuid"], told["primaryDi"])
        assert (device.manufacturer_srn, device.version) == (told["manufacturerSrn"], told["versionNumber"])
        assert device.status_code == told["deviceStatusType"]["code"]
        assert device.status
        assert device.risk_class.startswith(("Class", "IVD", "Active"))


def test_a_real_detail_tells_names_terms_and_dates(captures: Path) -> None:
    raw = json.loads((captures / "device_detail.json").read_bytes())
    detail = wire.device_detail.read(raw)
    row = DeviceRow(uuid=raw["uuid"], primary_di=raw["primaryDi"]["code"], version_number=raw["versionNumber"])

    device = reading_of(row, detail, BasicUdiRecord(), None).device

    assert device.udi == raw["primaryDi"]["code"]
    assert set(device.trade_names.values()) == {each["text"].strip() for each in raw["tradeName"]["texts"]}
    assert device.trade_name in device.trade_names.values()
    assert device.emdn == tuple(each["code"] for each in raw["cndNomenclatures"])
    assert device.status_date == raw["deviceStatus"]["statusDate"][:10]
    assert device.updated
    assert device.updated.endswith("Z")


def test_rows_of_real_actor_and_certificate_searches_are_told(captures: Path) -> None:
    actors = wire.actor_rows.decode((captures / "eos_search_page.json").read_bytes())
    listed = wire.certificate_rows.decode((captures / "certificate_search_page.json").read_bytes())

    for row in actors.content:
        actor = convert.actor_of(row, status_code="", device_total=3)
        assert (actor.srn, actor.country, actor.complete) == (row.srn, row.country_iso2_code, True)
        assert actor.name
    for certificate in convert.certificate_rows(listed.content):
        assert certificate.number
        assert certificate.expiry
        assert len(certificate.expiry) == len("2030-09-16")
        assert certificate.status == "Issued"
        assert len(certificate.notified_body) == 4


def test_bulk_rows_leave_personal_data_outside() -> None:
    world = GeneratedWorld(5, seed=7)
    contact = dict.fromkeys(PERSONAL_COLUMNS, SECRET)
    actor = world.actor(world.newest(0, 1)[0].manufacturer.srn)
    assert actor is not None
    device_rows = [{**sent_datalake.udi_row(record), **contact} for record in world.newest(0, 5)]
    actor_rows = [{**row, **contact} for row in sent_datalake.actor_rows(actor)]

    devices = data_lake.devices.decode(msgspec.json.encode({"value": device_rows}))
    actors = data_lake.actors.decode(msgspec.json.encode({"value": actor_rows}))

    assert [row.primary_di for row in devices.content] == [row["PRIMARY_DI"] for row in device_rows]
    assert {row.name for row in actors.content} == {actor.name}
    assert SECRET not in repr(devices) + repr(actors)


def test_no_object_of_the_register_has_a_field_for_personal_data() -> None:
    structs = [each for each in vars(wire).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    names = {name for struct in structs for name in struct.__struct_encode_fields__}

    assert len(structs) > 10
    assert names & set(PERSONAL) == set()


# From wire forms to devices

texts = st.none() | st.sampled_from(["Alpha", " Beta ", ""])
codes = st.none() | st.builds(Code, code=st.sampled_from(["refdata.risk-class.class-i", "refdata.x.new-code", None]))
named = st.dictionaries(st.sampled_from(["", "en", "de"]), st.sampled_from(["Alpha", "Beta"]), max_size=3)
moments = st.none() | st.sampled_from(["2026-01-01T10:00:00Z", "2026-07-01T00:00:00Z"])
dates = st.none() | st.sampled_from(["2026-01-01", "2026-07-01"])
rows = st.builds(
    DeviceRow,
    uuid=st.just("u-1"),
    primary_di=st.just("04099999999992"),
    basic_udi=texts,
    risk_class=codes,
    trade_name=texts,
    manufacturer_name=texts,
    manufacturer_srn=texts,
    device_status_type=st.builds(Code, code=st.just("refdata.device-model-status.on-the-market")),
    reference=texts,
    latest_version=st.none() | st.booleans(),
    version_number=st.integers(1, 3),
)
details = st.builds(
    DeviceDetail,
    uuid=st.just("u-1"),
    device_status=st.none() | st.builds(wire.DeviceStatus, type=codes, status_date=dates),
    trade_name=st.none() | named,
    reference=texts,
    cnd_nomenclatures=st.none() | st.lists(st.builds(wire.Nomenclature, code=texts), max_size=2),
    version_date=moments,
)
basics = st.builds(
    BasicUdiRecord,
    basic_udi=st.none() | st.builds(wire.Identifier, code=texts),
    device_name=texts,
    legislation=codes,
    risk_class=codes,
    manufacturer=st.none() | st.builds(wire.ActorName, srn=texts, name=texts),
    version_date=moments,
    last_updated=moments,
)


@PROPERTY
@given(rows, details, basics)
def test_a_read_without_the_detail_tells_the_same_as_the_read_that_had_it(
    row: DeviceRow, detail: DeviceDetail, basic: BasicUdiRecord
) -> None:
    with_detail = reading_of(row, detail, basic, None)

    without = reading_of(row, None, basic, with_detail.device)

    assert without == replace(with_detail, keeps_detail=True)


def test_a_detail_older_than_its_row_takes_back_no_name_that_was_told_later() -> None:
    row = DeviceRow(uuid="u-1", primary_di="04099999999992", version_number=3)
    detail = DeviceDetail(uuid="u-1", version_number=1, reference="REF-1", trade_name={"en": "Cathona"})
    later = Device(uuid="u-1", udi="04099999999992", version=2, trade_name="Cathona II", reference="REF-2")

    device = reading_of(row, detail, BasicUdiRecord(), later).device
    first = reading_of(row, detail, BasicUdiRecord(), None).device
    row = replace(row, version_number=1)
    of_now = reading_of(row, detail, BasicUdiRecord(), later)

    assert (device.trade_name, device.reference) == ("Cathona II", "REF-2")
    assert (first.trade_name, first.reference) == ("Cathona", "REF-1"), "nothing else is known"
    assert of_now.device.trade_name == "Cathona", "the register took its later version back"


def test_a_row_without_a_market_status_does_not_blank_the_one_that_the_detail_told() -> None:
    row = DeviceRow(uuid="u-1", primary_di="04099999999992", version_number=1)
    on_market = Code("refdata.device-model-status.on-the-market")
    detail = DeviceDetail(uuid="u-1", device_status=wire.DeviceStatus(type=on_market))
    first = reading_of(row, detail, BasicUdiRecord(), None).device
    assert first.status == "On the EU market"

    second = reading_of(row, None, BasicUdiRecord(), first).device

    assert second.status == "On the EU market"


def test_what_the_stand_in_sends_of_a_registration_is_told_in_full() -> None:
    world = GeneratedWorld(4_500, seed=7)
    record = next(each for each in world.newest(0, 4_500) if each.certificates and each.authorised_representative)
    row = wire.device_row.read(sent.search_row(record))
    detail = wire.device_detail.read(sent.detail(record))
    basic = wire.basic_udi_record.read(sent_basic.basic_udi_record(record, None, None))

    device = reading_of(row, detail, basic, None).device

    assert (device.udi, device.uuid, device.version) == (record.primary_di, record.uuid, record.version_number)
    assert (device.basic_udi, device.device_name or None) == (record.basic_code, record.device_name)
    assert device.emdn == record.emdn
    assert device.legislation_code == f"refdata.applicable-legislation.{record.legislation}"
    assert device.authorised_representative is not None
    assert record.authorised_representative is not None
    assert device.authorised_representative.srn == record.authorised_representative.srn
    assert b"example.org" not in document(device)


@pytest.mark.parametrize(
    ("names", "preferred"),
    [
        ({"": "For all", "en": "English"}, "For all"),
        ({"de": "Deutsch", "en": "English"}, "English"),
        ({"fr": "Français", "de": "Deutsch"}, "Français"),
        ({}, ""),
    ],
)
def test_the_name_for_all_languages_goes_before_the_english_one_and_that_before_the_first(
    names: dict[str, str], preferred: str
) -> None:
    assert preferred_name(names) == preferred


@pytest.mark.parametrize(
    "entries",
    [5, [5], [{"certificateNumber": 5}], [{"certificateNumber": "Z-1", "certificateExpiry": "some day"}]],
)
def test_a_record_with_a_certificate_that_cannot_be_read_is_read_without_certificates(entries: Json) -> None:
    row = DeviceRow(uuid="u-1", primary_di="04099999999992")
    basic = wire.basic_udi_record.read({"deviceCertificateInfoList": entries, "deviceName": "Clamp"})

    reading = reading_of(row, None, basic, None)

    assert reading.completeness is Completeness.ALL_BUT_CERTIFICATES
    assert reading.device.device_name == "Clamp"


def test_a_listed_certificate_whose_end_cannot_be_read_is_no_certificate_without_an_end() -> None:
    listed = {"uuid": "u-1", "certificateNumber": "Z-1", "expiryDate": {"at": 2030}}

    assert certificate_of(wire.listed_certificate.read(listed)) is None
    assert certificate_of(wire.listed_certificate.read({**listed, "expiryDate": None})) is not None
