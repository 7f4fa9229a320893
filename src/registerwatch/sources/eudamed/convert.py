"""Converts the register's wire forms to devices, certificates and actors."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from registerwatch.register.basic_records import BasicRecord, SharedRecord, SharedSearch, together, with_record
from registerwatch.register.codes import label
from registerwatch.register.models import (
    Actor,
    ActorReference,
    Certificate,
    Completeness,
    Contradiction,
    DatedStatus,
    Device,
    DeviceReading,
    date_of_status,
)
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.details import (
    characteristics_of,
    details_of_detail,
    safety_summary_of,
    special_type_of,
)
from registerwatch.sources.eudamed.other_codes import other_codes_of
from registerwatch.sources.fields import key, preferred_name, text
from registerwatch.sources.wire import UnreadField

NAME = "eudamed"
"""The source's name."""


def reading_of_row(row: wire.DeviceRow) -> DeviceReading:
    """The reading of a device search's row alone."""
    device = Device(
        uuid=key(row.uuid),
        udi=key(row.primary_di),
        basic_udi=key(row.basic_udi),
        trade_name=text(row.trade_name),
        manufacturer_name=text(row.manufacturer_name),
        manufacturer_srn=key(row.manufacturer_srn),
        reference=text(row.reference),
        version=row.version_number,
        **_coded(status=row.device_status_type, risk_class=row.risk_class, manufacturer_status=row.manufacturer_status),
    )
    return DeviceReading(
        device=device,
        completeness=Completeness.SOME,
        source=NAME,
        latest_version=row.latest_version is not False,
        basic_key=key(row.basic_udi_di_data_ulid),
    )


def record_of(basic: wire.BasicUdiRecord) -> BasicRecord:
    """A Basic UDI-DI record, which holds for all devices under it. A new field of it is a line here."""
    manufacturer = basic.manufacturer or wire.ActorName()
    return BasicRecord(
        basic_udi=key(basic.basic_udi.code if basic.basic_udi else None),
        manufacturer_srn=key(manufacturer.srn),
        manufacturer_name=text(manufacturer.name),
        device_name=text(basic.device_name),
        device_model=text(basic.device_model),
        implantable=basic.implantable,
        reusable=basic.reusable,
        authorised_representative=actor_reference(basic.authorised_representative),
        certs=tuple(certificates_of(basic)),
        has_all_certificates=not _lost_certificates(basic),
        special_type=special_type_of(basic),
        safety_summary=safety_summary_of(basic),
        characteristics=characteristics_of(basic),
        updated=_latest(basic.last_updated, basic.version_date),
        **_coded(legislation=basic.legislation, risk_class=basic.risk_class),
    )


