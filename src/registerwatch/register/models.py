"""Devices and actors as the service serves them, and the rule which of several records is current.

`Device` is the served document itself: its JSON is stored and sent unchanged. Strings are empty and dates null where
the register has nothing. Codes are the register's own, labels English. No record can be part of a reference cycle, so
the garbage collector does not track them (`gc=False`), which saves time in a load of millions.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

from registerwatch.platform.structs import replace
from registerwatch.register.codes import REGULATIONS, segment
from registerwatch.register.device_details import (
    Availability,
    Characteristics,
    Condition,
    LinkedDevice,
    SafetySummary,
    SpecialType,
    with_reported,
)
from registerwatch.register.other_codes import OtherCode, with_stored_details

EUDAMED = "eudamed-public"
"""The register's public name, which every record of it is served with."""
LAG_SECONDS = 24 * 3600
"""How far the Data Lake may lag behind the register: some hours; how many is not documented."""


def field_doc(description: str, *examples: object, form: str = "") -> msgspec.Meta:
    """A field's meaning, for the description of the interface: `Annotated[str, field_doc("Trade name.", "Zolid")]`.

    `form` is the `format` of JSON Schema: `date-time`, `date`.
    """
    extra = {"format": form} if form else None
    return msgspec.Meta(description=description, examples=list(examples) or None, extra_json_schema=extra)


UdiDi = Annotated[str, field_doc("UDI-DI (of GS1, HIBCC, ICCBBA or IFA), as registered.", "04012345678901")]
TradeName = Annotated[str, field_doc("Trade name, empty when none is registered.", "Ceramill Zolid HT+")]
ManufacturerName = Annotated[str, field_doc("Manufacturer's name.", "Amann Girrbach AG")]
ManufacturerSrn = Annotated[str, field_doc("Manufacturer's single registration number (SRN).", "AT-MF-000000252")]
Status = Annotated[str, field_doc("Market status in English.", "On the EU market")]
StatusCode = Annotated[
    str, field_doc("The register's code of the market status.", "refdata.device-model-status.on-the-market")
]
RiskClass = Annotated[str, field_doc("Risk class in English.", "Class IIa")]
Listed = Annotated[
    bool | msgspec.UnsetType,
    field_doc(
        "False where the register listed it once and lists it no more: `status` is then the last one that was read."
        " Left out otherwise.",
        False,
    ),
]


CertificateLocation = Literal["", "record", "search"]
"""Where the register lists a certificate: in the device's Basic UDI-DI record, or in its certificate search."""


def may_be_same_body(one: str, other: str) -> bool:
    """Whether two numbers may be those of one notified body: they are equal, or one is unknown."""
    return not one or not other or one == other


