"""Basic UDI-DI records of devices, which are the same for every device under one Basic UDI-DI.

A record is read for one device and holds for all of them, so each device knows when its record was read. Pure.
"""

from collections.abc import Iterable, Sequence

import msgspec

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.device_details import Characteristics, SafetySummary, SpecialType, with_reported
from registerwatch.register.models import ActorReference, Certificate, Device


class BasicRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A Basic UDI-DI record. Names are those of `Device`. A field that is added needs a new `DOCUMENT_VERSION`."""

    basic_udi: str = ""
    manufacturer_srn: str = ""
    manufacturer_name: str = ""
    risk_class: str = ""
    risk_class_code: str = ""
    legislation: str = ""
    legislation_code: str = ""
    device_name: str = ""
    device_model: str = ""
    implantable: bool | None = None
    reusable: bool | None = None
    authorised_representative: ActorReference | None = None
    certs: tuple[Certificate, ...] = ()
    has_all_certificates: bool = True
    """False where it lists a certificate that could not be read: then those of devices stay as they are."""
    special_type: SpecialType | msgspec.UnsetType = msgspec.UNSET
    safety_summary: SafetySummary | msgspec.UnsetType = msgspec.UNSET
    characteristics: Characteristics | msgspec.UnsetType = msgspec.UNSET
    updated: str | None = None


class SharedRecord(msgspec.Struct, frozen=True):
    """A Basic UDI-DI record with the instant before its request, and the revision of the copy at which it was stored:
    None and 0 where the read that uses it sent the request itself, and the record is not stored elsewhere.

    `shown_at` is the public instant: that of an earlier request if the last ones were sent for watches and brought
    nothing new.
    """

    record: BasicRecord
    read_at: int | None = None
    revision: int = 0
    shown_at: int | None = None


class SharedSearch(msgspec.Struct, frozen=True):
    """The certificates that a search for a Basic UDI-DI found, with the same instants and revision."""

    certificates: tuple[Certificate, ...]
    read_at: int | None = None
    revision: int = 0
    shown_at: int | None = None


REPLACED = (
    "legislation",
    "legislation_code",
    "device_name",
    "device_model",
    "authorised_representative",
    "special_type",
    "safety_summary",
)
"""Fields of a device that always come from its Basic UDI-DI record, even where the record has no value."""
FLAGS = ("implantable", "reusable")
"""Flags that come from the record unless it leaves them null: the Data Lake may know them."""


def with_record(device: Device, record: BasicRecord) -> Device:
    """A device with the values of its Basic UDI-DI record, except certificates."""
    replaced = {name: getattr(record, name) for name in REPLACED}
    replaced |= {name: value for name in FLAGS if (value := getattr(record, name)) is not None}
    replaced["characteristics"] = with_reported(device.characteristics, record.characteristics)
    updated = max((each for each in (device.updated, record.updated) if each), default=None)
    return replace(device, **replaced, updated=updated)


def contradicts(device: Device, record: BasicRecord) -> bool:
    """Whether a stored device has another manufacturer, Basic UDI-DI or risk class than the record, beyond known
    differences. Its row may have changed too, so it has to be read to know which one counts.
    """
    known = {each.field: each.record for each in device.contradictions or ()}
    pairs = (
        (record.manufacturer_srn, device.manufacturer_srn),
        (record.basic_udi, device.basic_udi),
        (record.risk_class, known.get("risk_class", device.risk_class)),
    )
    return any(new and stored and new != stored for new, stored in pairs)


def together(*lists: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Certificates of several lists, in order; one that several lists have is taken from the last of them.

    Certificates of one list with the same notified body, number and revision are several, unless they are entirely
    equal. Identifying values stay where only an earlier list has them.
    """
    found: list[Certificate] = []
    for certificates in lists:
        listed = list(dict.fromkeys(certificates))
        same = same_certificates(listed, found)
        listed_again = {id(each) for of in same for each in of}
        found = [each for each in found if id(each) not in listed_again]
        found += [_identified(each, of) for each, of in zip(listed, same, strict=True)]
    return tuple(sorted(found, key=lambda each: each.order))


def _identified(certificate: Certificate, same: Sequence[Certificate]) -> Certificate:
    """A certificate; a missing revision or notified body is taken from the same one in an earlier list."""
    if not same or (certificate.revision and certificate.notified_body):
        return certificate
    body = certificate if certificate.notified_body else same[0]
    return replace(
        certificate,
        revision=certificate.revision or same[0].revision,
        notified_body=body.notified_body,
        notified_body_name=certificate.notified_body_name or body.notified_body_name,
    )


def encoded(record: BasicRecord) -> str:
    """JSON of a record for storing. Equal records have equal texts."""
    return msgspec.json.encode(record).decode()


def decoded(text: str) -> BasicRecord:
    """A stored record."""
    return _decoder.decode(text)


def encoded_search(certificates: tuple[Certificate, ...]) -> str:
    """JSON of a search's certificates for storing, sorted, since pages of a search have no order."""
    return msgspec.json.encode(sorted(certificates, key=lambda each: each.order)).decode()


def decoded_search(text: str) -> tuple[Certificate, ...]:
    """Stored certificates of a search."""
    return _search_decoder.decode(text)


_decoder = msgspec.json.Decoder(BasicRecord)
_search_decoder = msgspec.json.Decoder(tuple[Certificate, ...])
