"""REST's answers about certificates and refused applications."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from registerwatch.copy.certificates.certificate_documents import SeenDocument
from registerwatch.copy.certificates.certificate_queries import StoredCertificate, StoredRefusal
from registerwatch.lookup.certificate_history import ObservedChange
from registerwatch.lookup.certificate_proof import what_it_proves
from registerwatch.lookup.certificate_service import (
    CertificateDetails,
    CertificatesPage,
    NoCertificate,
    RefusalsOfActor,
    StoredScope,
)
from registerwatch.lookup.certificate_summary import (
    AsOf,
    CertificateOfDevices,
    CertificateSummary,
    ErrorOfList,
    KnownState,
    instant_or_none,
    knowledge_fields,
    summary_fields,
)
from registerwatch.platform.clock import iso_utc
from registerwatch.register.certificates import CertificateDocument
from registerwatch.register.codes import label
from registerwatch.web.answers.answers import NOT_FOUND, Answer, AnyError, doc, instant

EXAMPLE_ID = "c266239c-462c-4840-9017-4efac3289fbc"


MAX_SCOPES = 500
"""Scopes in the answer for one certificate."""


class ListedCertificate(CertificateSummary, frozen=True, kw_only=True, gc=False):
    """A certificate that the register lists for a manufacturer, with what it proves."""

    uuid: Annotated[str, doc("The register's id of its present version.", EXAMPLE_ID)]
    issue_date: Annotated[str | None, doc("Date of issue, null when the register has none.", "2025-09-17")]
    valid_from: Annotated[str | None, doc("Date from which it is valid, likewise.", "2025-09-17")]
    latest: Annotated[bool, doc("Whether the register calls this its latest version.")]
    first_seen_at: Annotated[str, instant("The first reading of the list that had it, UTC.")]
    scopes_read_at: Annotated[str | None, instant("When its scope was last read, UTC; null when it never was.")]
    proves: Annotated[
        str,
        doc(
            "What it proves and what not, today, in English.",
            "A certificate of the manufacturer; its scope names no device.",
        ),
    ]

    @classmethod
    def of(cls, certificate: StoredCertificate, today: date) -> "ListedCertificate":
        """A stored certificate as of a day."""
        return cls(**_fields(certificate, today))


class RefusedApplication(Answer):
    """An application for a certificate that a notified body refused."""

    id: Annotated[str, doc("The register's own id.", "01KTRNZDXJ464K52YBH502R56Q")]
    reference: Annotated[str, doc("Reference number of the application.", "APP-2026-0815")]
    procedure: Annotated[str, doc("Conformity assessment procedure in English.", "Annex ix chapter i")]
    procedure_code: Annotated[
        str, doc("The register's code of it.", "refdata.conformity-assessment-procedure.annex-ix-chapter-i")
    ]
    refused_on: Annotated[str | None, doc("Date of the refusal, null when the register has none.", "2026-05-04")]
    notified_body: Annotated[str, doc("Number of the notified body.", "0633")]
    notified_body_name: Annotated[
        str, doc("Name of the notified body, empty where it was not read.", "DNV MEDCERT GmbH")
    ]
    first_seen_at: Annotated[str, instant("The first reading of the list that had it, UTC.")]
    unlisted_at: Annotated[
        str | None, instant("The first whole reading in which it was missing, UTC; null while it is listed.")
    ]

    @classmethod
    def of(cls, stored: StoredRefusal) -> "RefusedApplication":
        """A stored refusal."""
        return cls(
            stored.id,
            stored.reference,
            label(stored.procedure_code),
            stored.procedure_code,
            stored.refused_on,
            stored.notified_body,
            stored.notified_body_name,
            iso_utc(stored.first_seen_at),
            instant_or_none(stored.unlisted_at),
        )


class RefusedApplications(Answer):
    """The refused applications of a manufacturer."""

    items: Annotated[list[RefusedApplication], doc("Those that were registered last, at most 100.")]
    more: Annotated[bool, doc("Whether there are others.")]
    state: KnownState
    as_of: AsOf
    error: ErrorOfList

    @classmethod
    def of(cls, found: RefusalsOfActor) -> "RefusedApplications":
        """The refusals found."""
        items = [RefusedApplication.of(each) for each in found.page.rows]
        return cls(items, found.page.more, *knowledge_fields(found.knowledge))


class CertificateList(Answer):
    """A page of certificates, those that were registered last first."""

    certificates: Annotated[list[ListedCertificate], doc("Certificates, with or without a date of expiry.")]
    total: Annotated[int, doc("Exact number over all pages.", 42)]
    undated: Annotated[
        int,
        doc(
            "How many have no end date. They are in the list and in `total`, but with `expires_before` beside it: they"
            " do not expire before any day.",
            3,
        ),
    ]
    after: Annotated[
        str | None, doc("The value of `after` for the next page, null on the last.", "01KTRNZDXJ464K52YBH502R56Q")
    ]
    state: KnownState
    as_of: AsOf
    error: ErrorOfList
    named_by_devices: Annotated[
        list[CertificateOfDevices] | UnsetType,
        doc(
            "Only where `number` is sent, and records of devices name certificates with it that the list does not have:"
            " at most 20 of them, of `srn` and `notified_body` where these are sent. The other filters go by the list."
        ),
    ] = UNSET

    @classmethod
    def of(cls, found: CertificatesPage, today: date) -> "CertificateList":
        """The page found."""
        rows = found.page.rows
        of_devices = [CertificateOfDevices.of(each, today) for each in found.of_devices]
        return cls(
            [ListedCertificate.of(each, today) for each in rows],
            found.counts.total,
            found.counts.undated,
            rows[-1].id if found.page.more else None,
            *knowledge_fields(found.knowledge),
            of_devices or UNSET,
        )


class CertificatesOfActorAnswer(CertificateList, kw_only=True):
    """The certificates of a manufacturer, and the applications for certificates that were refused."""

    srn: Annotated[str, doc("Single registration number.", "DE-MF-000006413")]
    refusals: RefusedApplications

    @classmethod
    def of_actor(
        cls, srn: str, found: CertificatesPage, refused: RefusalsOfActor, today: date
    ) -> "CertificatesOfActorAnswer":
        """The answer for an actor."""
        listed = CertificateList.of(found, today)
        return cls(**msgspec.structs.asdict(listed), srn=srn, refusals=RefusedApplications.of(refused))


class CertificateScope(Answer):
    """What a certificate is for. Most scopes name no device."""

    basic_udi: Annotated[str, doc("Basic UDI-DI, empty where the scope names none.", "++E494ZIRKON5F5")]
    risk_class: Annotated[str, doc("Risk class in English, empty where the scope names none.", "Class IIa")]
    risk_class_code: Annotated[str, doc("The register's code of it.", "refdata.risk-class.class-iia")]
    device_types: Annotated[list[str], doc("Types of devices in English.", ["Sterile"])]
    device_type_codes: Annotated[list[str], doc("The register's codes of them.", ["refdata.device-type.sterile"])]
    description: Annotated[str, doc("The notified body's own words.", "Zirconia blanks")]

    @classmethod
    def of(cls, stored: StoredScope) -> "CertificateScope":
        """A stored scope."""
        codes = list(stored.device_type_codes)
        risk = stored.risk_class_code
        return cls(stored.basic_udi, label(risk), risk, [label(code) for code in codes], codes, stored.description)


class ChangedFieldOfCertificate(Answer):
    """One field of a certificate that changed."""

    field: Annotated[str, doc("Name of the field, as in the certificate.", "status")]
    old: Annotated[str, doc("What was there before, in words; empty for nothing.", "Issued")]
    new: Annotated[str, doc("What came, in words; empty for nothing.", "Suspended")]


class ChangeOfCertificate(Answer):
    """A change of a certificate that this service observed."""

    observed_at: Annotated[str, instant("Before the first request of the reading that found it, UTC.")]
    changes: Annotated[list[ChangedFieldOfCertificate], doc("The fields that changed.")]

    @classmethod
    def of(cls, observed: ObservedChange) -> "ChangeOfCertificate":
        """An observed change."""
        fields = [ChangedFieldOfCertificate(each.field, each.old, each.new) for each in observed.fields]
        return cls(iso_utc(observed.observed_at), fields)


class StatusReason(Answer):
    """Why the status of a certificate changed."""

    label: Annotated[str, doc("In English.", "Non compliance with requirements")]
    code: Annotated[
        str,
        doc("The register's code.", "refdata.certificate-status-change-reason.non-compliance-with-requirements"),
    ]


class DocumentOfCertificate(Answer, kw_only=True):
    """A document that the register has of a certificate."""

    uuid: Annotated[str, doc("The register's own id.", "56fe9527-0928-40f9-8d1f-5074312e122d")]
    name: Annotated[str, doc("The file's name, empty when the register has none.", "Z-25-052-S-IX-E.pdf")]
    size: Annotated[int | None, doc("Bytes as the register says, null when it does not.", 1691450)]
    content_type: Annotated[str, doc("As the register says, empty when it does not.", "application/pdf")]
    address: Annotated[
        str,
        doc(
            "Where it is fetched from the register through this service.",
            f"/v1/certificates/{EXAMPLE_ID}/documents/56fe9527-0928-40f9-8d1f-5074312e122d",
        ),
    ]
    sha256: Annotated[
        str | UnsetType, doc("SHA-256 of its content when this service saw it first; missing before that.", "9f86d0…")
    ] = UNSET
    first_seen_at: Annotated[str | UnsetType, instant("When that was, UTC.")] = UNSET

    @classmethod
    def of(cls, certificate_id: str, document: CertificateDocument, seen: SeenDocument | None) -> Self:
        """A document as answered, with the known facts of its content."""
        return cls(
            uuid=document.uuid,
            name=document.name,
            size=document.size,
            content_type=document.content_type,
            address=document_address(certificate_id, document.uuid),
            sha256=seen.sha256 if seen else UNSET,
            first_seen_at=iso_utc(seen.first_seen_at) if seen else UNSET,
        )


def document_address(certificate_id: str, uuid: str) -> str:
    """The address to fetch it at."""
    return f"/v1/certificates/{certificate_id}/documents/{uuid}"


class CertificateRecord(ListedCertificate, frozen=True, kw_only=True, gc=False):
    """One certificate with its scopes."""

    found: Annotated[Literal[True], doc("Always true with status 200.")]
    scopes: Annotated[
        list[CertificateScope] | None, doc("Its scopes, at most 500; null where nobody has read them yet.")
    ]
    basic_udis: Annotated[
        list[str],
        doc("The Basic UDI-DIs that they name, at most 1,000. It is no proof for other devices.", ["++E494ZIRKON5F5"]),
    ]
    history: Annotated[
        list[ChangeOfCertificate],
        doc("What this service saw change since `first_seen_at`, the last change first, at most 50."),
    ]
    history_complete: Annotated[
        bool,
        doc(
            "Whether `history` has every change since `first_seen_at`: not where there were more, or where the oldest"
            " were deleted.",
            True,
        ),
    ]
    state: KnownState
    as_of: AsOf
    error: ErrorOfList
    status_reasons: Annotated[
        list[StatusReason] | UnsetType, doc("Why its status changed. Missing where nobody has read its record.")
    ] = UNSET
    additional_status_reason: Annotated[
        str | UnsetType,
        doc(
            "The same in the notified body's own words, missing when the register has none.",
            "The manufacturer gave up the certificate.",
        ),
    ] = UNSET
    decision_date: Annotated[
        str | UnsetType, doc("Date of the decision, missing when the register has none.", "2026-02-10")
    ] = UNSET
    documents: Annotated[
        list[DocumentOfCertificate] | UnsetType,
        doc("Documents that the register has of it. Missing where nobody has read its record."),
    ] = UNSET

    @classmethod
    def of_details(
        cls, details: CertificateDetails, today: date, seen: Mapping[str, SeenDocument]
    ) -> "CertificateRecord":
        """A certificate as of a day. `seen` are its documents that were fetched before."""
        scopes = None if details.scopes is None else [CertificateScope.of(each) for each in details.scopes[:MAX_SCOPES]]
        state, as_of, error = knowledge_fields(details.knowledge)
        own = _fields(details.certificate, today)
        named = list(details.basic_udis)
        history = [ChangeOfCertificate.of(each) for each in details.history]
        fields: dict[str, Any] = {"scopes": scopes, "basic_udis": named, "history": history}
        fields["history_complete"] = not details.has_older_history
        fields |= _facts(details, seen)
        return cls(**own, found=True, **fields, state=state, as_of=as_of, error=error)


def _facts(details: CertificateDetails, seen: Mapping[str, SeenDocument]) -> dict[str, Any]:
    """The fields of a certificate's record beside its scopes, where it was read."""
    facts, number = details.facts, details.certificate.id
    if facts is None:
        return {}
    return {
        "status_reasons": [StatusReason(label(code), code) for code in facts.status_reason_codes],
        "additional_status_reason": facts.additional_reason or UNSET,
        "decision_date": facts.decision_date or UNSET,
        "documents": [DocumentOfCertificate.of(number, each, seen.get(each.uuid)) for each in facts.documents],
    }


