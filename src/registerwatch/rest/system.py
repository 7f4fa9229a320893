"""Health of the service."""

import time

from fastapi import APIRouter
from starlette.responses import Response

import registerwatch
from registerwatch.bootstrap import Service
from registerwatch.clock import iso_utc
from registerwatch.rest.schemas import ErrorBody, Health
from registerwatch.web.messages import NOT_CACHED, json_response


def router(service: Service) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(tags=["system"])

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
    state = await service.copy.state()
    filled_at = max((run.finished_at for run in await service.mirror.runs() if run.finished_at), default=None)
    known = [moment for moment in (filled_at, state.last_read_at) if moment is not None]
    return {
        "status": "ok",
        "version": registerwatch.__version__,
        "database": {"kind": service.database.kind},
        "copy": {
            "devices": state.devices,
            "revision": state.revision,
            "filled_at": _iso(filled_at),
            "age_seconds": max(0, int(time.time()) - max(known)) if known else None,
        },
        "index": {"devices": service.index.documents, "lag": await service.follower.lag()},
        "register": {"last_read_at": _iso(state.last_read_at), "reads": dict(service.refresher.results)},
    }


def _iso(moment: int | None) -> str | None:
    return None if moment is None else iso_utc(moment)
