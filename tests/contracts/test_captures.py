"""Captures through the reader: what the product serves of each, beside values that were written by hand.

Each test runs on the project's own copies. Where the captures themselves are there it runs on these as well: a value
that differs there is the one that stands in the same place.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from registerwatch.commands.nomenclature_file import read_nomenclature
from registerwatch.platform.structs import replace
from registerwatch.register.certificates import NotifiedBody, Refusal, RegisteredCertificate, Scope
from registerwatch.register.models import Actor, ActorReference, Certificate, Completeness, Device, DeviceReading
from registerwatch.register.other_codes import OtherCode
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.data_lake import convert as convert_lake
from registerwatch.sources.data_lake import wire as lake
from registerwatch.sources.data_lake.reference import KNOWN
from registerwatch.sources.eudamed import convert, convert_certificates, wire
from registerwatch.sources.eudamed.guards import check_page
from registerwatch.sources.requests import JsonReader, decode
from tests.sources.reader import reading_of
from tests.support.captures import OWN, SHARED, capture

ON, RISK = "refdata.device-model-status.", "refdata.risk-class."
LAW, AGENCY = "refdata.applicable-legislation.", "refdata.issuing-agency."


class Captures:
    """The captures of a folder, and the texts there that stand in the places of those of the copies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> Any:
        """A capture that is JSON."""
        return capture(name, self._folder)

    def bytes_of(self, name: str) -> bytes:
        """The same as it came."""
        return (self._folder / f"{name}.json").read_bytes()

    def path(self, name: str) -> Path:
        """The file of a capture."""
        return self._folder / name

    def there(self, value: Any, *names: str) -> Any:
        """A value written for the copies of these captures as it is here: texts in it are replaced, at any depth."""
        texts = {own: here for name in names for own, here in _pairs(capture(name, OWN), self.read(name))}
        return _replaced(value, texts)


@pytest.fixture(
    params=[
        pytest.param(OWN, id="own copies"),
        pytest.param(SHARED, id="captures", marks=pytest.mark.skipif(not SHARED.exists(), reason="they are not here")),
    ]
)
def captures(request: pytest.FixtureRequest) -> Captures:
    return Captures(request.param)


def _pairs(own: Any, other: Any) -> Iterator[tuple[str, str]]:
    """Texts that stand in the same places."""
    if isinstance(own, str) and isinstance(other, str):
        yield own, other
        yield own.strip(), other.strip()
    elif isinstance(own, list):
        for one, two in zip(own, other, strict=False):
            yield from _pairs(one, two)
    elif isinstance(own, dict):
        for key in own.keys() & other.keys():
            yield from _pairs(own[key], other[key])


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, msgspec.Struct):
        return msgspec.convert(_replaced(msgspec.to_builtins(value), texts), type(value))
    if isinstance(value, dict):
        return {name: _replaced(each, texts) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(each, texts) for each in value)
    return value


def in_full(row: wire.DeviceRow, detail: Any, basic: Any) -> DeviceReading:
    """A full reading of what was decoded, without a certificate search."""
    read_detail = wire.device_detail.read(detail) if detail else None
    read_basic = wire.basic_udi_record.read(basic) if basic else wire.BasicUdiRecord()
    return reading_of(row, read_detail, read_basic, None)


def test_rows_of_the_device_search(captures: Captures) -> None:
    name = "device_search_rows_2026"
    rows = [convert.reading_of_row(wire.device_row.read(row)) for row in captures.read(name)]

    expected = [
        Device(
            udi="04000000001010",
            basic_udi="4000000Mill-Disc9X",
            trade_name="Example Disc (8 mm; with step)",
            manufacturer_name="Example Alloys GmbH",
            manufacturer_srn="DE-MF-000000002",
            manufacturer_status="Active",
            manufacturer_status_code="refdata.actor-status.active",
            status="On the EU market",
            status_code=ON + "on-the-market",
            risk_class="Class IIa",
            risk_class_code=RISK + "class-iia",
            reference="EX140508",
            version=1,
            uuid="00000000-0000-4000-8000-000000000116",
        ),
        Device(
            udi="04000000001027",
            basic_udi="40000000101010001AJ",
            trade_name="EXAMPLE R+G",
            manufacturer_name="Example Medical GmbH",
            manufacturer_srn="DE-MF-000000003",
            manufacturer_status="Active",
            manufacturer_status_code="refdata.actor-status.active",
            status="Not intended for the EU market",
            status_code=ON + "not-intended-for-eu-market",
            risk_class="Class III",
            risk_class_code=RISK + "class-iii",
            reference="5100000",
            version=1,
            uuid=rows[1].device.uuid,
        ),
    ]
    assert [row.device for row in rows] == captures.there(expected, name)
    assert {(row.completeness, row.latest_version) for row in rows} == {(Completeness.SOME, True)}
    assert len({row.device.uuid for row in rows}) == 2


