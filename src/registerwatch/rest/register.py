"""Public reads: search, refresh, devices, actors."""

from dataclasses import asdict
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.devices import NOT_REGISTERED, UNREADABLE, DeviceAnswer, NoDevice
from registerwatch.register.identifiers import MAX_LENGTH, kind, subject
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.register.search.index import Filters
from registerwatch.register.search.queries import MAX_QUERY_LENGTH
from registerwatch.rest.responses import BAD_REQUEST, OTHER, RATE_LIMITED, UNAVAILABLE, Answers
from registerwatch.rest.schemas import Actor, Device, DeviceNotFound, RefreshAnswer, SearchAnswer
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.register_objects import actor_answer, no_device_object
from registerwatch.web.responses import (
    CACHE_RECORD,
    CACHE_SEARCH,
    JSON,
    NOT_CACHED,
    json_response,
    matches,
    tagged_response,
)

_IDENTIFIER: Any = {"json_schema_extra": {"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"}}
"""What an identifier must be, for the description alone: `subject` refuses with a better message."""

_SAME: Answers = {304: {"description": "The client's copy, named in `If-None-Match`, is still right.", "content": {}}}


class SearchParameters(BaseModel):
    """Parameters of a search. There are no others."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(
        "",
        max_length=MAX_QUERY_LENGTH,
        description="UDI-DI, SRN, words of a name, or a catalogue reference; tried in this order.",
        examples=["ceramill zolid"],
    )
    status: StatusFilter | None = Field(
        None, description="Market status: `on` the EU market, `off` it again, `not-eu` intended for it."
    )
    risk: RiskFilter | None = Field(None, description="Risk class. Legacy risk classes cannot be named.")
    page: int = Field(1, ge=1, description="Page, from 1.")


def router(service: Service, limits: RateLimits) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(tags=["register"], responses={**OTHER})

    @routes.get(
        "/v1/search",
        summary="Search the stored copy",
        response_model=SearchAnswer,
        responses={**_SAME, **BAD_REQUEST, **RATE_LIMITED, **UNAVAILABLE},
        dependencies=[Depends(limits.counted(Limit.SEARCH))],
    )
    async def search(request: Request, parameters: Annotated[SearchParameters, Query()]) -> Response:
        """Names match by word and by the beginning of the last word, without regard to case and diacritics. A query
        or a filter is required. Limit: 40 requests per address and minute.
        """
        filters = Filters(parameters.status, parameters.risk)
        found = await service.search.search(parameters.q, filters, page=parameters.page)
        return tagged_response(request, found, CACHE_SEARCH)

    @routes.get(
        "/v1/refresh",
        summary="Read one code from the register anew",
        response_model=RefreshAnswer,
        response_model_exclude_none=True,
        responses={**BAD_REQUEST, **RATE_LIMITED, **UNAVAILABLE},
    )
    async def refresh(
        request: Request,
        q: Annotated[str, Query(description="One UDI-DI or one SRN.", examples=["04012345678901"], **_IDENTIFIER)],
    ) -> Response:
        """Refreshes that code only. A register that cannot be read changes nothing and is told in `error`.
        Limit: 20 requests per address and minute.
        """
        code = subject(q)
        await limits.check(request, Limit.REGISTER_READ)
        return await _refreshed(service, code)

    @routes.get(
        "/v1/devices/{udi:path}",
        summary="Read one device by UDI-DI",
        response_model=Device,
        responses={
            **_SAME,
            **BAD_REQUEST,
            404: {"description": "No such device among the readable records.", "model": DeviceNotFound},
            **RATE_LIMITED,
            **UNAVAILABLE,
        },
    )
    async def device(
        request: Request,
        udi: Annotated[str, Path(description="UDI-DI, percent-encoded.", examples=["04012345678901"], **_IDENTIFIER)],
    ) -> Response:
        """Answered from the copy at once; a record older than the cache time is refreshed behind the reader's back.
        A device that is not in the copy is read from the register within the request (at most 20 such reads per
        address and minute).
        """
        code = subject(udi)
        answer = await service.devices.stored(code)
        if answer is not None:
            return device_response(request, answer)
        if service.devices.asks_register(code):
            await limits.check(request, Limit.REGISTER_READ)
        return device_response(request, await service.devices.device(code))

    @routes.get(
        "/v1/actors/{srn:path}",
        summary="Read one actor by SRN",
        response_model=Actor,
        responses={**_SAME, **RATE_LIMITED, **UNAVAILABLE},
    )
    async def actor(
        request: Request,
        srn: Annotated[str, Path(description="Single registration number.", examples=["AT-MF-000000252"])],
        status: Annotated[str, Query(description="Only devices with this market status: `on`, `off`, `not-eu`.")] = "",
        risk: Annotated[str, Query(description="Only devices of this risk class: `i` to `iii`, `a` to `d`.")] = "",
        page: Annotated[str, Query(description="Page of the devices, from 1, 20 rows each.")] = "1",
    ) -> Response:
        """Always status 200: an unreadable register, an unknown actor and an unknown filter are told in `error`."""
        answer = await actor_answer(
            service.actors,
            srn,
            lambda: limits.check(request, Limit.REGISTER_READ),
            status=status,
            risk=risk,
            page=page,
        )
        return tagged_response(request, answer, CACHE_RECORD if answer.error is None else NOT_CACHED)

    return routes


def device_response(request: Request, answer: DeviceAnswer | NoDevice) -> Response:
    """A device, the client's own copy of it, or a 404."""
    if isinstance(answer, NoDevice):
        return json_response(no_device_object(answer), 404, {"Cache-Control": NOT_CACHED})
    shared = {"ETag": answer.tag.decode(), "Cache-Control": CACHE_RECORD}
    if matches(request.headers.get("if-none-match"), answer.tag.decode()):
        return Response(status_code=304, headers=shared)
    return Response(answer.body, 200, shared, JSON)


async def _refreshed(service: Service, code: str) -> Response:
    result = await service.refresher.refresh(code)
    reason = None
    if isinstance(result, ReadFailed):
        reason = result.reason
    elif isinstance(result, NotFound):
        reason = "The register has no record with this code."
    body: dict[str, Any] = {
        "refreshed": reason is None,
        "changed": not isinstance(result, (NotFound, ReadFailed)) and result.changed,
        "error": reason,
    }
    if kind(code) == "srn":
        body["actor"] = asdict(await service.actors.actor(code))
    else:
        body["device"] = await _device_json(service, code)
    return json_response(body, headers={"Cache-Control": NOT_CACHED})


async def _device_json(service: Service, udi: str) -> object:
    answer = await service.devices.stored(udi)
    if answer is not None:
        return msgspec.Raw(answer.body)
    read = service.refresher.remembered(udi)
    reason = f"{UNREADABLE} {read.reason}" if isinstance(read, ReadFailed) else NOT_REGISTERED
    return no_device_object(NoDevice(udi, reason))