def reading_of_device(
    row: DeviceReading,
    detail: wire.DeviceDetail | None,
    basic: SharedRecord,
    search: SharedSearch | None,
    stored: Device | None,
    *,
    kept: Iterable[Certificate] = (),
    kept_revision: int = 0,
    searched: bool = True,
) -> DeviceReading:
    """The reading of one read of a device. `row` is the reading of its row.

    `detail` is None when `stored`, the stored device, already has it at this version. `search` is None when the
    certificate search could not be read; an unreadable certificate of the record has the same effect. `kept` are
    stored certificates that stay beside those of this read, from a search that was stored at `kept_revision`.
    `searched` is False where there was no search to ask.
    """
    row_device, record = row.device, basic.record
    has_certificates = search is not None and record.has_all_certificates
    known = stored if detail is None else None
    later = stored if detail is not None and _is_behind(detail, row_device, stored) else None
    of_detail = detail_fields(detail) if detail else kept_detail_fields(known)
    status_code = row_device.status_code or _status_code(detail) or (known.status_code if known else "")
    dated = known.dated_status if known else _dated_status(detail, status_code)
    device = Device(
        uuid=row_device.uuid,
        udi=row_device.udi,
        basic_udi=record.basic_udi or row_device.basic_udi,
        trade_name=row_device.trade_name
        or (later.trade_name if later else "")
        or preferred_name(of_detail["trade_names"]),
        manufacturer_name=row_device.manufacturer_name or record.manufacturer_name,
        manufacturer_srn=row_device.manufacturer_srn or record.manufacturer_srn,
        manufacturer_status=row_device.manufacturer_status,
        manufacturer_status_code=row_device.manufacturer_status_code,
        reference=_first(
            row_device.reference,
            later.reference if later else None,
            detail.reference if detail else None,
            known.reference if known else None,
        ),
        version=row_device.version,
        updated=_latest(detail.version_date if detail else None, known.updated if known else None),
        certs=together(kept, record.certs, search.certificates if search else ()),
        contradictions=_contradictions(row_device, record) or msgspec.UNSET,
        **of_detail,
        **date_of_status(status_code, dated),
        **_labelled("status", status_code),
        **_labelled("risk_class", row_device.risk_class_code or record.risk_class_code),
    )
    return DeviceReading(
        device=with_record(device, record),
        completeness=Completeness.EVERYTHING if has_certificates else Completeness.ALL_BUT_CERTIFICATES,
        source=NAME,
        latest_version=row.latest_version,
        detail_version=_detail_version(row_device, detail),
        searched=searched and has_certificates,
        kept_revision=kept_revision,
        keeps_detail=detail is None,
        basic_key=row.basic_key,
        basic_read_at=basic.read_at,
        basic_revision=basic.revision,
        searched_at=search.read_at if search else None,
        search_revision=search.revision if search else 0,
        basic_shown_at=basic.shown_at,
        search_shown_at=search.shown_at if search else None,
    )


def _contradictions(row: Device, record: BasicRecord) -> tuple[Contradiction, ...]:
    """Fields in which a row and the Basic UDI-DI record differ."""
    pairs: tuple[tuple[Literal["basic_udi", "risk_class"], str, str], ...] = (
        ("basic_udi", row.basic_udi, record.basic_udi),
        ("risk_class", row.risk_class, record.risk_class),
    )
    return tuple(Contradiction(*each) for each in pairs if each[1] and each[2] and each[1] != each[2])


def _status_code(detail: wire.DeviceDetail | None) -> str:
    return code(detail.device_status.type) if detail and detail.device_status else ""


def _dated_status(detail: wire.DeviceDetail | None, status_code: str) -> DatedStatus | None:
    """The market status of a detail, which can be behind its row; `status_code` where it names none."""
    if detail is None or detail.device_status is None or not detail.device_status.status_date:
        return None
    own = _status_code(detail) or status_code
    return DatedStatus(label(own), own, detail.device_status.status_date)


def has_date_of_status(known: Device, row: Device) -> bool:
    """Whether the stored date of the market status, or its absence, applies to the status of a row."""
    return known.former_status is msgspec.UNSET and row.status_code in ("", known.status_code)


def _detail_version(row: Device, detail: wire.DeviceDetail | None) -> int:
    """The version of a detail, which can be behind its row. 0 where neither has one."""
    own = detail.version_number if detail else None
    return (row.version if own is None else own) or 0


def _is_behind(detail: wire.DeviceDetail, row: Device, stored: Device | None) -> bool:
    """Whether a detail is older than its row and than the stored version, which was then read later."""
    version = detail.version_number
    return version is not None and stored is not None and version < min(row.version or 0, stored.version or 0)


def detail_fields(detail: wire.DeviceDetail) -> dict[str, Any]:
    """The fields of a device that only the detail has. A new one is a line here."""
    return {
        "trade_names": detail.trade_name or {},
        "emdn": _emdn(detail.cnd_nomenclatures),
        "other_codes": other_codes_of(detail) or msgspec.UNSET,
        "sterile": detail.sterile,
        "latex": detail.latex,
        **details_of_detail(detail),
    }