class Certificate(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A certificate that the register names for the device."""

    number: Annotated[str, field_doc("Certificate number.", "Z-25-052-S-IX-E")]
    # The encoder leaves out a default of its own, but not an equal value that was passed.
    revision: Annotated[str, field_doc("Revision, empty when the register has none.", "2")] = msgspec.field(
        default_factory=str
    )
    expiry: Annotated[str | None, field_doc("Date of expiry, missing when it has no end date.", "2030-09-16")] = None
    status: Annotated[str, field_doc("Status in English, missing when the register has none.", "Issued")] = ""
    status_code: Annotated[
        str, field_doc("The register's code of the status.", "refdata.certificate-status.issued")
    ] = ""
    valid_from: Annotated[str | None, field_doc("Date from which it is valid.", "2025-09-17")] = None
    type_code: Annotated[
        str, field_doc("The register's code of the kind of certificate.", "refdata.certificate-type.eu-qms")
    ] = ""
    notified_body: Annotated[str, field_doc("Number of the notified body.", "0633")] = ""
    notified_body_name: Annotated[str, field_doc("Name of the notified body.", "TÜV SÜD Product Service GmbH")] = ""
    listed_in: Annotated[
        CertificateLocation,
        field_doc(
            "Where the register lists it: `record`, the device's own Basic UDI-DI record; `search`, the certificate"
            " search. Missing when not known.",
            "search",
        ),
    ] = ""
    confirmed: Annotated[
        bool,
        field_doc(
            "False where only an earlier certificate search named it and the last read could not search: the register"
            " may have withdrawn it since. It is left out after 30 days. Missing otherwise.",
            False,
        ),
    ] = True
    unconfirmed_since: Annotated[
        str | None,
        field_doc(
            "The first read that could not confirm it, UTC; missing when it is confirmed.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ] = None
    scoped: Annotated[
        bool,
        field_doc(
            "True where no search for the device found it, but its own scope names the device. Missing otherwise.",
            True,
        ),
    ] = False

    @property
    def key(self) -> tuple[str, str]:
        """Number and revision, by which certificates are listed."""
        return self.number, self.revision

    @property
    def order(self) -> tuple[str, ...]:
        """Sort key of a device's certificates, also for those that are alike in number and revision."""
        stated = self.notified_body, self.expiry or "", self.status_code, self.valid_from or "", self.type_code
        seen = self.listed_in, str(self.scoped), str(self.confirmed), self.unconfirmed_since or ""
        return *self.key, *stated, self.status, self.notified_body_name, *seen


class ActorReference(msgspec.Struct, frozen=True, gc=False):
    """An actor as a device names it."""

    srn: Annotated[str, field_doc("Single registration number.", "IE-AR-000004113")]
    name: Annotated[str, field_doc("Registered name.", "CS Life Sciences Europe Ltd")]


class Contradiction(msgspec.Struct, frozen=True, gc=False):
    """A field of a device of which two parts of the register say different things."""

    field: Annotated[Literal["basic_udi", "risk_class"], field_doc("Name of the field.", "risk_class")]
    search: Annotated[str, field_doc("What the register's device search says.", "Class IIa")]
    record: Annotated[str, field_doc("What the device's Basic UDI-DI record says.", "Class IIb")]


class DatedStatus(msgspec.Struct, frozen=True, gc=False):
    """A market status and its date."""

    status: Status
    status_code: StatusCode
    date: Annotated[str, field_doc("Date of that status.", "2021-10-08")]


class SearchRow(msgspec.Struct, frozen=True, gc=False):
    """A device as a search lists it."""

    udi: UdiDi
    trade_name: TradeName
    manufacturer_name: ManufacturerName
    manufacturer_srn: ManufacturerSrn
    status: Status
    status_code: StatusCode
    risk_class: RiskClass


DOCUMENT_VERSION = 4
"""Version of stored documents; one more whenever `Device` gains a field that is read, or is encoded in another way.
Since 2 certificates always have a `revision`.

A record of an older version is served with the defaults of the fields that it lacks, and its detail is read when it is
next refreshed.
"""


_OR_MISSING = " Missing when the register does not say or nobody has read it."
_OR_NULL = " Null when the register does not say or nobody has read it, which is not false."


class Device(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One device, as the register has it, in the order and form that is served."""

    found: Annotated[Literal[True], field_doc("Always true with status 200.")] = True
    udi: UdiDi
    trade_name: TradeName = ""
    manufacturer_name: ManufacturerName = ""
    manufacturer_srn: ManufacturerSrn = ""
    status: Status = ""
    status_code: StatusCode = ""
    status_date: Annotated[str | None, field_doc("Date of the market status, null when unknown.", "2021-10-08")] = None
    former_status: Annotated[
        DatedStatus | msgspec.UnsetType,
        field_doc(
            "The last market status whose date was read, where a list of the register showed another one since. Missing"
            " otherwise. `status_date` is null then until the record is read."
        ),
    ] = msgspec.UNSET
    risk_class: RiskClass = ""
    risk_class_code: Annotated[
        str, field_doc("Empty when the register has nothing.", "refdata.risk-class.class-iia")
    ] = ""
    manufacturer_status: Annotated[str, field_doc("Manufacturer's status in English.", "Active")] = ""
    manufacturer_status_code: Annotated[
        str, field_doc("Empty when the register has nothing.", "refdata.actor-status.active")
    ] = ""
    basic_udi: Annotated[str, field_doc("Basic UDI-DI, empty for legacy devices.", "++E494ZIRKON5F5")] = ""
    legislation: Annotated[str, field_doc("Applicable legislation.", "MDR")] = ""
    legislation_code: Annotated[
        str, field_doc("Empty when the register has nothing.", "refdata.applicable-legislation.mdr")
    ] = ""
    reference: Annotated[str, field_doc("Catalogue reference.", "766061")] = ""
    version: Annotated[int | None, field_doc("The register's version number, null when unknown.", 1)] = None
    updated: Annotated[
        str | None,
        field_doc("Last change in the register, UTC, null when unknown.", "2021-10-08T10:42:27Z", form="date-time"),
    ] = None
    device_name: Annotated[str, field_doc("Empty when the register has nothing.", "Zirconia blank")] = ""
    device_model: Annotated[str, field_doc("Empty when the register has nothing.", "ZOLID-HT")] = ""
    trade_names: Annotated[
        dict[str, str],
        field_doc("By language code (ISO 639-1); the empty code stands for all languages.", {"en": "Clamp"}),
    ] = msgspec.field(default_factory=dict)
    emdn: Annotated[tuple[str, ...], field_doc("Codes of the European Medical Device Nomenclature.", ["Q010699"])] = ()
    sterile: Annotated[bool | None, field_doc("Whether it is labelled as sterile." + _OR_NULL, True)] = None
    latex: Annotated[bool | None, field_doc("Whether it contains latex." + _OR_NULL, False)] = None
    implantable: Annotated[bool | None, field_doc("Whether it is implantable." + _OR_NULL, False)] = None
    reusable: Annotated[bool | None, field_doc("Whether it is a reusable surgical instrument." + _OR_NULL, False)] = (
        None
    )
    authorised_representative: Annotated[
        ActorReference | None, field_doc("Null when the manufacturer is in the EU.")
    ] = None
    certs: Annotated[
        tuple[Certificate, ...],
        field_doc(
            "Certificates. Empty never means uncertified: with `complete` true the register names none for the device,"
            " with `certificates` among what is `missing` they were not read yet."
        ),
    ] = ()
    other_codes: Annotated[
        tuple[OtherCode, ...] | msgspec.UnsetType,
        field_doc(
            "Codes by which the register knows the device beside its UDI-DI: of its unit of use, its direct marking,"
            " its container packages, and of other issuing agencies. Missing where none is known."
        ),
    ] = msgspec.UNSET
    """Unset where there are no codes, so that the document has no field for them. Empty only in a reading: the source
    says that there are none."""
    contradictions: Annotated[
        tuple[Contradiction, ...] | msgspec.UnsetType,
        field_doc(
            "Fields of which the register's device search and the device's Basic UDI-DI record say different things, as"
            " they do of some devices under a directive. Of the device itself `basic_udi` is what the record says,"
            " `risk_class` what the search says. Missing where there is no such field."
        ),
    ] = msgspec.UNSET
    uuid: Annotated[str, field_doc("The register's own id of the record.", "c7418f9f-3f31-4329-b2c1-956377dbe23b")]
    source: Annotated[str, field_doc("Public name of the register that the record is of.", EUDAMED)] = EUDAMED
    available_in: Annotated[
        tuple[Availability, ...] | msgspec.UnsetType,
        field_doc("Countries in which it is or was made available." + _OR_MISSING),
    ] = msgspec.UNSET
    placed_on_market_in: Annotated[
        str | msgspec.UnsetType,
        field_doc("Country (ISO 3166-1) in which it was first placed on the EU market." + _OR_MISSING, "AT"),
    ] = msgspec.UNSET
    single_use: Annotated[bool | msgspec.UnsetType, field_doc("Whether it is for single use." + _OR_MISSING, True)] = (
        msgspec.UNSET
    )
    max_reuses: Annotated[int | msgspec.UnsetType, field_doc("How often it may be reused." + _OR_MISSING, 100)] = (
        msgspec.UNSET
    )
    base_quantity: Annotated[
        int | msgspec.UnsetType, field_doc("How many devices what has the UDI-DI holds." + _OR_MISSING, 1)
    ] = msgspec.UNSET
    special_type: Annotated[
        SpecialType | msgspec.UnsetType,
        field_doc("Its kind, where rules of its own apply to that. Missing when none is known."),
    ] = msgspec.UNSET
    characteristics: Annotated[
        Characteristics | msgspec.UnsetType,
        field_doc("What it is or has, as far as the register says so." + _OR_MISSING, {"active": True, "kit": False}),
    ] = msgspec.UNSET
    storage: Annotated[
        tuple[Condition, ...] | msgspec.UnsetType,
        field_doc("Conditions of storage and handling. Missing when none are known."),
    ] = msgspec.UNSET
    warnings: Annotated[
        tuple[Condition, ...] | msgspec.UnsetType, field_doc("Critical warnings. Missing when none are known.")
    ] = msgspec.UNSET
    safety_summary: Annotated[
        SafetySummary | msgspec.UnsetType,
        field_doc("Its summary of safety and clinical performance (SSCP). Missing when none is known."),
    ] = msgspec.UNSET
    linked_device: Annotated[
        LinkedDevice | msgspec.UnsetType,
        field_doc("The same device under other legislation, as its legacy twin. Missing when none is known."),
    ] = msgspec.UNSET
    information_url: Annotated[
        str | msgspec.UnsetType,
        field_doc(
            "Address of the manufacturer's further information (http or https). Missing when none is known.",
            "https://www.acme.example/instructions",
        ),
    ] = msgspec.UNSET

    @property
    def dated_status(self) -> DatedStatus | None:
        """The last market status whose date is known."""
        if self.former_status is not msgspec.UNSET:
            return self.former_status
        return DatedStatus(self.status, self.status_code, self.status_date) if self.status_date else None


def date_of_status(status_code: str, dated: DatedStatus | None) -> dict[str, Any]:
    """The date fields of a device's market status, where `dated` is the last status with a date."""
    if dated is None:
        return {"status_date": None, "former_status": msgspec.UNSET}
    if dated.status_code == status_code:
        return {"status_date": dated.date, "former_status": msgspec.UNSET}
    return {"status_date": None, "former_status": dated}


class Completeness(StrEnum):
    """How much of a device a reading has."""

    EVERYTHING = "everything"
    """Search row, detail, Basic UDI-DI record and every certificate."""
    ALL_BUT_CERTIFICATES = "all but certificates"
    """Everything while the certificate search could not be read: stored certificates stay.

    The certificates of such a reading are those that the Basic UDI-DI record lists: good to show where none were read
    before. They are never compared with others, since a missing one proves nothing.
    """
    SOME = "some"
    """A bulk row, a search row, a line of a file: an empty field there means that it is unknown."""


class DeviceReading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record as one source gave it."""

    device: Device
    completeness: Completeness
    source: str
    """Name of the source, such as `eudamed`."""
    latest_version: bool = True
    detail_version: int | None = None
    """Version whose detail was read, None when this source has no detail."""
    lags: bool = False
    """Whether the record may be older than the register's: by hours in the Data Lake, by any time in a file."""
    searched: bool = True
    """Whether the certificate search was read. Where its filter does not filter, certificates are those of the Basic
    UDI-DI record and the stored ones: certificates that a search finds later need not be new."""
    keeps_detail: bool = False
    """Whether the fields of the detail are the stored ones, since the detail was left out."""
    kept_revision: int = 0
    """The revision of the copy at which the certificates kept from an earlier search were stored."""
    basic_key: str = ""
    """The key of its Basic UDI-DI record, which devices share, empty where its row names none."""
    basic_read_at: int | None = None
    """The instant before the request for its Basic UDI-DI record (unix seconds), None where this read sent it."""
    basic_revision: int = 0
    """The revision at which that record was stored, 0 where it was not."""
    searched_at: int | None = None
    """The instant before its certificate search, likewise."""
    search_revision: int = 0
    basic_shown_at: int | None = None
    """The public value of `basic_read_at`, see `SharedRecord`."""
    search_shown_at: int | None = None
    """The public value of `searched_at`."""

    def certificates_at(self, read_at: int) -> int:
        """The instant of the certificates, where the read began at `read_at`: the earlier one of their two lists."""
        return min(each for each in (read_at, self.basic_read_at, self.searched_at) if each is not None)

    def certificates_shown_at(self, read_at: int) -> int:
        """The public value of `certificates_at`."""
        return min(each for each in (read_at, self.basic_shown_at, self.search_shown_at) if each is not None)

    @property
    def brings_detail(self) -> bool:
        """Whether the detail was read."""
        return self.detail_version is not None and not self.keeps_detail

    @property
    def brings_certificates(self) -> bool:
        """Whether both lists of certificates were read."""
        return self.completeness is Completeness.EVERYTHING and self.searched


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """A manufacturer or another actor, by its SRN."""

    srn: str
    name: str
    country: str = ""
    status_code: str = ""
    device_total: int | None = None
    """The register's own count of the actor's registrations, None when it was not asked."""
    complete: bool = False
    """Whether it was read as an actor, not only named by a device."""


class RecordPrecedence(msgspec.Struct, frozen=True, gc=False):
    """Decides which of several records of one UDI-DI is current."""

    uuid: str
    latest_version: bool
    legislation_code: str
    version_number: int

    @property
    def rank(self) -> tuple[bool, bool, int, str]:
        """Sorts the preferred record first: latest version, regulation over directive, higher version, smaller uuid."""
        return self._rank(in_force=segment(self.legislation_code) in REGULATIONS)

    @property
    def best_rank(self) -> tuple[bool, bool, int, str]:
        """The rank that it may have in truth: an unknown legislation may be a regulation."""
        return self.rank if self.legislation_code else self._rank(in_force=True)

    def _rank(self, *, in_force: bool) -> tuple[bool, bool, int, str]:
        return not self.latest_version, not in_force, -self.version_number, self.uuid


def precedence_of(reading: DeviceReading) -> RecordPrecedence:
    """The precedence of a record that was just read."""
    device = reading.device
    return RecordPrecedence(device.uuid, reading.latest_version, device.legislation_code, device.version or 0)


def merge(stored: Device | None, reading: DeviceReading, *, stored_detail_version: int | None = None) -> Device | None:
    """The device after a reading; None when the reading is older than the stored device and changes nothing.

    A full reading replaces everything but flags that it lacks. Without certificates it leaves the stored ones, where
    there are any or a full reading found none. A reading of a part fills in fields and empties none, but for other
    codes, which it can report as none, and the dates of a status and a version that it replaces. A reading from a
    source that lags never changes a record that was read in full at the same version or a later one.
    """
    new = reading.device
    if stored is None:
        return replace(new, other_codes=msgspec.UNSET) if new.other_codes == () else new
    if reading.completeness is not Completeness.SOME:
        new = _with_flags_of(stored, new)
    if reading.completeness is Completeness.EVERYTHING:
        return new
    if reading.completeness is Completeness.ALL_BUT_CERTIFICATES:
        were_read = bool(stored.certs) or stored_detail_version is not None
        return replace(new, certs=stored.certs) if were_read else new
    stored_version, new_version = stored.version or 0, new.version or 0
    if new_version < stored_version:
        return None
    if reading.lags and stored_detail_version is not None and new_version <= stored_detail_version:
        return None
    filled = {name: value for name in _FIELDS if (value := getattr(new, name)) not in _EMPTY}
    if new.status_code:
        filled |= date_of_status(new.status_code, new.dated_status or stored.dated_status)
    if new_version > stored_version:
        filled["updated"] = new.updated
    if new.other_codes is not msgspec.UNSET and (new.other_codes or stored.other_codes):
        filled["other_codes"] = with_stored_details(stored.other_codes or (), new.other_codes) or msgspec.UNSET
    if stored.special_type is not msgspec.UNSET:  # the Data Lake has other names for it
        filled.pop("special_type", None)
    if stored.characteristics is not msgspec.UNSET:
        filled["characteristics"] = with_reported(stored.characteristics, new.characteristics)
    if any(each.field == "basic_udi" and each.search == new.basic_udi for each in stored.contradictions or ()):
        filled.pop("basic_udi", None)  # the record differs, which is known
    nameless, named = new.authorised_representative, stored.authorised_representative
    if nameless and named and not nameless.name and nameless.srn == named.srn:
        del filled["authorised_representative"]
    return replace(stored, **filled)


def is_latest(stored: RecordPrecedence | None, reading: DeviceReading) -> bool:
    """Whether a record counts as a latest version after a reading.

    Within one version a record only ever ceases to be the latest. So a source that lags is believed when it says that
    the record did, but not when it says that it is the latest again.
    """
    if reading.lags and stored is not None and (reading.device.version or 0) <= stored.version_number:
        return reading.latest_version and stored.latest_version
    return reading.latest_version


def may_be_outdated(stored: RecordPrecedence | None, reading: DeviceReading) -> bool:
    """Whether a reading may be older than a read of the register in the last `LAG_SECONDS`.

    A newer version of a record that the register listed then cannot be older.
    """
    if not reading.lags:
        return False
    if stored is None or not stored.latest_version:
        return True
    return (reading.device.version or 0) <= stored.version_number


def _with_flags_of(stored: Device, new: Device) -> Device:
    """The new device with the stored flags where it has none: the Data Lake may know flags that the register lacks."""
    kept: dict[str, Any] = {
        name: value for name in FLAGS if getattr(new, name) is None and (value := getattr(stored, name)) is not None
    }
    if stored.characteristics is not msgspec.UNSET:
        kept["characteristics"] = with_reported(stored.characteristics, new.characteristics)
    return replace(new, **kept) if kept else new


FLAGS = ("sterile", "latex", "implantable", "reusable")
"""Fields that are true, false or unknown."""
LEFT_OUT = ("other_codes", "contradictions", "former_status")
"""Fields that a document leaves out where they are empty."""
DETAILS = tuple(
    each.name for each in msgspec.structs.fields(Device) if each.default is msgspec.UNSET and each.name not in LEFT_OUT
)
"""Fields that are missing where they are unknown, so that their first value is never a change."""
_OF_VERSION_4 = (
    "available_in",
    "placed_on_market_in",
    "single_use",
    "max_reuses",
    "base_quantity",
    "special_type",
    "characteristics",
    "storage",
    "warnings",
    "safety_summary",
    "linked_device",
    "information_url",
    "contradictions",
    "former_status",
)
ADDED_IN = {
    **dict.fromkeys((*FLAGS, "other_codes"), 3),
    **dict.fromkeys(_OF_VERSION_4, 4),
}
"""The version of documents that added a field of `Device`, for fields that `FIRST_VERSION` did not have."""
FIRST_VERSION = 1
_FIELDS = Device.__struct_fields__
_EMPTY: tuple[object, ...] = (None, "", (), {}, msgspec.UNSET)

_encoder = msgspec.json.Encoder()
_device_decoder = msgspec.json.Decoder(Device)


def document(device: Device) -> bytes:
    """The device in JSON, for storing and serving."""
    return _encoder.encode(device)


def completed(stored: bytes, version: int) -> bytes:
    """A stored document for serving: one of an older version gets the fields that it lacks."""
    return stored if version >= DOCUMENT_VERSION else document(from_document(stored))


def fields_never_read(stored: Device, version: int) -> Collection[str]:
    """Fields that are newer than this version of the stored document and still empty: an empty value does not mean that
    the register has none.
    """
    if version >= DOCUMENT_VERSION:
        return ()
    later = (name for name in _FIELDS if ADDED_IN.get(name, FIRST_VERSION) > version)
    return [name for name in later if getattr(stored, name) in _EMPTY]


def from_document(stored: bytes | str) -> Device:
    """The device in a stored document."""
    return _device_decoder.decode(stored)
