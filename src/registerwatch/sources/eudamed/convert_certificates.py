"""Converts the register's wire forms to certificates, refused applications and notified bodies of its lists."""

from typing import Any

from registerwatch.register.certificates import (
    MAX_NAMED,
    CertificateDocument,
    CertificateFacts,
    NotifiedBody,
    Refusal,
    RegisteredCertificate,
    Scope,
    is_long,
    named_devices,
)
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.convert import has_lost_certificate
from registerwatch.sources.fields import key, text

MAX_TEXT, MAX_CODE, MAX_DESCRIPTION, MAX_TYPES = 500, 100, 2_000, 50
MAX_DOCUMENTS = 100
MAX_DESCRIBED = 500
"""Scopes of a certificate that are kept whole; later ones keep only what names a device."""


def key_of(row: wire.ListedKey) -> tuple[str, str] | None:
    """The uuid and the id of a row, None where it has none."""
    uuid = _record_key(row.uuid)
    return (uuid, _record_key(row.ulid) or uuid) if uuid else None


def certificate_of(row: wire.ListedCertificate) -> RegisteredCertificate | None:
    """The certificate in a row of the search. None where its key or number is missing, a value is too long, or its end
    cannot be read.
    """
    uuid, number = _record_key(row.uuid), text(row.certificate_number)
    body, revision = text(row.notified_body_srn), text(row.revision_number)
    if not uuid or not number or is_long(number, body, revision) or has_lost_certificate(row.unread, at=""):
        return None
    return RegisteredCertificate(
        id=_record_key(row.ulid) or uuid,
        uuid=uuid,
        srn=key(row.actor_srn),
        actor_name=_bounded(row.actor_name),
        notified_body=body,
        number=number,
        revision=revision,
        type_code=_code(row.certificate_type),
        status_code=_code(row.certificate_status),
        issue_date=row.issue_date,
        valid_from=row.starting_validity_date,
        expiry=row.expiry_date,
        version=row.version_number,
        is_latest=row.latest_version is not False,
    )


def refusal_of(row: wire.RefusedApplication) -> Refusal | None:
    """A refused application. None where its key or reference is missing, or a value is too long."""
    uuid, reference = _record_key(row.uuid), text(row.application_reference_number)
    body = text(row.notified_body_srn)
    if not uuid or not reference or is_long(reference, body):
        return None
    return Refusal(
        id=_record_key(row.ulid) or uuid,
        srn=key(row.actor_srn),
        actor_name=_bounded(row.actor_name),
        notified_body=body,
        reference=reference,
        procedure_code=_code(row.conformity_assessment_procedure),
        refused_on=row.certificate_refusal_date,
    )


def notified_body_of(entry: wire.ListedBody) -> NotifiedBody | None:
    """A notified body. None where its number is missing, or a value is too long."""
    number = text(entry.eudamed_identifier)
    return NotifiedBody(number, _bounded(entry.name)) if number and not is_long("", number) else None


def scopes_of(record: wire.CertificateRecord) -> list[Scope]:
    """The scopes of a certificate, each once. The first `MAX_DESCRIBED` are whole; the others have only what names a
    device. No more than `MAX_NAMED` devices are named.
    """
    listed = record.scopes if isinstance(record.scopes, list) else []
    whole = dict.fromkeys(scope for each in listed[:MAX_DESCRIBED] if (scope := _scope(each)) != Scope())
    named = set(named_devices(list(whole)))
    codes = dict.fromkeys(_basic_udi(each.basic_udi_data) for each in listed[MAX_DESCRIBED:])
    further = [code for code in codes if code and code not in named]
    return [*whole, *map(Scope, further[: MAX_NAMED - len(named)])]


def facts_of(record: wire.CertificateRecord) -> CertificateFacts:
    """Facts in a certificate's record beside its scopes."""
    files = [each for each in record.documents or () if _record_key(each.uuid)]
    return CertificateFacts(
        status_reason_codes=_codes(record.status_change_reasons),
        additional_reason=text(record.additional_status_change_reason)[:MAX_DESCRIPTION],
        decision_date=record.decision_date,
        documents=tuple(_document(each) for each in files[:MAX_DOCUMENTS]),
    )


def _document(file: wire.CertificateFile) -> CertificateDocument:
    return CertificateDocument(
        uuid=_record_key(file.uuid),
        name=_bounded(file.original_file_name),
        size=file.file_size,
        content_type=text(file.file_content_type)[:MAX_CODE],
    )


def _scope(scope: wire.CertificateScope) -> Scope:
    return Scope(
        basic_udi=_basic_udi(scope.basic_udi_data),
        risk_class_code=_code(scope.risk_class),
        device_type_codes=_codes(scope.device_type_codes),
        description=text(scope.description)[:MAX_DESCRIPTION],
    )


def _basic_udi(value: Any) -> str:
    """The Basic UDI-DI in `"B-1"`, `{"code": "B-1"}` or `{"basicUdi": …}`."""
    if isinstance(value, dict):
        return _basic_udi(value.get("basicUdi")) or _basic_udi(value.get("code"))
    return key(value) if isinstance(value, str) else ""


def _codes(values: list[wire.Code] | None) -> tuple[str, ...]:
    codes = [_code(each) for each in (values or ())[:MAX_TYPES]]
    return tuple(dict.fromkeys(code for code in codes if code))


def _code(value: wire.Code | None) -> str:
    return text(value.code if value else None)[:MAX_CODE]


def _record_key(value: str | None) -> str:
    return value if value is not None and wire.RECORD_KEY.fullmatch(value) else ""


def _bounded(value: object) -> str:
    return text(value)[:MAX_TEXT]
