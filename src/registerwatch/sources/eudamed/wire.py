"""The part of the register's JSON that is read.

Only the fields named here are decoded. That keeps personal data out: e-mail addresses, telephone numbers and
names of responsible persons have no field, so they reach no log, no table and no answer.
Every field may be null or missing, and may have any form that `sources/wire.py` accepts.
"""

import re
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from registerwatch.sources.fields import MAX_NUMBER, key
from registerwatch.sources.rows import RowPage, RowReader
from registerwatch.sources.wire import Date, Instant, RecordReader, WireRecord, flag, whole_number

Row = TypeVar("Row", bound=WireRecord)

RECORD_KEY = re.compile("[0-9A-Za-z-]{1,64}")
"""The form of the register's keys, which become a part of addresses."""

Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Quantity = Annotated[int, msgspec.Meta(ge=1, le=MAX_NUMBER)]


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """Base of objects within records: camelCase names, unknown fields ignored."""


class Record(WireRecord, frozen=True, rename="camel"):
    """Base of the register's records."""


class Code(Part, frozen=True):
    """A coded value, `{"code": "refdata.risk-class.class-iia"}`."""

    code: str | None = None


class Page(RowPage[Row], Generic[Row], frozen=True, kw_only=True):
    """A page of Spring's format, with the total number of records."""

    total_elements: int
    last: bool | None = None


class DeviceRow(Record, frozen=True):
    """A row of the device search. Its other fields are null in the register's answers."""

    uuid: str
    primary_di: str | None = None
    basic_udi: str | None = None
    basic_udi_di_data_ulid: str | None = None
    risk_class: Code | None = None
    trade_name: str | None = None
    manufacturer_name: str | None = None
    manufacturer_srn: str | None = None
    manufacturer_status: Code | None = None
    device_status_type: Code | None = None
    reference: str | None = None
    latest_version: bool | None = None
    version_number: Version | None = None


class Identifier(Part, frozen=True):
    """A UDI-DI or Basic UDI-DI with its code."""

    code: str | None = None


class DeviceStatus(Part, frozen=True):
    """Market status and its date (no time)."""

    type: Code | None = None
    status_date: Date | None = None


class Nomenclature(Part, frozen=True):
    """One EMDN term."""

    code: str | None = None


class Country(Part, frozen=True):
    """A country by its code of two letters."""

    iso2_code: str | None = msgspec.field(name="iso2Code", default=None)


class MarketCountry(Part, frozen=True):
    """A country in which a device is available."""

    country: Country | None = None
    start_date: Date | None = None
    end_date: Date | None = None


class MarketInfo(Part, frozen=True):
    """Where a device is available; null for some devices on the market."""

    ms_where_available: list[MarketCountry] | None = None


class DeviceCondition(Part, frozen=True):
    """A condition of storage and handling, or a critical warning."""

    type_code: Code | None = None
    description: str | None = None


class LinkedUdiDi(Part, frozen=True):
    """The same device under other legislation."""

    udi_di: Identifier | None = None
    basic_udi_di: Identifier | None = None
    device_criterion: str | None = None
    device_linked_on_date: Date | None = None


class DeviceDetail(Record, frozen=True):
    """The detail of one device record. Its other codes are read by `other_codes.py`."""

    uuid: str
    primary_di: Identifier | None = None
    device_status: DeviceStatus | None = None
    trade_name: dict[str, str] | None = None
    reference: str | None = None
    cnd_nomenclatures: list[Nomenclature] | None = None
    sterile: bool | None = None
    latex: bool | None = None
    version_date: Instant | None = None
    version_number: Version | None = None
    unit_of_use: Any = None
    direct_marking_di: Any = None
    secondary_di: Any = None
    contained_item: Any = None
    market_info_link: MarketInfo | None = None
    placed_on_the_market: Country | None = None
    single_use: bool | None = None
    max_number_of_reuses: Quantity | None = None
    base_quantity: Quantity | None = None
    storage_handling_conditions: list[DeviceCondition] | None = None
    critical_warnings: list[DeviceCondition] | None = None
    linked_udi_di_view: LinkedUdiDi | None = None
    additional_information_url: str | None = None
    cmr_substance: bool | None = None
    endocrine_disruptor: bool | None = None
    sterilization: bool | None = None
    reprocessed: bool | None = None
    new_device: bool | None = None
    annex_xvi_applicable: bool | None = msgspec.field(name="annexXVIApplicable", default=None)


