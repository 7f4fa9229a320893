"""Public reads of certificates and refused applications."""

from contextlib import AsyncExitStack
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.copy.certificates.certificate_queries import CertificateSelection
from registerwatch.lookup.certificate_documents import NoDocument
from registerwatch.lookup.certificate_service import ID_PATTERN, ListState, NoCertificate
from registerwatch.platform.clock import day_of
from registerwatch.register.codes import CERTIFICATE_STATUSES
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    OTHER_ERROR,
    RATE_LIMITED,
    UNAVAILABLE,
    Responses,
    answer,
    operation_id,
)
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.sources.requester_queue import Requester
from registerwatch.web.answers.answers import NOT_FOUND
from registerwatch.web.answers.certificate_answers import (
    EXAMPLE_ID,
    CertificateList,
    CertificateNotFound,
    CertificateRecord,
    CertificatesOfActorAnswer,
    DocumentNotFound,
)
from registerwatch.web.certificate_filters import (
    BODY_PATTERN,
    MAX_NUMBER_LENGTH,
    STATUS_PATTERN,
    after_of,
    selection_of,
    srn_of,
)
from registerwatch.web.document_response import PDF, document_response, hold_document_slot
from registerwatch.web.injection import InjectedService, address_of, counted
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import (
    CACHE_NOTHING_YET,
    CACHE_RECORD,
    CACHE_SEARCH,
    error_answer,
    tagged_response,
)

MAX_PAGE, DEFAULT_PAGE = 100, 20
NOT_MODIFIED: Responses = {
    304: {"description": "The client's copy, named in `If-None-Match`, is still right.", "content": {}}
}
SRN_PATTERN = "^[A-Za-z]{2}-[A-Za-z]{2}-[0-9]{1,12}$"

