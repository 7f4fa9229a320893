"""Health of the service, for people, process supervisors and load balancers."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.platform.health import all_of
from registerwatch.rest.health.health_report import Health, HealthReport
from registerwatch.rest.openapi.description import answer, error, operation_id
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.web.answers.answers import Answer, doc
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import error_response, private_response

UNINDEXED = "The search index is not built yet."
ENDING = "The process is ending."

liveness = APIRouter(tags=["system"], generate_unique_id_function=operation_id, route_class=DirectRoute)
"""The route that needs no service."""
router = APIRouter(tags=["system"], generate_unique_id_function=operation_id, route_class=DirectRoute)


@dataclass(slots=True)
class Readiness:
    """Whether requests should still be sent to this process."""

    is_ending: bool = False


class Live(Answer):
    """That the process answers."""

    live: Annotated[Literal[True], doc("Always true.")] = True


class Ready(Answer):
    """That the process takes requests."""

    ready: Annotated[Literal[True], doc("Always true; a 503 has the shape of an error.")] = True


@liveness.get("/live", summary="Whether the process answers", responses=answer(Live))
async def live() -> Response:
    """200 as long as the process works at all; nothing else is looked at. A process that does not answer is to be
    restarted.
    """
    return private_response(Live())


@router.get(
    "/ready",
    summary="Whether the process takes requests",
    responses=answer(Ready) | error(503, "It does not now; `error` says why."),
)
async def ready(request: Request, service: InjectedService) -> Response:
    """200 when the database can be read and written, its disk has room, and the search index has been up to date once
    since the start. A process that is ending is not ready, though it serves for a while yet.
    """
    readiness: Readiness = request.app.state.readiness
    if readiness.is_ending:
        return error_response(ENDING, 503, "ending")
    await service.documents.revision()
    if not service.indexer.has_caught_up:
        return error_response(UNINDEXED, 503, "index-unavailable")
    problem = all_of(await service.health.problems())
    return private_response(Ready()) if problem is None else error_response(problem, 503, "not-working")


@router.get(
    "/health",
    summary="Health of the service",
    responses=answer(Health) | answer(Health, status=503, description="A part does not work; `error` says which."),
)
async def health(request: Request) -> Response:
    """Version, parts that work or do not, size and age of the copy, lag of the search index, last read of the
    register.
    """
    report: HealthReport = request.app.state.health
    return await report.answer()