class ActorName(Part, frozen=True):
    """An actor inside another record."""

    srn: str | None = None
    name: str | None = None


class NotifiedBody(Part, frozen=True):
    """A notified body: its name and its number of four digits."""

    name: str | None = None
    srn: str | None = None


class DeviceCertificate(Part, frozen=True):
    """A certificate in the Basic UDI-DI record."""

    certificate_number: str | None = None
    certificate_revision: str | int | None = None
    certificate_expiry: Date | None = None
    issue_date: Date | None = None
    starting_validity_date: Date | None = None
    status: Code | None = None
    certificate_type: Code | None = None
    notified_body: NotifiedBody | None = None


class LinkedSscp(Part, frozen=True):
    """The summary of safety and clinical performance that a Basic UDI-DI record refers to."""

    reference_number: str | int | None = None
    revision_number: str | int | None = None
    issue_date: Date | None = None
    validated: bool | None = None
    inactive: bool | None = None
    inactive_status_date: Date | None = None


class BasicUdiRecord(Record, frozen=True):
    """The Basic UDI-DI record of a device. Its `ulid` is the `basic_udi_di_data_ulid` of the device's row."""

    ulid: str | None = None
    basic_udi: Identifier | None = None
    device_name: str | None = None
    device_model: str | None = None
    legislation: Code | None = None
    risk_class: Code | None = None
    manufacturer: ActorName | None = None
    authorised_representative: ActorName | None = None
    implantable: bool | None = None
    reusable: bool | None = None
    device_certificate_info_list: list[DeviceCertificate] | None = None
    version_date: Instant | None = None
    last_updated: Instant | None = None
    version_number: Version | None = None
    special_device_type: Code | None = None
    linked_sscp: LinkedSscp | None = None
    active: bool | None = None
    measuring_function: bool | None = None
    administering_medicine: bool | None = None
    medicinal_product: bool | None = None
    human_product: bool | None = None
    human_tissues: bool | None = None
    animal_tissues: bool | None = None
    microbial_substances: bool | None = None
    sutures: bool | None = None
    kit: bool | None = None
    reagent: bool | None = None
    instrument: bool | None = None
    self_testing: bool | None = None
    near_patient_testing: bool | None = None
    professional_testing: bool | None = None
    companion_diagnostics: bool | None = None


class CertificateRow(Record, frozen=True):
    """A row of the certificate search."""

    actor_srn: str | None = None
    certificate_number: str | None = None
    revision_number: str | int | None = None
    expiry_date: Date | None = None
    issue_date: Date | None = None
    starting_validity_date: Date | None = None
    certificate_status: Code | None = None
    certificate_type: Code | None = None
    notified_body_srn: str | None = None
    latest_version: bool | None = None


class ActorRow(Record, frozen=True):
    """A row of the actor search. Only some answers have `actor_status`."""

    uuid: str | None = None
    srn: str | None = None
    eudamed_identifier: str | None = None
    name: str | None = None
    names: dict[str, str] | None = None
    country_iso2_code: str | None = msgspec.field(name="countryIso2Code", default=None)
    actor_status: Code | None = None
    latest_version: bool | None = None
    version_number: Version | None = None


class ActorRecord(Part, frozen=True):
    """The record of one actor."""

    uuid: str | None = None
    actor_status: Code | None = None


class ActorInformation(Record, frozen=True):
    """The detail of one actor, around its record."""

    actor_data_public_view: ActorRecord | None = None


class ListedCertificate(CertificateRow, frozen=True):
    """A row of the certificate search in the list of all certificates."""

    ulid: str | None = None
    uuid: str | None = None
    actor_name: str | None = None
    version_number: Version | None = None


class ListedKey(Record, frozen=True):
    """Identifies a list's row of which nothing else can be read."""

    ulid: str | None = None
    uuid: str | None = None


class CertificateScope(Part, frozen=True):
    """A scope of a certificate. The forms of its values are not published, so any are accepted."""

    basic_udi_data: Any = None
    risk_class: Code | None = None
    device_type_codes: list[Code] | None = None
    description: str | None = None