class DocumentNotFound(AnyError):
    """There is no such document."""

    found: Annotated[Literal[False], doc("Always false with status 404.")]
    uuid: Annotated[str, doc("What was asked for.", "56fe9527-0928-40f9-8d1f-5074312e122d")]
    error: Annotated[
        str,
        doc(
            "Whether the certificate has no such document, or it is not known.",
            "The record of this certificate, as it was last read, names no document with this id.",
        ),
    ]


class CertificateNotFound(AnyError):
    """There is no such certificate to show."""

    found: Annotated[Literal[False], doc("Always false with status 404.")]
    id: Annotated[str, doc("What was asked for.", EXAMPLE_ID)]
    state: KnownState
    as_of: AsOf
    error: Annotated[
        str,
        doc(
            "Whether the register has no such certificate, nobody has looked yet, or it could not be looked for.",
            "The register’s list of certificates has not been read yet.",
        ),
    ]

    @classmethod
    def of(cls, answer: NoCertificate) -> "CertificateNotFound":
        """A certificate that cannot be shown, and why."""
        state, as_of, _ = knowledge_fields(answer.knowledge)
        return cls(found=False, id=answer.id, state=state, as_of=as_of, error=answer.reason, code=NOT_FOUND)


def _fields(certificate: StoredCertificate, today: date) -> dict[str, Any]:
    return {
        **summary_fields(certificate, today),
        "uuid": certificate.uuid,
        "issue_date": certificate.issue_date,
        "valid_from": certificate.valid_from,
        "latest": certificate.is_latest,
        "first_seen_at": iso_utc(certificate.first_seen_at),
        "scopes_read_at": instant_or_none(certificate.scopes_read_at),
        "proves": what_it_proves(certificate, today),
    }