def kept_detail_fields(known: Device | None) -> dict[str, Any]:
    """The stored fields of a detail, for a read that leaves it out; empty where nothing is stored."""
    empty = detail_fields(wire.DeviceDetail(uuid=""))
    return empty if known is None else {name: getattr(known, name) for name in empty}


def _lost_certificates(basic: wire.BasicUdiRecord) -> bool:
    """Whether the record lists a certificate that cannot be read, so that its list is incomplete."""
    listed = "deviceCertificateInfoList"
    is_lost = any(each.path in (listed, f"{listed}[]") for each in basic.unread)
    return is_lost or has_lost_certificate(basic.unread, at=f"{listed}.")


def has_lost_certificate(unread: Iterable[UnreadField], *, at: str) -> bool:
    """Whether a certificate has lost its number or its end, by the paths of its fields behind `at`. Without an end that
    the register names it would count as one without an end.
    """
    lost = {at + name for name in ("certificateNumber", "certificateExpiry", "expiryDate")}
    return any(each.path in lost for each in unread)


def certificates_of(basic: wire.BasicUdiRecord) -> list[Certificate]:
    """Certificates that the Basic UDI-DI record lists."""
    return [
        Certificate(
            number=text(entry.certificate_number),
            revision=text(entry.certificate_revision),
            expiry=entry.certificate_expiry,
            valid_from=entry.starting_validity_date or entry.issue_date,
            status=label(code(entry.status)),
            status_code=code(entry.status),
            type_code=code(entry.certificate_type),
            notified_body=text(entry.notified_body.srn) if entry.notified_body else "",
            notified_body_name=text(entry.notified_body.name) if entry.notified_body else "",
            listed_in="record",
        )
        for entry in basic.device_certificate_info_list or ()
        if text(entry.certificate_number)
    ]


def certificate_rows(rows: Iterable[wire.CertificateRow]) -> list[Certificate]:
    """The certificates of a certificate search, each in its latest version."""
    return [
        Certificate(
            number=text(row.certificate_number),
            revision=text(row.revision_number),
            expiry=row.expiry_date,
            valid_from=row.starting_validity_date or row.issue_date,
            status=label(code(row.certificate_status)),
            status_code=code(row.certificate_status),
            type_code=code(row.certificate_type),
            notified_body=text(row.notified_body_srn),
            listed_in="search",
        )
        for row in rows
        if text(row.certificate_number) and row.latest_version is not False
    ]


def actor_of(row: wire.ActorRow, *, status_code: str, device_total: int) -> Actor:
    """An actor from its search row, with a status that its device rows may give."""
    return Actor(
        srn=text(row.srn or row.eudamed_identifier),
        name=text(row.name) or preferred_name(row.names or {}),
        country=text(row.country_iso2_code),
        status_code=status_code,
        device_total=device_total,
        complete=True,
    )


def actor_reference(actor: wire.ActorName | None) -> ActorReference | None:
    """An actor as a device names it, None when it has no SRN."""
    return ActorReference(text(actor.srn), text(actor.name)) if actor and text(actor.srn) else None


def code(value: wire.Code | None) -> str:
    """The code of a coded value, empty for none."""
    return text(value.code) if value else ""


def _coded(**codes: wire.Code | None) -> dict[str, Any]:
    """Label and code of each coded field: `status` and `status_code`, `risk_class` and `risk_class_code`, …"""
    fields: dict[str, Any] = {}
    for name, value in codes.items():
        fields |= _labelled(name, code(value))
    return fields


def _labelled(name: str, value: str) -> dict[str, Any]:
    return {name: label(value), f"{name}_code": value}


def _emdn(terms: list[wire.Nomenclature] | None) -> tuple[str, ...]:
    return tuple(text(term.code) for term in terms or () if text(term.code))


def _first(*values: str | None) -> str:
    return next((text(value) for value in values if text(value)), "")


def _latest(*instants: str | None) -> str | None:
    return max((instant for instant in instants if instant), default=None)
