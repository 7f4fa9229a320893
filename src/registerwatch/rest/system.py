"""Health of the service: for people, for who restarts it, for who sends it requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from registerwatch import __version__
from registerwatch.bootstrap import Service
from registerwatch.errors import DatabaseUnavailable
from registerwatch.register.sources.source import CertificateSearch
from registerwatch.rest.description import answer, error, operation_id
from registerwatch.rest.direct_route import DirectRoute
from registerwatch.rest.index_health import HealthIndex, index_health
from registerwatch.rest.status_answers import HealthRegisterChecks, HealthSweeps, health_checks, health_sweeps
from registerwatch.web.answers import Answer, doc, instant, iso_or_none
from registerwatch.web.forwarded_headers import ForwardedHeaders
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import NOT_CACHED, error_response, json_response, private_response

UNINDEXED = "The search index is not built yet."
ENDING = "The process is ending."

Status = Literal["ok", "failing"]

liveness = APIRouter(tags=["system"], generate_unique_id_function=operation_id, route_class=DirectRoute)
"""The route that needs nothing."""
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

    last_read_at: Annotated[
        str | None, instant("Last successful read, UTC, null when there was none or it is not known.")
    ]
    reads: Annotated[
        dict[str, int], doc("Reads of this process by result: found, not_found, unreadable.", {"found": 12})
    ]
    certificate_search: Annotated[
        CertificateSearch,
        doc(
            "`read` when certificates that only the certificate search lists are read; `ignored` while the register"
            " ignores the filter by Basic UDI-DI, so that they are not (it is probed every five minutes); `unknown`"
            " before this process first asked.",
            "read",
        ),
    ]


class HealthPart(Answer):
    """Whether one part of the service works."""

    status: Annotated[Status, doc("`failing` when it does not work.", "ok")]
    error: Annotated[str | None, doc("What is wrong, null when it works.", "The data folder cannot be written.")]


class HealthProxy(Answer):
    """Reverse proxies in front of the service."""

    is_trusted: Annotated[bool, doc("Whether the settings name one, whose clients are counted one by one.", True)]
    warning: Annotated[
        str | None, doc("What the operator should look at, null for nothing.", "A request came with a header of …")
    ]


class Health(Answer):
    """Whether the service works, and with what."""

    status: Annotated[Status, doc("`ok` with status 200, `failing` with status 503.", "ok")]
    error: Annotated[str | None, doc("What is wrong, null when all works.", "The data folder cannot be written.")]
    version: Annotated[str, doc("Version of the program.", "1.0.0")]
    parts: Annotated[
        dict[str, HealthPart],
        doc("Each part that is looked at, by its name.", {"database": {"status": "ok", "error": None}}),
    ]
    database: Annotated[HealthDatabase, doc("The database behind the service.")]
    stored_copy: Annotated[HealthCopy | None, doc("The stored copy, null while it cannot be read.")] = msgspec.field(
        name="copy"
    )
    index: Annotated[HealthIndex | None, doc("The search index of this node, null while the copy cannot be read.")]
    register: Annotated[HealthRegister, doc("Reading the register.")]
    sweeps: Annotated[HealthSweeps | None, doc("How far the sweeps are, null while the database cannot be read.")]
    checks: Annotated[
        HealthRegisterChecks | None,
        doc(
            "What was verified of how the register answers, daily and at each new build; null while the database cannot"
            " be read. A change leaves `status` as it is: what is stored is served, and nothing is stored from a list"
            " that relies on what changed."
        ),
    ]
    proxy: Annotated[HealthProxy, doc("Reverse proxies in front of the service, as this process knows them.")]
    addresses: Annotated[
        Literal["confirmed-by-mail", "not-proven"],
        doc("`not-proven` where the service sends no mail: nobody has shown that an e-mail address is theirs."),
    ]


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
    problem = _sentence(await service.health.problems())
    return private_response(Ready()) if problem is None else error_response(problem, 503, "not-working")


@router.get(
    "/health",
    summary="Health of the service",
    responses=answer(Health) | answer(Health, status=503, description="A part does not work; `error` says which."),
)
async def health(request: Request, service: InjectedService) -> Response:
    """Version, parts that work or do not, size and age of the copy, lag of the search index, last read of the
    register.
    """
    found = await health_of(service, request.app.state.forwarded)
    return json_response(found, 200 if found.status == "ok" else 503, {"Cache-Control": NOT_CACHED})


async def health_of(service: Service, forwarded: ForwardedHeaders) -> Health:
    """What `/health` tells."""
    problems = {**await service.health.problems(), "index": service.indexer.fault()}
    try:
        copy, index, last_read_at = await _contents(service)
        register_status = await service.register_status.status()
    except DatabaseUnavailable as failure:
        copy, index, last_read_at, register_status = None, None, None, None
        problems["database"] = problems.get("database") or failure.summary
    error = _sentence(problems)
    return Health(
        status=_status(error),
        error=error,
        version=__version__,
        parts={name: HealthPart(_status(problem), problem) for name, problem in problems.items()},
        database=HealthDatabase(service.database.kind),
        stored_copy=copy,
        index=index,
        register=HealthRegister(
            iso_or_none(last_read_at), dict(service.refresher.results), service.eudamed.certificate_search
        ),
        sweeps=health_sweeps(register_status) if register_status else None,
        checks=health_checks(register_status) if register_status else None,
        proxy=HealthProxy(forwarded.are_trusted, forwarded.warning),
        addresses="confirmed-by-mail" if service.accounts.confirmations.can_mail else "not-proven",
    )


async def _contents(service: Service) -> tuple[HealthCopy, HealthIndex, int | None]:
    """The copy, the index, and when the register was last read. Raises `DatabaseUnavailable`."""
    state = await service.records.state()
    filled_at = max((run.finished_at for run in await service.bulk_loader.runs() if run.finished_at), default=None)
    known = [moment for moment in (filled_at, state.last_read_at) if moment is not None]
    copy = HealthCopy(
        devices=state.devices,
        revision=state.revision,
        filled_at=iso_or_none(filled_at),
        age_seconds=max(0, int(service.clock.now()) - max(known)) if known else None,
    )
    return copy, await index_health(service), state.last_read_at


def _sentence(problems: Mapping[str, str | None]) -> str | None:
    """Everything that is wrong, None for nothing."""
    return " ".join(problem for problem in problems.values() if problem) or None


def _status(problem: str | None) -> Status:
    return "ok" if problem is None else "failing"
