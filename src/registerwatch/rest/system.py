"""Health of the service: for people, for who restarts it, for who sends it requests."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from registerwatch import __version__
from registerwatch.bootstrap import Service
from registerwatch.rest.description import answer, error, operation_id
from registerwatch.rest.index_health import HealthIndex, index_health
from registerwatch.web.answers import Answer, doc, instant, iso_or_none
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import error_response, private_response

UNINDEXED = "The search index is not built yet."
ENDING = "The process is ending."

liveness = APIRouter(tags=["system"], generate_unique_id_function=operation_id)
"""The route that needs nothing."""
router = APIRouter(tags=["system"], generate_unique_id_function=operation_id)


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


class HealthDatabase(Answer):
    """The database behind the service."""

    kind: Annotated[Literal["sqlite", "postgresql"], doc("Which database it is.")]


class HealthCopy(Answer):
    """The stored copy."""

    devices: Annotated[int, doc("Stored registrations.", 3200000)]
    revision: Annotated[int, doc("Number of the last stored change or read.", 3200417)]
    filled_at: Annotated[str | None, instant("End of the last fill, UTC, null when there was none.")]
    age_seconds: Annotated[int | None, doc("Seconds since the copy was last brought up to date, null when never.", 840)]


class HealthRegister(Answer):
    """Reading the register."""

    last_read_at: Annotated[str | None, instant("Last successful read, UTC, null when there was none.")]
    reads: Annotated[
        dict[str, int], doc("Reads of this process by result: found, not_found, unreadable.", {"found": 12})
    ]


class Health(Answer):
    """Whether the service works, and with what."""

    status: Annotated[Literal["ok"], doc("`ok` with status 200; a 503 has the shape of an error.")]
    version: Annotated[str, doc("Version of the program.", "1.0.0")]
    database: Annotated[HealthDatabase, doc("The database behind the service.")]
    stored_copy: Annotated[HealthCopy, doc("The stored copy.")] = msgspec.field(name="copy")
    index: Annotated[HealthIndex, doc("The search index of this node.")]
    register: Annotated[HealthRegister, doc("Reading the register.")]


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
    """200 when the database answers and the search index has been up to date once since the start. A process that
    is ending is not ready, though it serves for a while yet.
    """
    readiness: Readiness = request.app.state.readiness
    if readiness.is_ending:
        return error_response(ENDING, 503, "ending")
    await service.documents.revision()
    if not service.indexer.has_caught_up:
        return error_response(UNINDEXED, 503, "index-unavailable")
    return private_response(Ready())


@router.get(
    "/health",
    summary="Health of the service",
    responses=answer(Health) | error(503, "The database does not answer."),
)
async def health(service: InjectedService) -> Response:
    """Version, database, size and age of the copy, lag of the search index, last read of the register."""
    return private_response(await health_of(service))


async def health_of(service: Service) -> Health:
    """What `/health` tells. Raises `DatabaseUnavailable`."""
    state = await service.records.state()
    filled_at = max((run.finished_at for run in await service.bulk_loader.runs() if run.finished_at), default=None)
    known = [moment for moment in (filled_at, state.last_read_at) if moment is not None]
    return Health(
        status="ok",
        version=__version__,
        database=HealthDatabase(service.database.kind),
        stored_copy=HealthCopy(
            devices=state.devices,
            revision=state.revision,
            filled_at=iso_or_none(filled_at),
            age_seconds=max(0, int(service.clock.now()) - max(known)) if known else None,
        ),
        index=await index_health(service),
        register=HealthRegister(iso_or_none(state.last_read_at), dict(service.refresher.results)),
    )