@pytest.mark.parametrize("name", ["device_search_page", "device_search_by_primary_di"])
def test_pages_of_the_device_search_of_2022_which_tell_neither_reference_nor_status_of_an_actor(
    captures: Captures, name: str
) -> None:
    page = wire.device_rows.decode(captures.bytes_of(name))

    first = convert.reading_of_row(page.content[0]).device
    udi, basic, trade_name, risk, totals = {
        "device_search_page": ("E1232176111", "++E123TOOLSV7", "Example bite fork (2 pcs)", "i", (638, False)),
        "device_search_by_primary_di": ("E1237000001", "++E123BLANKQ2", "Example blank A3,5 71x16", "iia", (1, True)),
    }[name]
    expected = (udi, basic, trade_name, "Example Dental AG", "AT-MF-000000001", RISK + f"class-{risk}")
    told = (first.udi, first.basic_udi, first.trade_name, first.manufacturer_name, first.manufacturer_srn)
    assert (*told, first.risk_class_code) == captures.there(expected, name)
    assert (first.reference, first.manufacturer_status_code, first.version) == ("", "", 1)
    assert (page.total_elements, page.last, page.unread) == (*totals, ())
    assert wire.device_rows.unread_of(page) == []


def test_a_detail(captures: Captures) -> None:
    name, found = "device_detail", captures.read("device_detail")
    row = wire.DeviceRow(uuid=found["uuid"], primary_di=found["primaryDi"]["code"], version_number=1)

    reading = in_full(row, found, None)

    expected = {
        "udi": "E1237000001",
        "trade_name": "Example blank A3,5 71x16",
        "trade_names": {"": "Example blank A3,5 71x16"},
        "status_code": ON + "on-the-market",
        "status_date": "2021-10-08",
        "reference": "700000",
        "emdn": ("Q010699",),
        "sterile": False,
        "latex": False,
        "updated": "2021-10-08T10:42:27Z",
        "version": 1,
        "other_codes": msgspec.UNSET,
    }
    assert {field: getattr(reading.device, field) for field in expected} == captures.there(expected, name)
    assert wire.device_detail.read(found).unread == ()


def test_other_codes_and_the_tree_of_packages_of_a_detail(captures: Captures) -> None:
    found = captures.read("described_device_detail_packages")
    row = wire.DeviceRow(uuid=found["uuid"], primary_di=found["primaryDi"]["code"], version_number=1)

    device = in_full(row, found, None).device

    gs1 = AGENCY + "gs1"
    assert device.udi == "04000000000006"
    assert device.other_codes == (
        OtherCode("04000000000013", "direct_marking", gs1),
        OtherCode("+E123ABC0", "secondary", AGENCY + "hibcc"),
        OtherCode("14000000000003", "container_package", gs1, 10, "04000000000006"),
        OtherCode("24000000000000", "container_package", gs1, 4, "14000000000003"),
    )
    assert wire.device_detail.read(found).unread == ()


