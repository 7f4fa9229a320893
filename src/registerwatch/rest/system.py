"""Health of the service: for people, for who restarts it, for who sends it requests."""

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

import registerwatch
from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.rest.schemas import ErrorBody, Health, Live, Ready
from registerwatch.web.responses import NOT_CACHED, error_response, json_response

UNINDEXED = "The search index is not built yet."
ENDING = "The process is ending."


@dataclass(slots=True)
class Readiness:
    """Whether requests should still be sent to this process."""

    is_ending: bool = False


def liveness() -> APIRouter:
    """The route that needs nothing."""
    routes = APIRouter(tags=["system"])

    @routes.get("/live", summary="Whether the process answers", response_model=Live)
    async def live() -> Response:
        """200 as long as the process works at all; nothing else is looked at. A process that does not answer is to be
        restarted.
        """
        return json_response({"live": True}, headers={"Cache-Control": NOT_CACHED})

    return routes


def router(service: Service, readiness: Readiness) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(tags=["system"])

    @routes.get(
        "/ready",
        summary="Whether the process takes requests",
        response_model=Ready,
        responses={503: {"model": ErrorBody, "description": "It does not now; `error` says why."}},
    )
    async def ready() -> Response:
        """200 when the database answers and the search index has been up to date once since the start. A process that
        is ending is not ready, though it serves for a while yet.
        """
        if readiness.is_ending:
            return error_response(ENDING, 503)
        await service.documents.revision()
        if not service.indexer.has_been_level:
            return error_response(UNINDEXED, 503)
        return json_response({"ready": True}, headers={"Cache-Control": NOT_CACHED})

    @routes.get(
        "/health",
        summary="Health of the service",
        response_model=Health,
        responses={503: {"model": ErrorBody, "description": "The database does not answer."}},
    )
    async def health() -> Response:
        """Version, database, size and age of the copy, lag of the search index, last read of the register."""
        return json_response(await health_of(service), headers={"Cache-Control": NOT_CACHED})

    return routes


async def health_of(service: Service) -> dict[str, object]:
    """What `/health` tells. Raises `DatabaseUnavailable`."""
    state = await service.records.state()
    filled_at = max((run.finished_at for run in await service.bulk_loader.runs() if run.finished_at), default=None)
    known = [moment for moment in (filled_at, state.last_read_at) if moment is not None]
    return {
        "status": "ok",
        "version": registerwatch.__version__,
        "database": {"kind": service.database.kind},
        "copy": {
            "devices": state.devices,
            "revision": state.revision,
            "filled_at": _iso(filled_at),
            "age_seconds": max(0, int(service.clock.now()) - max(known)) if known else None,
        },
        "index": {"devices": service.index.documents, "lag": await service.indexer.lag()},
        "register": {"last_read_at": _iso(state.last_read_at), "reads": dict(service.refresher.results)},
    }


def _iso(moment: int | None) -> str | None:
    return None if moment is None else iso_utc(moment)
