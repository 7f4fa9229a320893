"""The page of one certificate: its facts, what it proves, its scopes, its changes."""

from collections.abc import Mapping, Sequence

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.copy.certificates.certificate_documents import SeenDocument
from registerwatch.copy.certificates.certificate_queries import StoredCertificate
from registerwatch.errors import InvalidInput
from registerwatch.lookup.certificate_service import (
    MAX_ID_LENGTH,
    CertificateDetails,
    ListKnowledge,
    ListState,
    NoCertificate,
    StoredScope,
)
from registerwatch.pages.public.certificates.listed_certificates import CertificateRow, instant, notice_of
from registerwatch.pages.public.structured_data import certification, script_text
from registerwatch.pages.public.summaries import certificate_summary, origin_of
from registerwatch.pages.rendering import not_found, page
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.certificates import CertificateDocument, CertificateFacts
from registerwatch.register.codes import label
from registerwatch.web.answers.certificate_answers import document_address
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit

MAX_SCOPES = 200
MAX_BASIC_UDIS = 200


class ShownScope(msgspec.Struct, frozen=True):
    """A scope of the certificate."""

    scope: StoredScope

    @property
    def risk_class(self) -> str:
        """The risk class in English, or empty."""
        return label(self.scope.risk_class_code)

    @property
    def device_types(self) -> str:
        """The device types in English."""
        return ", ".join(label(code) for code in self.scope.device_type_codes)


class ShownDocument(msgspec.Struct, frozen=True):
    """A document of the certificate with this id."""

    certificate_id: str
    document: CertificateDocument
    seen: SeenDocument | None

    @property
    def title(self) -> str:
        """The file's name."""
        return self.document.name or "Document without a name"

    @property
    def address(self) -> str:
        """The address of its download."""
        return document_address(self.certificate_id, self.document.uuid)

    @property
    def size(self) -> str:
        """`1,652 kB`, empty if the register does not say."""
        return f"{-(-self.document.size // 1000):,} kB" if self.document.size else ""

    @property
    def sha256(self) -> str:
        """The digest at the first fetch, empty before."""
        return self.seen.sha256 if self.seen else ""

    @property
    def first_seen_at(self) -> int | None:
        """When it was fetched first."""
        return self.seen.first_seen_at if self.seen else None


class CertificateView(msgspec.Struct, frozen=True):
    """The data of a certificate's page."""

    details: CertificateDetails
    row: CertificateRow
    seen: Mapping[str, SeenDocument] = msgspec.field(default_factory=dict)
    """Fetched documents, by uuid."""

    @property
    def certificate(self) -> StoredCertificate:
        """The certificate."""
        return self.details.certificate

    @property
    def name(self) -> str:
        """Its number, or words for none."""
        return self.certificate.number or "Certificate without a number"

    @property
    def scopes(self) -> Sequence[ShownScope]:
        """Its scopes, at most 200; none if they were never read."""
        return [ShownScope(each) for each in (self.details.scopes or ())[:MAX_SCOPES]]

    @property
    def scopes_left_out(self) -> int:
        """How many scopes are left out."""
        return max(0, len(self.details.scopes or ()) - MAX_SCOPES)

    @property
    def facts(self) -> CertificateFacts:
        """The facts of its record beside its scopes, none if it was not read."""
        return self.details.facts or CertificateFacts()

    @property
    def status_reason(self) -> str:
        """Why its status changed, empty if its record does not say."""
        reasons = ", ".join(label(code) for code in self.facts.status_reason_codes)
        return "; ".join(part for part in (reasons, self.facts.additional_reason) if part)

    @property
    def documents(self) -> Sequence["ShownDocument"]:
        """Its documents in the register."""
        number = self.certificate.id
        return [ShownDocument(number, each, self.seen.get(each.uuid)) for each in self.details.documents]

    @property
    def basic_udis(self) -> Sequence[str]:
        """The Basic UDI-DIs that the scopes name, at most 200."""
        return self.details.basic_udis[:MAX_BASIC_UDIS]

    @property
    def knowledge(self) -> ListKnowledge:
        """What is known of the register's list."""
        return self.details.knowledge

    @property
    def notice(self) -> tuple[str, str]:
        """Why the page may be out of date, as words and a tone; empty words if it is not."""
        return notice_of(self.knowledge)

    @property
    def as_of(self) -> str | None:
        """When the register's list was last read completely."""
        return instant(self.knowledge)

    def iso(self, at: int | None) -> str | None:
        """An instant for the templates."""
        return None if at is None else iso_utc(at)


router = APIRouter()


@router.get("/c/{certificate_id:path}")
async def certificate(request: Request, certificate_id: str, service: InjectedService) -> Response:
    """The stored certificate."""
    await limits_of(request).check(request, Limit.PAGES)
    try:
        found = await service.certificates.read("".join(certificate_id.split()))
    except InvalidInput as error:
        code = certificate_id[:MAX_ID_LENGTH]
        return not_found(request, "Certificate", code, "No such certificate", str(error), may_work_later=False)
    if isinstance(found, NoCertificate):
        is_known = found.knowledge.state is ListState.COMPLETE
        heading = "No such certificate" if is_known else "This certificate cannot be shown"
        return not_found(request, "Certificate", found.id, heading, found.reason, may_work_later=not is_known)
    return await _certificate_page(request, service, found)


async def _certificate_page(request: Request, service: Service, found: CertificateDetails) -> Response:
    today = day_of(service.clock.now())
    seen = await service.certificate_documents.seen(found)
    view = CertificateView(found, CertificateRow(found.certificate, today), seen)
    summary = certificate_summary(view, origin_of(service.settings))
    return page(
        request,
        "certificate.html",
        settled=found.knowledge.error is None,
        view=view,
        summary=summary,
        structured=script_text(certification(view.certificate, view.row.shown, summary)),
    )
