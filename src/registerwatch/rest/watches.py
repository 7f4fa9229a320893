"""Watches, syncs, events over REST."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.rest.account_schemas import Done
from registerwatch.rest.bodies import NO_FIELDS
from registerwatch.rest.parameters import RowId
from registerwatch.rest.responses import (
    BAD_REQUEST,
    CAP_REACHED,
    ENDED,
    OTHER,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
)
from registerwatch.rest.security import AuthLevels
from registerwatch.rest.watch_schemas import (
    Events,
    ExpiringAnswer,
    ImportAnswer,
    ImportRequest,
    LabelRequest,
    OneWatch,
    SyncAnswer,
    Watches,
    WatchRequest,
)
from registerwatch.watches.expiring import expiring
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import NOT_CACHED, PERIOD_ENDED, json_response, private_response
from registerwatch.web.row_ids import row_id
from registerwatch.web.watch_objects import event_object, sync_object, watch_object


def router(service: Service, levels: AuthLevels, limits: RateLimits) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(
        tags=["watches"],
        responses={**UNAUTHENTICATED, **RATE_LIMITED, **UNAVAILABLE, **OTHER},
        dependencies=[Depends(limits.counted(Limit.ACCOUNT))],
    )
    watch_service = service.watches.service
    anybody, active = Depends(levels.key_or_session), Depends(levels.active_account)
    reads_register = [Depends(limits.counted(Limit.WATCH_READ))]

    @routes.get("/v1/watches", summary="The account's watches", response_model=Watches)
    async def all_watches(caller: Annotated[Caller, anybody]) -> Response:
        """Works after the period has ended too."""
        now = service.clock.now()
        return private_response({"watches": [watch_object(each, now) for each in await watch_service.all(caller)]})

    @routes.post(
        "/v1/watches",
        summary="Watch a UDI-DI or an SRN",
        response_model=OneWatch,
        responses={**BAD_REQUEST, **ENDED, **CAP_REACHED},
        dependencies=reads_register,
    )
    async def add(body: WatchRequest, caller: Annotated[Caller, active]) -> Response:
        """The register is read at once; what it says is the baseline and makes no event. A subject that is watched
        already stays as it is. One that the register does not know is watched, with `last_error` saying so.
        """
        watch = await watch_service.add(caller, body.subject)
        return private_response({"watch": watch_object(watch, service.clock.now())})

    @routes.patch(
        "/v1/watches/{id}", summary="Name a watch", response_model=OneWatch, responses={**BAD_REQUEST, **ENDED}
    )
    async def rename(id: RowId, body: LabelRequest, caller: Annotated[Caller, active]) -> Response:  # noqa: A002
        """Later syncs keep the name."""
        watch = await watch_service.rename(caller, row_id(id), body.label)
        return private_response({"watch": watch_object(watch, service.clock.now())})

    @routes.delete("/v1/watches/{id}", summary="Stop watching", response_model=Done, responses={**BAD_REQUEST})
    async def remove(id: RowId, caller: Annotated[Caller, anybody]) -> Response:  # noqa: A002
        """Always `{"ok": true}` for a number; only a watch of the account is removed. Its events stay."""
        await watch_service.remove(caller, row_id(id))
        return private_response({"ok": True})

    @routes.post(
        "/v1/sync",
        summary="Read every watch now",
        response_model=SyncAnswer,
        responses={402: {"model": SyncAnswer, "description": "The account's period has ended."}},
        dependencies=[Depends(limits.counted(Limit.SYNC))],
        openapi_extra=NO_FIELDS,
    )
    async def sync(caller: Annotated[Caller, anybody]) -> Response:
        """Reads past every cache. Empty `events` means that the baseline held. A watch that could not be read says why
        in its `last_error`; webhooks follow when there are changes.
        """
        if caller.account.has_expired(service.clock.now()):
            ended = {"synced": 0, "events": [], "error": PERIOD_ENDED}
            return json_response(ended, 402, {"Cache-Control": NOT_CACHED})
        return private_response(sync_object(await service.watches.sync.sync(caller)))

    @routes.get("/v1/events", summary="What changed", response_model=Events)
    async def events(caller: Annotated[Caller, anybody]) -> Response:
        """The newest 100 changes, newest first. Works after the period has ended too."""
        return private_response({"events": [event_object(each) for each in await watch_service.events(caller)]})

    @routes.get("/v1/expiring", summary="Certificates that end soon", response_model=ExpiringAnswer)
    async def soon(caller: Annotated[Caller, anybody]) -> Response:
        """Stored certificate dates from 30 days past to 180 days ahead; the register is not asked."""
        return private_response({"items": expiring(await watch_service.all(caller), service.clock.now())})

    @routes.post(
        "/v1/import",
        summary="Watch a list",
        response_model=ImportAnswer,
        responses={**BAD_REQUEST, **ENDED},
    )
    async def import_list(body: ImportRequest, caller: Annotated[Caller, active]) -> Response:
        """The register is not read within the request: each baseline is what the copy has, where that is fresh, else
        the first successful read. Reaching the cap stops the import; what was added stays.
        """
        return private_response(await service.watches.imports.add_all(caller, body.csv))

    return routes