CertificateId = Annotated[
    str,
    Path(
        description="The register's `uuid` or `id` (ULID) of the certificate.",
        examples=[EXAMPLE_ID],
        json_schema_extra={"pattern": ID_PATTERN},
    ),
]
DOCUMENT: Responses = {
    200: {
        "description": "The document.",
        "content": {PDF: {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            "Repr-Digest": {
                "description": "SHA-256 of the content (RFC 9530).",
                "schema": {"type": "string"},
            }
        },
    }
}

router = APIRouter(
    tags=["register"],
    responses={**RATE_LIMITED, **UNAVAILABLE, **OTHER_ERROR},
    dependencies=[Depends(counted(Limit.CERTIFICATES)), Depends(only_known_parameters)],
    generate_unique_id_function=operation_id,
    route_class=DirectRoute,
)


def _described(**schema: Any) -> dict[str, Any]:
    """Only for the description: others are refused with better messages."""
    return {"json_schema_extra": schema}


class PageOfCertificates(BaseModel):
    """Which part of a list of certificates is answered."""

    limit: int = Field(DEFAULT_PAGE, ge=1, le=MAX_PAGE, description="Most certificates in the answer.")
    after: str = Field(
        "",
        description="The `after` of the page before; the page begins behind it.",
        **_described(pattern=f"^$|{ID_PATTERN}"),
    )


class CertificateParameters(PageOfCertificates):
    """Parameters of a list of certificates."""

    number: str = Field(
        "",
        max_length=MAX_NUMBER_LENGTH,
        description="Certificate number, whole; white space and capitals do not matter, every other sign does.",
        examples=["Z-25-052-S-IX-E"],
    )
    srn: str = Field(
        "",
        description="SRN of the manufacturer.",
        examples=["DE-MF-000006413"],
        **_described(pattern=f"^$|{SRN_PATTERN}"),
    )
    notified_body: str = Field(
        "",
        description="Number of the notified body, four digits.",
        examples=["0633"],
        **_described(pattern=f"^$|^{BODY_PATTERN}$"),
    )
    status: list[str] = Field(
        [],
        description="Status in the register's list: "
        + ", ".join(f"`{each}`" for each in CERTIFICATE_STATUSES)
        + ", or the register's code; several, each as a parameter of its own or with commas between them. What a device"
        " that was read later says (`device_read`) does not count.",
        examples=[["suspended", "withdrawn"]],
        **_described(items={"type": "string", "pattern": f"^({'|'.join(CERTIFICATE_STATUSES)}|{STATUS_PATTERN})$"}),
    )
    expires_before: str | None = Field(
        None,
        description="Only certificates with a date of expiry before this day in the register's list; `undated` says how"
        " many have none.",
        examples=["2027-06-30"],
        **_described(format="date"),
    )

    def selection(self) -> CertificateSelection:
        """The selection. Raises `InvalidInput`."""
        return selection_of(
            number=self.number,
            srn=self.srn,
            notified_body=self.notified_body,
            statuses=self.status,
            expires_before=self.expires_before or "",
        )


@router.get(
    "/v1/certificates",
    summary="List certificates",
    responses=answer(CertificateList) | NOT_MODIFIED | BAD_REQUEST,
)
async def list_certificates(
    request: Request, parameters: Annotated[CertificateParameters, Query()], service: InjectedService
) -> Response:
    """Certificates that the register lists for manufacturers, read from it as a whole about once an hour: `as_of` says
    when, `state` whether an empty answer says anything. A parameter is required; several narrow it down. A certificate
    of a manufacturer is no proof for a device that its scope does not name. Limit: 60 requests per address and minute.
    """
    selection, after = parameters.selection(), after_of(parameters.after)
    found = await service.certificates.find(selection, parameters.limit, after)
    listed = CertificateList.of(found, _today(service))
    return tagged_response(request, listed, _kept(found.knowledge.state, CACHE_SEARCH))


@router.get(
    "/v1/certificates/{id}",
    summary="Read one certificate",
    responses=answer(CertificateRecord)
    | NOT_MODIFIED
    | BAD_REQUEST
    | answer(CertificateNotFound, status=404, description="No such certificate among the stored ones."),
)
async def read_certificate(
    request: Request,
    id: CertificateId,  # noqa: A002  # as the description has it
    service: InjectedService,
) -> Response:
    """With its scopes, as far as they were read. Limit: 60 requests per address and minute."""
    found = await service.certificates.read(id)
    if isinstance(found, NoCertificate):
        return error_answer(CertificateNotFound.of(found), 404)
    seen = await service.certificate_documents.seen(found)
    record = CertificateRecord.of_details(found, _today(service), seen)
    return tagged_response(request, record, _kept(found.knowledge.state, CACHE_RECORD))


@router.get(
    "/v1/certificates/{id}/documents/{uuid}",
    summary="Fetch a document of a certificate",
    response_class=Response,
    responses=DOCUMENT
    | BAD_REQUEST
    | answer(DocumentNotFound, status=404, description="The certificate has no such document, or it is not known."),
    dependencies=[Depends(counted(Limit.REGISTER_READ))],
)
async def read_document(
    request: Request,
    id: CertificateId,  # noqa: A002  # as the description has it
    uuid: Annotated[
        str,
        Path(
            description="The `uuid` of one of the certificate's `documents`.",
            examples=["56fe9527-0928-40f9-8d1f-5074312e122d"],
            json_schema_extra={"pattern": ID_PATTERN},
        ),
    ],
    service: InjectedService,
) -> Response:
    """The PDF as the register has it now: it is fetched from there and passed through, this service keeps its SHA-256
    alone. Limit: 20 requests per address and minute, with all others that read the register.
    """
    requester = Requester(address_of(request))
    async with AsyncExitStack() as held:
        await hold_document_slot(request, held)
        found = await service.certificate_documents.fetch(id, uuid, requester)
        if isinstance(found, NoDocument):
            return error_answer(DocumentNotFound(False, found.uuid, found.reason, code=NOT_FOUND), 404)
        return document_response(found, held.pop_all())


@router.get(
    "/v1/actors/{srn}/certificates",
    summary="List the certificates of a manufacturer",
    responses=answer(CertificatesOfActorAnswer) | NOT_MODIFIED | BAD_REQUEST,
)
async def list_certificates_of_actor(
    request: Request,
    srn: Annotated[
        str,
        Path(
            description="Single registration number.",
            examples=["DE-MF-000006413"],
            json_schema_extra={"pattern": SRN_PATTERN, "maxLength": MAX_LENGTH},
        ),
    ],
    parameters: Annotated[PageOfCertificates, Query()],
    service: InjectedService,
) -> Response:
    """The same as `/v1/certificates?srn=`, with the applications for certificates that notified bodies refused.
    Always status 200 for an SRN: `state` says whether an empty list says anything.
    """
    code, after = srn_of(srn), after_of(parameters.after)
    found = await service.certificates.find(CertificateSelection(srn=code), parameters.limit, after)
    refused = await service.certificates.refusals(code)
    listed = CertificatesOfActorAnswer.of_actor(code, found, refused, _today(service))
    state = found.knowledge.state if found.knowledge.error else refused.knowledge.state
    return tagged_response(request, listed, _kept(state, CACHE_RECORD))


def _kept(state: ListState, cache_control: str) -> str:
    """How long an answer may be cached: one of a list that is not read completely may change at any moment."""
    return cache_control if state is ListState.COMPLETE else CACHE_NOTHING_YET


def _today(service: Service) -> date:
    return day_of(service.clock.now())
