"""Webhooks over REST."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.bootstrap import Service
from registerwatch.notifications.webhooks import TestResult
from registerwatch.rest.account_object import AccountObjects
from registerwatch.rest.account_schemas import AccountObject, Done
from registerwatch.rest.bodies import NO_FIELDS
from registerwatch.rest.parameters import RowId, row_id
from registerwatch.rest.responses import (
    BAD_REQUEST,
    CAP_REACHED,
    MEMBER,
    OTHER,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
)
from registerwatch.rest.security import AuthLevels
from registerwatch.rest.webhook_objects import delivery_object, webhook_object
from registerwatch.rest.webhook_schemas import (
    Deliveries,
    FirstUrlRequest,
    OneWebhook,
    TestAnswer,
    UrlRequest,
    Webhooks,
)
from registerwatch.web.rate_limits import Limit, RateLimits
from registerwatch.web.responses import private_response


def router(service: Service, levels: AuthLevels, limits: RateLimits, objects: AccountObjects) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(
        tags=["webhooks"],
        responses={**UNAUTHENTICATED, **MEMBER, **RATE_LIMITED, **UNAVAILABLE, **OTHER},
        dependencies=[Depends(limits.counted(Limit.ACCOUNT))],
    )
    webhook_service = service.notifications.webhooks
    owner = Depends(levels.owner_or_key)
    sends = [Depends(limits.counted(Limit.WEBHOOK_TEST))]

    @routes.post(
        "/v1/webhook",
        summary="Set or remove the first webhook",
        response_model=AccountObject,
        responses={**BAD_REQUEST, **CAP_REACHED},
    )
    async def set_first(body: FirstUrlRequest, caller: Annotated[Caller, owner]) -> Response:
        """The first save makes a secret, which later ones keep. An empty address removes both."""
        await webhook_service.set_first(caller, body.url)
        return private_response(await objects.me(caller))

    @routes.post(
        "/v1/webhook/test",
        summary="Test the first webhook",
        response_model=TestAnswer,
        responses={**BAD_REQUEST},
        dependencies=sends,
        openapi_extra=NO_FIELDS,
    )
    async def test_first(caller: Annotated[Caller, owner]) -> Response:
        """Sends one signed `watch.test` with an empty `events` array. 400 when no address is saved."""
        return private_response(_test(await webhook_service.test(caller, None)))

    @routes.get("/v1/webhooks", summary="The account's webhooks", response_model=Webhooks)
    async def all_webhooks(caller: Annotated[Caller, owner]) -> Response:
        """With their secrets."""
        return private_response(
            {"webhooks": [webhook_object(each) for each in await webhook_service.all(caller.account.id)]}
        )

    @routes.post(
        "/v1/webhooks", summary="Add a webhook", response_model=OneWebhook, responses={**BAD_REQUEST, **CAP_REACHED}
    )
    async def add(body: UrlRequest, caller: Annotated[Caller, owner]) -> Response:
        """At most ten addresses, each with its own secret. Every one gets every delivery."""
        return private_response({"webhook": webhook_object(await webhook_service.add(caller, body.url))})

    @routes.delete("/v1/webhooks/{id}", summary="Remove a webhook", response_model=Done, responses={**BAD_REQUEST})
    async def remove(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002
        """With its deliveries. Always `{"ok": true}` for a number; only one of the account is removed."""
        await webhook_service.remove(caller, row_id(id))
        return private_response({"ok": True})

    @routes.post(
        "/v1/webhooks/{id}/test",
        summary="Test a webhook",
        response_model=TestAnswer,
        responses={**BAD_REQUEST},
        dependencies=sends,
        openapi_extra=NO_FIELDS,
    )
    async def test(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002
        """Sends one signed `watch.test` with an empty `events` array."""
        return private_response(_test(await webhook_service.test(caller, row_id(id))))

    @routes.post(
        "/v1/webhooks/{id}/rotate",
        summary="Make a new secret",
        response_model=OneWebhook,
        responses={**BAD_REQUEST},
        openapi_extra=NO_FIELDS,
    )
    async def rotate(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002
        """For 24 hours both secrets sign: two signatures with a space between them."""
        return private_response({"webhook": webhook_object(await webhook_service.rotate(caller, row_id(id)))})

    @routes.get(
        "/v1/webhooks/{id}/deliveries",
        summary="What was sent to a webhook",
        response_model=Deliveries,
        responses={**BAD_REQUEST},
    )
    async def log(id: RowId, caller: Annotated[Caller, owner]) -> Response:  # noqa: A002
        """The newest 50 deliveries with what was sent and answered."""
        return private_response(
            {"deliveries": [delivery_object(each) for each in await webhook_service.log(caller, row_id(id))]}
        )

    @routes.post(
        "/v1/webhooks/{id}/deliveries/{delivery}/resend",
        summary="Send a delivery again",
        response_model=Done,
        responses={**BAD_REQUEST},
        dependencies=sends,
        openapi_extra=NO_FIELDS,
    )
    async def resend(
        id: RowId,  # noqa: A002
        delivery: Annotated[str, Path(description="Id of the delivery.", examples=["whd_…"])],
        caller: Annotated[Caller, owner],
    ) -> Response:
        """The same body with the same id goes out once more."""
        await webhook_service.send_again(caller, row_id(id), delivery)
        return private_response({"ok": True})

    return routes


def _test(result: TestResult) -> dict[str, Any]:
    return {
        "ok": result.is_accepted,
        "status": result.status,
        "error": result.error,
        "delivery": result.delivery_id,
    }
