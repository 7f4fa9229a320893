"""The register's JSON, as far as we look at it.

Only the fields named here are ever decoded. That keeps personal data out: e-mail addresses, telephone numbers and
names of responsible persons have no field, so they reach no log, no table and no answer.
Every field may be null or missing; a value of another type makes the whole answer unreadable.
"""

import re
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from registerwatch.register.sources.fields import MAX_NUMBER

Row = TypeVar("Row")

RECORD_KEY = re.compile("[0-9A-Za-z-]{1,64}")
"""The form of the register's keys, which become a part of addresses."""

Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]


class Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the register's objects: camelCase names, unknown fields ignored."""


class Code(Wire, frozen=True):
    """A coded value, `{"code": "refdata.risk-class.class-iia"}`."""

    code: str | None = None


class Language(Wire, frozen=True):
    """A text's language; null in the register when the text stands for all languages."""

    iso_code: str | None = None


class Text(Wire, frozen=True):
    """One text in one language."""

    text: str | None = None
    language: Language | None = None


class Texts(Wire, frozen=True):
    """A text in several languages."""

    texts: list[Text] | None = None


class Page(Wire, Generic[Row], frozen=True):
    """A Spring page. `content` and `total_elements` are always there in a real answer."""

    content: list[Row]
    total_elements: Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
    last: bool | None = None


class DeviceRow(Wire, frozen=True):
    """A row of the device search. What is not named is null in the register's answers."""

    uuid: str
    primary_di: str | None = None
    basic_udi: str | None = None
    risk_class: Code | None = None
    trade_name: str | None = None
    manufacturer_name: str | None = None
    manufacturer_srn: str | None = None
    manufacturer_status: Code | None = None
    device_status_type: Code | None = None
    reference: str | None = None
    latest_version: bool | None = None
    version_number: Version | None = None


class Identifier(Wire, frozen=True):
    """A UDI-DI or Basic UDI-DI with its code."""

    code: str | None = None


class DeviceStatus(Wire, frozen=True):
    """Market status and its date (no time)."""

    type: Code | None = None
    status_date: str | None = None


class Nomenclature(Wire, frozen=True):
    """One EMDN term."""

    code: str | None = None


class DeviceDetail(Wire, frozen=True):
    """The detail of one device record. Of its other codes any form is taken, since none has been seen."""

    uuid: str
    primary_di: Identifier | None = None
    device_status: DeviceStatus | None = None
    trade_name: Texts | None = None
    reference: str | None = None
    cnd_nomenclatures: list[Nomenclature] | None = None
    sterile: Any = None
    latex: Any = None
    version_date: str | None = None
    version_number: Version | None = None
    unit_of_use: Any = None
    direct_marking_di: Any = None
    secondary_di: Any = None
    contained_item: Any = None


class ActorName(Wire, frozen=True):
    """An actor inside another record. `name` is a text here and an object elsewhere, so both are taken."""

    srn: str | None = None
    name: Any = None


class NotifiedBody(Wire, frozen=True):
    """A notified body: its name and its number of four digits."""

    name: Any = None
    srn: str | None = None


class DeviceCertificate(Wire, frozen=True):
    """A certificate in the Basic UDI-DI record."""

    certificate_number: str | None = None
    certificate_revision: str | None = None
    certificate_expiry: str | None = None
    issue_date: str | None = None
    starting_validity_date: str | None = None
    status: Code | None = None
    certificate_type: Code | None = None
    notified_body: NotifiedBody | None = None


class BasicUdiRecord(Wire, frozen=True):
    """The Basic UDI-DI record of a device."""

    basic_udi: Identifier | None = None
    device_name: str | None = None
    device_model: str | None = None
    legislation: Code | None = None
    risk_class: Code | None = None
    manufacturer: ActorName | None = None
    authorised_representative: ActorName | None = None
    implantable: Any = None  # a flag in any case that was seen; another value must not cost the record
    reusable: Any = None
    device_certificate_info_list: list[DeviceCertificate] | None = None
    version_date: str | None = None
    last_updated: str | None = None
    version_number: Version | None = None


class CertificateRow(Wire, frozen=True):
    """A row of the certificate search."""

    actor_srn: str | None = None
    certificate_number: str | None = None
    revision_number: str | int | None = None
    expiry_date: str | None = None
    issue_date: str | None = None
    starting_validity_date: str | None = None
    certificate_status: Code | None = None
    certificate_type: Code | None = None
    notified_body_srn: str | None = None
    latest_version: bool | None = None


class ActorRow(Wire, frozen=True):
    """A row of the actor search. `actor_status` is in some answers and not in others."""

    uuid: str | None = None
    srn: str | None = None
    eudamed_identifier: str | None = None
    name: str | None = None
    names: Texts | None = None
    country_iso2_code: str | None = msgspec.field(name="countryIso2Code", default=None)
    actor_status: Code | None = None
    latest_version: bool | None = None
    version_number: Version | None = None


class ActorRecord(Wire, frozen=True):
    """The record of one actor."""

    uuid: str | None = None
    actor_status: Code | None = None


class ActorInformation(Wire, frozen=True):
    """The detail of one actor, around its record."""

    actor_data_public_view: ActorRecord | None = None


class ListedCertificate(CertificateRow, frozen=True):
    """A row of the certificate search as the list of all certificates."""

    ulid: str | None = None
    uuid: str | None = None
    actor_name: str | None = None
    version_number: Version | None = None


class ListedKey(Wire, frozen=True):
    """What tells a row of a list from others, where nothing else of it can be read."""

    ulid: str | None = None
    uuid: str | None = None


class CertificateScope(Wire, frozen=True):
    """A scope of a certificate. Nobody has described the forms of its values, so any are taken."""

    basic_udi_data: Any = None
    risk_class: Any = None
    device_type_codes: Any = None
    description: Any = None


class CertificateRecord(Wire, frozen=True):
    """The record of one certificate."""

    uuid: str | None = None
    scopes: list[CertificateScope] | msgspec.UnsetType | None = msgspec.UNSET


class RefusedApplication(Wire, frozen=True):
    """A row of the search of refused applications."""

    ulid: str | None = None
    uuid: str | None = None
    actor_srn: str | None = None
    actor_name: str | None = None
    notified_body_srn: str | None = None
    application_reference_number: str | None = None
    conformity_assessment_procedure: Any = None
    certificate_refusal_date: str | None = None


class ListedBody(Wire, frozen=True):
    """An entry of the list of notified bodies."""

    eudamed_identifier: str | None = None
    name: Any = None
