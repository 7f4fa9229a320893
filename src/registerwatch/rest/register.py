"""Public reads: search, refresh, devices, actors."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from registerwatch.copy.search.filters import Facet, Filters
from registerwatch.copy.search.queries import MAX_QUERY_LENGTH, MAX_RESULTS
from registerwatch.errors import InvalidInput
from registerwatch.lookup.actors import ActorAnswer
from registerwatch.lookup.devices import MAX_WAIT_SECONDS, DeviceAnswer, NoDevice, ServedDevice
from registerwatch.lookup.refresh_service import RefreshOutcome
from registerwatch.platform.clock import day_of
from registerwatch.register.codes import LegislationFilter, RiskFilter, StatusFilter, YesNo
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    OTHER_ERROR,
    RATE_LIMITED,
    UNAVAILABLE,
    Responses,
    answer,
    operation_id,
    schema_of,
)
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.rest.routing.parameters import only_known_parameters, unknown_parameters
from registerwatch.web.answers.answers import Answer, doc
from registerwatch.web.answers.register_answers import DeviceNotFound, MissingDevice, SearchAnswer, actor_answer
from registerwatch.web.facets import facet_answers
from registerwatch.web.filters import FACETS_PATTERN, PATTERNS, facets_of, search_filters
from registerwatch.web.injection import InjectedService, address_of, counted, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.preferences import wait_seconds
from registerwatch.web.register_reads import device_for
from registerwatch.web.responses import (
    CACHE_NOTHING_YET,
    CACHE_RECORD,
    CACHE_SEARCH,
    JSON,
    NOT_CACHED,
    error_answer,
    json_response,
    matches,
    private_response,
    tagged_response,
)

IDENTIFIER: Any = {"json_schema_extra": {"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"}}
"""The form of an identifier, for the description only: `subject` refuses others with a better message."""
NOT_MODIFIED: Responses = {
    304: {"description": "The client's copy, named in `If-None-Match`, is still right.", "content": {}}
}

UNCACHED = {"Cache-Control": NOT_CACHED}
ONLY_KNOWN = Depends(only_known_parameters)
PREFERENCE_APPLIED = "Preference-Applied"
_SERVED_DEVICE, _SERVED_ACTOR = answer(ServedDevice), answer(ActorAnswer)
for _served in (_SERVED_DEVICE, _SERVED_ACTOR):
    _served[200]["headers"] = {
        PREFERENCE_APPLIED: {
            "description": "The preference that was heeded, such as `wait=3`.",
            "schema": {"type": "string"},
        }
    }

_FILTER_NAMES = [facet.value for facet in Facet]

router = APIRouter(
    tags=["register"], responses=OTHER_ERROR, generate_unique_id_function=operation_id, route_class=DirectRoute
)


def _of_form(facet: Facet, description: str, example: str) -> Any:
    """A filter without listed values. `search_filters` refuses wrong ones with a better message."""
    extra: Any = {"pattern": PATTERNS[facet]}
    return Field(None, json_schema_extra=extra, description=f"{description} Such as `{example}`; `unknown` for none.")


class SearchParameters(BaseModel):
    """Parameters of a search."""

    q: str = Field(
        "",
        max_length=MAX_QUERY_LENGTH,
        description="UDI-DI or any code that means one, SRN, words of a name, or a catalogue reference; tried in this"
        " order.",
        examples=["ceramill zolid"],
    )
    status: StatusFilter | None = Field(
        None, description="Market status: `on` the EU market, `off` it again, `not-eu` intended for it."
    )
    risk: RiskFilter | None = Field(None, description="Risk class. Legacy risk classes cannot be named.")
    manufacturer: str | None = _of_form(Facet.MANUFACTURER, "Manufacturer, by its SRN.", "DE-MF-000006413")
    country: str | None = _of_form(
        Facet.COUNTRY, "Country in the SRN of the manufacturer; GR means EL too, and GB UK.", "DE"
    )
    emdn: str | None = _of_form(
        Facet.EMDN, "Code of the European Medical Device Nomenclature, or one that the device's code lies below.", "Q01"
    )
    legislation: LegislationFilter | None = Field(None, description="Applicable legislation.")
    legacy: YesNo | None = Field(None, description="Whether it is registered under a directive.")
    implantable: YesNo | None = Field(None, description="Whether it is implantable.")
    sterile: YesNo | None = Field(None, description="Whether it is labelled as sterile.")
    latex: YesNo | None = Field(None, description="Whether it contains latex.")
    reusable: YesNo | None = Field(None, description="Whether it is a reusable surgical instrument.")
    notified_body: str | None = _of_form(
        Facet.NOTIFIED_BODY, "Number of the notified body of a certificate that is stored with the device.", "0123"
    )
    facets: str | None = Field(
        None,
        json_schema_extra={"pattern": FACETS_PATTERN},
        description="Names of filters with commas between them, or `all`: the answer then has `facets`, which say how"
        " many results have which value, exactly. Such as `country,legislation`.",
    )
    page: int = Field(
        1, ge=1, description=f"Page, from 1. Only the first {MAX_RESULTS:,} results have pages; 400 for a later one."
    )


class RefreshAnswer(Answer):
    """What a refresh of one code brought. Exactly one of `device` and `actor` is there."""

    refreshed: Annotated[bool, doc("Whether the register answered and the copy now holds what it said.")]
    changed: Annotated[bool, doc("Whether that differs from what was stored before.")]
    error: Annotated[
        str | None,
        doc(
            "Why nothing was refreshed, or, with `refreshed` true, which part could not be read; null when all was.",
            "The register could not be read.",
        ),
    ]
    device: Annotated[
        msgspec.Raw | msgspec.UnsetType,
        msgspec.Meta(
            description="For a UDI-DI: the device as it is stored now.",
            extra_json_schema={"anyOf": [schema_of(ServedDevice), schema_of(MissingDevice)]},
        ),
    ] = msgspec.UNSET
    actor: Annotated[ActorAnswer | msgspec.UnsetType, doc("For an SRN: the actor as it is stored now.")] = msgspec.UNSET


@router.get(
    "/v1/search",
    summary="Search the stored copy",
    responses=answer(SearchAnswer) | NOT_MODIFIED | BAD_REQUEST | RATE_LIMITED | UNAVAILABLE,
    dependencies=[Depends(counted(Limit.SEARCH)), ONLY_KNOWN],
)
async def search(
    request: Request, parameters: Annotated[SearchParameters, Query()], service: InjectedService
) -> Response:
    """Names match by word and by the beginning of the last word, without regard to case and diacritics. Names in other
    languages are found of devices that were read in full (`complete` of the device). A query or a filter is required.
    What nobody has told of a device is `unknown`, never `no`. By SRN `complete` says whether every device of the
    manufacturer is stored.
    Limit: 40 requests per address and minute.
    """
    filters, facets = _filters_in(parameters), facets_of(parameters.facets)
    found = await service.search.search(parameters.q, filters, page=parameters.page, facets=facets)
    answers = await facet_answers(found.facets, service.facet_names) if facets else None
    cache_control = NOT_CACHED if found.is_unindexed else CACHE_SEARCH
    return tagged_response(request, SearchAnswer.of(found, day_of(service.clock.now()), answers), cache_control)


@router.get(
    "/v1/refresh",
    summary="Read one code from the register anew",
    responses=answer(RefreshAnswer) | BAD_REQUEST | RATE_LIMITED | UNAVAILABLE,
    dependencies=[ONLY_KNOWN],
)
async def refresh(
    request: Request,
    q: Annotated[
        str,
        Query(
            description="One UDI-DI or one SRN, or a code that means one.", examples=["04012345678901"], **IDENTIFIER
        ),
    ],
    service: InjectedService,
) -> Response:
    """Refreshes that code only. A register that cannot be read changes nothing and is told in `error`.
    Limit: 20 requests per address and minute.
    """
    code = await service.codes.subject(q)
    await limits_of(request).check(request, Limit.REGISTER_READ)
    return private_response(_refresh_answer(await service.refresh.read(code, lambda: address_of(request))))


@router.get(
    "/v1/devices/{udi:path}",
    summary="Read one device by UDI-DI",
    responses=_SERVED_DEVICE
    | NOT_MODIFIED
    | BAD_REQUEST
    | answer(DeviceNotFound, status=404, description="No such device among the readable records.")
    | RATE_LIMITED
    | UNAVAILABLE,
    dependencies=[ONLY_KNOWN],
)
async def read_device(
    request: Request,
    udi: Annotated[
        str,
        Path(
            description="UDI-DI, or any code that means one, percent-encoded; also that of a package or a direct"
            " marking.",
            examples=["04012345678901"],
            **IDENTIFIER,
        ),
    ],
    service: InjectedService,
    prefer: Annotated[
        str | None,  # generators of clients know no header that is a list
        Header(
            alias="Prefer",
            description=f"`wait=N` (RFC 7240): wait up to N seconds, {MAX_WAIT_SECONDS} at most, for the parts of the"
            " record that were never read.",
            examples=["wait=3"],
        ),
    ] = None,
) -> Response:
    """Answered from the copy at once; a record older than the cache time is refreshed in the background.
    Another code of a device, such as that of a package, is answered with the device, unless it is a UDI-DI in the copy.
    A device that is not in the copy is read from the register within the request (at most 20 such reads per
    address and minute). Of a device that a bulk load brought, certificates, dates and names in other languages are
    read in the background when somebody first asks for it: until then `complete` is false, and `Prefer: wait=3` waits
    for them.
    """
    code = await service.codes.subject_to_read(udi)
    wait = wait_seconds(request.headers.getlist("prefer"), MAX_WAIT_SECONDS) if prefer else 0
    found = await device_for(request, service, code, wait_seconds=wait)
    response = device_response(request, found)
    if wait:
        response.headers[PREFERENCE_APPLIED] = f"wait={wait}"
    return response


@router.get(
    "/v1/actors/{srn:path}",
    summary="Read one actor by SRN",
    responses=_SERVED_ACTOR | NOT_MODIFIED | RATE_LIMITED | UNAVAILABLE,
)
async def read_actor(
    request: Request,
    srn: Annotated[str, Path(description="Single registration number.", examples=["AT-MF-000000252"])],
    service: InjectedService,
    status: Annotated[str, Query(description="Only devices with this market status: `on`, `off`, `not-eu`.")] = "",
    risk: Annotated[str, Query(description="Only devices of this risk class: `i` to `iii`, `a` to `d`.")] = "",
    page: Annotated[str, Query(description="Page of the devices, from 1, 20 rows each.")] = "1",
    prefer: Annotated[
        str | None,
        Header(
            alias="Prefer",
            description=f"`wait=N` (RFC 7240): wait up to N seconds, {MAX_WAIT_SECONDS} at most, for an actor of which"
            " only devices were read.",
            examples=["wait=3"],
        ),
    ] = None,
) -> Response:
    """Always status 200: an unreadable register, an unknown actor, an unknown filter and an unknown parameter are
    told in `error`. Until the actor itself and all of its devices were read, `complete` is false; the rest is read in
    the background, and `Prefer: wait=3` waits for it. A page whose devices were not read yet is read from the register
    within the request (at most 20 such reads per address and minute).
    """
    if refusal := unknown_parameters(request):
        return json_response(ActorAnswer(srn[:MAX_LENGTH], error=refusal), 200, UNCACHED)
    wait = wait_seconds(request.headers.getlist("prefer"), MAX_WAIT_SECONDS) if prefer else 0
    found = await actor_answer(
        service.actors,
        srn,
        lambda: limits_of(request).check(request, Limit.REGISTER_READ),
        client=lambda: address_of(request),
        status=status,
        risk=risk,
        page=page,
        wait_seconds=wait,
    )
    kept = CACHE_RECORD if found.complete else CACHE_NOTHING_YET
    response = tagged_response(request, found, kept if found.error is None else NOT_CACHED, vary="Prefer")
    if wait:
        response.headers[PREFERENCE_APPLIED] = f"wait={wait}"
    return response


def _filters_in(parameters: SearchParameters) -> Filters:
    """The filters that were sent. Raises `InvalidInput`, also for an empty one."""
    sent = {name: getattr(parameters, name) for name in _FILTER_NAMES if name in parameters.model_fields_set}
    given = {name: str(value) for name, value in sent.items() if value is not None}
    if empty := [name for name, value in given.items() if not value]:
        raise InvalidInput(f"`{empty[0]}` is empty.")
    return search_filters(given)


def device_response(request: Request, found: DeviceAnswer | NoDevice) -> Response:
    """A device, the client's own copy of it, or a 404."""
    if isinstance(found, NoDevice):
        return error_answer(DeviceNotFound.of(found), 404)
    cache_control = CACHE_RECORD if found.in_full else CACHE_NOTHING_YET
    shared = {"ETag": found.tag.decode(), "Cache-Control": cache_control, "Vary": "Prefer"}
    if matches(request.headers.get("if-none-match"), found.tag.decode()):
        return Response(status_code=304, headers=shared)
    return Response(found.body, 200, shared, JSON)


def _refresh_answer(outcome: RefreshOutcome) -> RefreshAnswer:
    refreshed, subject = outcome.is_read, outcome.subject
    if isinstance(subject, ActorAnswer):
        return RefreshAnswer(refreshed, outcome.is_changed, outcome.error, actor=subject)
    device = msgspec.json.encode(MissingDevice.of(subject)) if isinstance(subject, NoDevice) else subject.body
    return RefreshAnswer(refreshed, outcome.is_changed, outcome.error, device=msgspec.Raw(device))