def test_the_basic_udi_di_record_of_a_device_of_the_regulation(captures: Captures) -> None:
    name, found = "described_basic_udi_record_mdr", captures.read("described_basic_udi_record_mdr")

    device = in_full(wire.DeviceRow(uuid="u-1"), None, found).device

    certificate = Certificate(
        number="2024-MDR/QS-000/D",
        revision="04",
        expiry="2029-02-23",
        status="Supplemented",
        status_code="refdata.certificate-status.supplemented",
        valid_from="2025-02-10",
        type_code="refdata.certificate-mdr-type.quality-management-system",
        notified_body="2265",
        notified_body_name="Example Body a.s.",
        listed_in="record",
    )
    expected = {
        "basic_udi": "4000000EXAMPLE01XX",
        "device_name": "",
        "device_model": "EX-1",
        "legislation_code": LAW + "mdr",
        "risk_class_code": RISK + "class-iia",
        "manufacturer_name": "Example Manufacturer Inc.",
        "manufacturer_srn": "KR-MF-000000000",
        "authorised_representative": ActorReference("NL-AR-000000000", "Example AR B.V."),
        "implantable": False,
        "reusable": False,
        "updated": "2026-02-10T08:15:31Z",
        "certs": (certificate,),
    }
    assert {field: getattr(device, field) for field in expected} == captures.there(expected, name)
    assert wire.basic_udi_record.read(found).unread == ()


def test_the_basic_udi_di_record_with_a_summary_of_safety(captures: Captures) -> None:
    name, found = "described_basic_udi_record_sscp", captures.read("described_basic_udi_record_sscp")

    device = in_full(wire.DeviceRow(uuid="u-1"), None, found).device

    assert (device.basic_udi, device.risk_class_code, device.certs) == captures.there(
        ("40000000101010001AJ", RISK + "class-iii", ()), name
    )
    assert wire.basic_udi_record.read(found).unread == ()


def test_the_basic_udi_di_record_of_a_legacy_device(captures: Captures) -> None:
    name, found = "described_basic_udi_record_legacy", captures.read("described_basic_udi_record_legacy")

    device = in_full(wire.DeviceRow(uuid="u-1"), None, found).device

    certificate = Certificate(
        number="2195-MED-1000000",
        expiry="2024-05-26",
        type_code="refdata.legacy.mdd-certificate-type.ii-excluding-4",
        notified_body="2195",
        notified_body_name="Örnek Değerlendirme A.Ş.",
        listed_in="record",
    )
    expected = {
        "basic_udi": "B-04000000000006",
        "legislation_code": LAW + "mdd",
        "risk_class_code": RISK + "class-iib",
        "manufacturer_name": "Example GmbH",
        "manufacturer_srn": "DE-MF-000000000",
        "authorised_representative": None,
        "implantable": None,
        "reusable": None,
        "updated": "2024-03-01T09:00:00Z",
        "certs": (certificate,),
    }
    assert {field: getattr(device, field) for field in expected} == captures.there(expected, name)
    assert wire.basic_udi_record.read(found).unread == ()


def test_rows_of_the_actor_search(captures: Captures) -> None:
    page = wire.actor_rows.decode(captures.bytes_of("eos_search_page"))
    later = wire.actor_row.read(captures.read("described_eos_row_2026"))

    rows = [convert.actor_of(row, status_code=convert.code(row.actor_status), device_total=3) for row in page.content]

    first = Actor(
        srn="DE-AR-000000001", name="Example Europe GmbH", country="DE", status_code="", device_total=3, complete=True
    )
    second = replace(first, srn="DE-AR-000000002", name="Example EC REP GmbH")
    assert rows[:2] == captures.there([first, second], "eos_search_page")
    assert (page.total_elements, page.last, wire.actor_rows.unread_of(page)) == (4406, False, [])
    assert convert.code(later.actor_status) == "refdata.actor-status.active"
    assert (later.srn, later.unread) == ("DE-AR-000000001", ())


def test_the_record_of_an_actor_which_does_not_tell_its_status(captures: Captures) -> None:
    name, found = "actor_public_information", captures.read("actor_public_information")

    record = wire.actor_information.read(found).actor_data_public_view

    assert record is not None
    assert (record.uuid, record.actor_status) == (found["actorDataPublicView"]["uuid"], None)
    assert captures.there("AT-MF-000000001", name) == found["actorDataPublicView"]["eudamedIdentifier"]