class CertificateFile(Part, frozen=True):
    """A document of a certificate."""

    uuid: str | None = None
    original_file_name: str | None = None
    file_content_type: str | None = None
    file_size: Version | None = None


class CertificateRecord(Record, frozen=True):
    """The record of one certificate."""

    uuid: str | None = None
    scopes: list[CertificateScope] | msgspec.UnsetType | None = msgspec.UNSET
    status_change_reasons: list[Code] | None = None
    additional_status_change_reason: str | None = None
    decision_date: Date | None = None
    documents: list[CertificateFile] | None = None


class RefusedApplication(Record, frozen=True):
    """A row of the search of refused applications."""

    ulid: str | None = None
    uuid: str | None = None
    actor_srn: str | None = None
    actor_name: str | None = None
    notified_body_srn: str | None = None
    application_reference_number: str | None = None
    conformity_assessment_procedure: Code | None = None
    certificate_refusal_date: Date | None = None


class ListedBody(Record, frozen=True):
    """An entry of the list of notified bodies."""

    eudamed_identifier: str | None = None
    name: str | None = None


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    content: list[msgspec.Raw]
    total_elements: Any
    last: Any = None


class PageReader(RowReader[Row]):
    """Reads a page of a search."""

    _envelope = msgspec.json.Decoder(_Envelope)

    def decode(self, content: bytes) -> Page[Row]:
        """The page in JSON. Raises `msgspec.DecodeError` where it is not a page or has no total."""
        envelope = self._envelope.decode(content)
        rows, unread = self.rows_of(envelope.content)
        return Page(
            content=rows, unread=unread, total_elements=_total(envelope.total_elements), last=_last(envelope.last)
        )


class ListReader(RowReader[Row]):
    """Reads a bare list of records, which is complete."""

    _list = msgspec.json.Decoder(list[msgspec.Raw])

    def decode(self, content: bytes) -> Page[Row]:
        """The list in JSON as one page. Raises `msgspec.DecodeError` where it is not a list."""
        rows, unread = self.rows_of(self._list.decode(content))
        return Page(content=rows, unread=unread, total_elements=len(rows) + len(unread), last=True)


def _total(value: object) -> int:
    try:
        total = whole_number(value)
    except ValueError:
        total = -1
    if not 0 <= total <= MAX_NUMBER:
        raise msgspec.ValidationError("Expected a number of records in `totalElements`")
    return total


def _last(value: object) -> bool | None:
    try:
        return flag(value)
    except ValueError:
        return None


def is_keyed(row: DeviceRow) -> bool:
    """Whether a row names its record and its UDI-DI."""
    return bool(key(row.uuid) and key(row.primary_di))


any_rows = PageReader(RecordReader(Record, "row"))
"""Rows of any search whose number alone is needed."""
device_row = RecordReader(DeviceRow, "device row", keys={"uuid", "primaryDi"})
device_rows = PageReader(device_row, is_keyed)
devices_of_manufacturer = PageReader(
    RecordReader(DeviceRow, "device row", keys={"uuid", "primaryDi", "manufacturerSrn"}), is_keyed
)
device_detail = RecordReader(DeviceDetail, "device detail", keys={"uuid"})
basic_udi_record = RecordReader(BasicUdiRecord, "Basic UDI-DI record")
actor_row = RecordReader(ActorRow, "actor row", keys={"srn", "eudamedIdentifier"})
actor_rows = PageReader(actor_row)
actor_information = RecordReader(ActorInformation, "actor detail")
certificate_rows = PageReader(RecordReader(CertificateRow, "certificate row", keys={"certificateNumber"}))
certificate_record = RecordReader(CertificateRecord, "certificate", keys={"uuid"})
listed_certificate = RecordReader(ListedCertificate, "certificate row", keys={"uuid", "certificateNumber"})
refused_application = RecordReader(
    RefusedApplication, "refused application", keys={"uuid", "applicationReferenceNumber"}
)
listed_key = RecordReader(ListedKey, "row", keys={"uuid"})
listed_body = RecordReader(ListedBody, "notified body", keys={"eudamedIdentifier"})

NEEDED_OF_ROW = frozenset({"deviceStatusType", "deviceStatusType.code", "manufacturerSrn", "versionNumber"})
"""Fields of the device search without which a page is not stored."""
