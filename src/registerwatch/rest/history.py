"""Histories of devices and actors, as this service observed them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.lookup.devices import NoDevice
from registerwatch.lookup.history_service import DEFAULT_ENTRIES, MAX_ENTRIES, as_of
from registerwatch.register.identifiers import kind, subject
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    OTHER_ERROR,
    RATE_LIMITED,
    UNAVAILABLE,
    answer,
    operation_id,
)
from registerwatch.rest.register import IDENTIFIER, NOT_MODIFIED
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.answers.answers import NOT_FOUND
from registerwatch.web.answers.history_answers import ActorHistory, DeviceHistory
from registerwatch.web.answers.register_answers import ActorNotFound, DeviceNotFound
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.register_reads import actor_for, device_for
from registerwatch.web.responses import CACHE_NOTHING_YET, CACHE_RECORD, error_answer, tagged_response

COUNTED = [Depends(counted(Limit.HISTORY)), Depends(only_known_parameters)]

router = APIRouter(
    tags=["register"], responses=OTHER_ERROR, generate_unique_id_function=operation_id, route_class=DirectRoute
)


class HistoryParameters(BaseModel):
    """Which part of a history is answered."""

    at: str = Field(
        "",
        max_length=40,
        description="Answer the record as of then, too: a date means its end (UTC), or an ISO 8601 instant.",
        examples=["2026-06-01"],
    )
    limit: int = Field(DEFAULT_ENTRIES, ge=1, le=MAX_ENTRIES, description="Most entries in the answer.")
    before: str = Field("", max_length=40, description="Only what is older than the entry with this `id`.")


@router.get(
    "/v1/devices/{udi:path}/history",
    summary="Read what changed in a device",
    responses=answer(DeviceHistory)
    | NOT_MODIFIED
    | BAD_REQUEST
    | answer(DeviceNotFound, status=404, description="No such device among the readable records.")
    | RATE_LIMITED
    | UNAVAILABLE,
    dependencies=COUNTED,
)
async def device_history(
    request: Request,
    udi: Annotated[str, Path(description="UDI-DI, percent-encoded.", examples=["04012345678901"], **IDENTIFIER)],
    parameters: Annotated[HistoryParameters, Query()],
    service: InjectedService,
) -> Response:
    """What this service observed: the register itself shows only the present. A device that is not in the copy is read
    from the register, as by `GET /v1/devices/{udi}`, and observed from then on. Limit: 40 requests per address and
    minute.
    """
    code = await service.codes.subject(udi)
    instant = service.history.instant(parameters.at) if parameters.at else None
    found = await device_for(request, service, code)
    if isinstance(found, NoDevice):
        return error_answer(DeviceNotFound.of(found), 404)
    page = await service.history.device(code, limit=parameters.limit, before=parameters.before)
    past = None if instant is None else as_of(page.history, instant)
    cache_control = CACHE_RECORD if found.in_full else CACHE_NOTHING_YET
    return tagged_response(request, DeviceHistory.of(code, page, found, past), cache_control)


@router.get(
    "/v1/actors/{srn:path}/history",
    summary="Read what changed in an actor",
    responses=answer(ActorHistory)
    | NOT_MODIFIED
    | BAD_REQUEST
    | answer(ActorNotFound, status=404, description="No such actor among the readable records.")
    | RATE_LIMITED
    | UNAVAILABLE,
    dependencies=COUNTED,
)
async def actor_history(
    request: Request,
    srn: Annotated[str, Path(description="Single registration number.", examples=["AT-MF-000000252"], **IDENTIFIER)],
    parameters: Annotated[HistoryParameters, Query()],
    service: InjectedService,
) -> Response:
    """What this service observed of the actor: the register itself shows only the present. Which devices of a
    manufacturer came onto the market or left it, accounts that watch it get as events. Limit: 40 requests per address
    and minute.
    """
    code = subject(srn)
    if kind(code) != "srn":
        raise InvalidInput("This is no SRN. An SRN has the form CC-XX-digits, such as DE-MF-000006413.")
    instant = service.history.instant(parameters.at) if parameters.at else None
    found = await actor_for(request, service, code)
    if found.read_at is None:
        return error_answer(ActorNotFound(srn=code, error=found.error or "", code=NOT_FOUND), 404)
    page = await service.history.actor(code, limit=parameters.limit, before=parameters.before)
    past = None if instant is None else as_of(page.history, instant)
    cache_control = CACHE_RECORD if found.complete and found.error is None else CACHE_NOTHING_YET
    return tagged_response(request, ActorHistory.of(found, page, past), cache_control)