def test_a_row_of_the_certificate_search(captures: Captures) -> None:
    name = "certificate_search_page"
    page = wire.certificate_rows.decode(captures.bytes_of(name))
    row = captures.read(name)["content"][0]

    of_device = convert.certificate_rows(page.content)
    listed = convert_certificates.certificate_of(wire.listed_certificate.read(row))

    issued, management = "refdata.certificate-status.issued", "refdata.certificate-mdr-type.quality-management-system"
    assert of_device == captures.there(
        [
            Certificate(
                number="Z-25-000-S-IX-E",
                expiry="2030-09-16",
                status="Issued",
                status_code=issued,
                valid_from="2025-09-17",
                type_code=management,
                notified_body="0633",
                listed_in="search",
            )
        ],
        name,
    )
    assert listed == captures.there(
        RegisteredCertificate(
            id=capture(name)["content"][0]["ulid"],
            uuid=capture(name)["content"][0]["uuid"],
            srn="DE-MF-000000001",
            actor_name="Example Software GmbH",
            notified_body="0633",
            number="Z-25-000-S-IX-E",
            revision="",
            type_code=management,
            status_code=issued,
            issue_date="2025-09-17",
            valid_from="2025-09-17",
            expiry="2030-09-16",
            version=1,
            is_latest=True,
        ),
        name,
    )
    assert (page.total_elements, page.last, wire.certificate_rows.unread_of(page)) == (4538, False, [])


def test_the_record_of_a_certificate(captures: Captures) -> None:
    record = wire.certificate_record.read(captures.read("described_certificate_record"))

    assert convert_certificates.scopes_of(record) == [
        Scope(
            risk_class_code=RISK + "class-iia",
            device_type_codes=("refdata.device-type.MDA0315",),
            description="Software",
        )
    ]
    assert record.unread == ()


def test_a_refused_application(captures: Captures) -> None:
    row = wire.refused_application.read(captures.read("described_refused_applications_page")["content"][0])

    assert convert_certificates.refusal_of(row) == Refusal(
        id="01K3EXAMPLE0000000000000BB",
        srn="DE-MF-000000000",
        actor_name="Example GmbH",
        notified_body="0123",
        reference="APP-2026-001",
        procedure_code="refdata.conformity-assessment-procedure.example",
        refused_on="2026-05-04",
    )


def test_notified_bodies(captures: Captures) -> None:
    name = "described_notified_bodies"
    entries = [wire.listed_body.read(each) for each in captures.read(name)]

    bodies = [NotifiedBody("2862", "Example Notified Body AB"), NotifiedBody("2265", "Example Body a.s.")]
    assert [convert_certificates.notified_body_of(each) for each in entries] == captures.there(bodies, name)


def test_the_three_ways_to_throttle(captures: Captures) -> None:
    failures = []
    for answer in captures.read("throttle_answers"):
        body = answer["body"] if isinstance(answer["body"], str) else msgspec.json.encode(answer["body"])
        response = httpx2.Response(answer["status"], headers=answer["headers"], content=body)
        with pytest.raises(RegisterFailure) as failed:
            check_page(decode(response, wire.device_rows, now=0, host="register.test"), matches=None)
        failures.append((failed.value.throttled, failed.value.transient, failed.value.retry_after))

    assert failures == [(True, True, None), (True, True, None), (True, True, 60)]


def test_devices_of_the_data_lake(captures: Captures) -> None:
    name = "described_datalake_udi_page"
    page = lake.devices.decode(captures.bytes_of(name))

    first, second, third = [convert_lake.reading_of_row(row, KNOWN) for row in page.content]

    disc = Device(
        udi="04000000001010",
        basic_udi="4000000Mill-Disc9X",
        trade_name="Example Disc (8 mm; with step)",
        device_model="Example milling disc",
        reference="EX140508",
        manufacturer_name="Example Alloys GmbH",
        manufacturer_srn="DE-MF-000000002",
        status="On the EU market",
        status_code=ON + "on-the-market",
        risk_class="Class IIa",
        risk_class_code=RISK + "class-iia",
        legislation="MDR",
        legislation_code=LAW + "mdr",
        emdn=("Q010601",),
        sterile=False,
        latex=False,
        implantable=False,
        reusable=False,
        version=1,
        uuid="00000000-0000-4000-8000-000000000116",
    )
    told = {field: getattr(first.device, field) for field in disc.__struct_fields__ if getattr(disc, field)}
    written = {field: getattr(disc, field) for field in told}
    assert told == captures.there(written, name)
    flags = ("sterile", "latex", "implantable", "reusable")
    assert [[getattr(each.device, flag) for flag in flags] for each in (first, second, third)] == [
        [False] * 4,
        [True, False, True, False],
        [None] * 4,
    ]
    assert (second.device.emdn, second.device.status_code) == (
        ("C0104010101", "C0104020101"),
        ON + "not-intended-for-eu-market",
    )
    assert [code.code for code in second.device.other_codes or ()] == ["14000000000003", "24000000000000"]
    legacy = third.device
    assert (legacy.udi, legacy.basic_udi, legacy.version, legacy.legislation_code, legacy.status_code) == (
        "04000000000006",
        "",
        2,
        LAW + "mdd",
        ON + "no-longer-on-the-market",
    )
    assert (legacy.manufacturer_srn, legacy.manufacturer_name) == ("KR-MF-000000000", "Example Manufacturer Inc.")
    assert legacy.authorised_representative == ActorReference("NL-AR-000000000", "Example AR B.V.")
    assert legacy.other_codes == (OtherCode("04000000000013", "direct_marking"),)
    assert [each.latest_version for each in (first, second, third)] == [True] * 3
    assert lake.devices.unread_of(page) == []
    assert page.next_link is not None
    assert page.next_link.endswith("&format=json&api-version=v1.0")


def test_actors_of_the_data_lake(captures: Captures) -> None:
    name = "described_datalake_actors_page"
    page = lake.actors.decode(captures.bytes_of(name))

    active = "refdata.actor-status.active"
    actor = Actor(srn="AT-MF-000000001", name="Example Dental AG", country="AT", status_code=active)
    body = Actor(srn="2460", name="Example Assurance AS", country="NO", status_code=active)
    assert [convert_lake.actor_of_row(row) for row in page.content] == captures.there([actor, actor, body], name)
    assert lake.actors.unread_of(page) == []


def test_what_ids_of_the_data_lake_mean(captures: Captures) -> None:
    page = lake.references.decode(captures.bytes_of("datalake_reference_rows"))

    assert [(row.id, row.code, row.language, row.value) for row in page.content] == [
        (-200, "RISK_CLASS_ID", "lt", "B klasė"),
        (-203, "RISK_CLASS_ID", "pl", "Klasa I"),
        (-101, "PLACED_ON_THE_MARKET_ID", "en", "Israel"),
    ]


def test_refusals_of_the_data_lake(captures: Captures) -> None:
    for refusal in captures.read("datalake_errors"):
        body = refusal["body"] if isinstance(refusal["body"], str) else msgspec.json.encode(refusal["body"])
        response = httpx2.Response(refusal["status"], content=body)
        with pytest.raises(RegisterFailure, match=rf"refused the request \(status {refusal['status']}") as failed:
            decode(response, JsonReader(), now=0, host="lake.test")
        assert not failed.value.transient


def test_the_workbooks_of_the_nomenclature(captures: Captures) -> None:
    version_2, _ = read_nomenclature(captures.path("emdn_v2_head.csv"))
    of_2026, _ = read_nomenclature(captures.path("described_emdn_v2026_headings.csv"))

    category = "DEVICES FOR ADMINISTRATION, WITHDRAWAL AND COLLECTION"
    assert (len(version_2.names), version_2.problems) == (11, ())
    assert (version_2.names["A"], version_2.names["A01"]) == (category, "NEEDLES")
    assert version_2.names["A010104"] == "NEEDLES FOR VIAL COLLECTION"
    assert version_2.names["A020102010101"].endswith("2-PIECE WITH NEEDLE, SINGLE-USE")
    assert (of_2026.names, of_2026.problems) == ({"A01": "NEEDLES", "A": category}, ())
