"""Webhooks over REST."""

from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from registerwatch.notifications.models import LOG_LENGTH
from registerwatch.rest.answers.account_answers import AccountObject, account_of
from registerwatch.rest.answers.webhook_answers import (
    EXAMPLE_URL,
    DeliveryList,
    DeliveryObject,
    OneWebhook,
    TestAnswer,
    WebhookList,
    WebhookObject,
)
from registerwatch.rest.openapi.description import BAD_REQUEST, CAP_REACHED, FORBIDDEN, NO_FIELDS, RequestBody, answer
from registerwatch.rest.routing.auth import OwnerOrKey
from registerwatch.rest.routing.parameters import MAX_PAGE, RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.web.answers.answers import Done
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import private_response

router = account_router("webhooks", FORBIDDEN)
SENDS = [Depends(counted(Limit.WEBHOOK_TEST))]


class UrlRequest(RequestBody):
    """An address."""

    url: str = Field(description="A public https address.", examples=[EXAMPLE_URL], json_schema_extra={"format": "uri"})


class FirstUrlRequest(RequestBody):
    """The first address, or nothing."""

    url: str = Field(description="A public https address; empty to remove it.", examples=[EXAMPLE_URL])


class DeliveryParameters(BaseModel):
    """Which part of the log is answered."""

    after: str | None = Field(None, description="Only deliveries that come after this one: earlier ones.")
    limit: int = Field(LOG_LENGTH, ge=1, le=MAX_PAGE, description="Most deliveries in the answer.")


@router.post(
    "/v1/webhook",
    summary="Set or remove the first webhook",
    responses=answer(AccountObject) | BAD_REQUEST | CAP_REACHED,
)
async def set_first_webhook(body: FirstUrlRequest, service: InjectedService, caller: OwnerOrKey) -> Response:
    """The first save makes a secret, which later ones keep. An empty address removes both. Another webhook of this
    address becomes the first one instead, with its own secret.
    """
    await service.notifications.webhooks.set_first(caller, body.url)
    return private_response(await account_of(service, caller))


@router.post(
    "/v1/webhook/test",
    summary="Test the first webhook",
    responses=answer(TestAnswer) | BAD_REQUEST,
    dependencies=SENDS,
    openapi_extra=NO_FIELDS,
)
async def test_first_webhook(service: InjectedService, caller: OwnerOrKey) -> Response:
    """Sends one signed `watch.test` with an empty `events` array. 400 when no address is saved."""
    return private_response(TestAnswer.of(await service.notifications.webhooks.test(caller, None)))


@router.get("/v1/webhooks", summary="The account's webhooks", responses=answer(WebhookList))
async def list_webhooks(service: InjectedService, caller: OwnerOrKey) -> Response:
    """With their secrets."""
    webhooks = await service.notifications.webhooks.all(caller.account.id)
    return private_response(WebhookList([WebhookObject.of(each) for each in webhooks]))


@router.post("/v1/webhooks", summary="Add a webhook", responses=answer(OneWebhook) | BAD_REQUEST | CAP_REACHED)
async def add_webhook(body: UrlRequest, service: InjectedService, caller: OwnerOrKey) -> Response:
    """At most ten addresses, each with its own secret. Every one gets every delivery. An address that gets them already
    is not added again: the answer is the webhook that is there.
    """
    webhook = await service.notifications.webhooks.add(caller, body.url)
    return private_response(OneWebhook(WebhookObject.of(webhook)))


@router.delete("/v1/webhooks/{id}", summary="Remove a webhook", responses=answer(Done) | BAD_REQUEST)
async def remove_webhook(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002
    """With its deliveries. Always `{"ok": true}` for a number; only one of the account is removed."""
    await service.notifications.webhooks.remove(caller, row_id(id))
    return private_response(Done())


@router.post(
    "/v1/webhooks/{id}/test",
    summary="Test a webhook",
    responses=answer(TestAnswer) | BAD_REQUEST,
    dependencies=SENDS,
    openapi_extra=NO_FIELDS,
)
async def test_webhook(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002
    """Sends one signed `watch.test` with an empty `events` array."""
    return private_response(TestAnswer.of(await service.notifications.webhooks.test(caller, row_id(id))))


@router.post(
    "/v1/webhooks/{id}/rotate",
    summary="Make a new secret",
    responses=answer(OneWebhook) | BAD_REQUEST,
    openapi_extra=NO_FIELDS,
)
async def rotate_secret(id: RowId, service: InjectedService, caller: OwnerOrKey) -> Response:  # noqa: A002
    """For 24 hours both secrets sign: two signatures with a space between them."""
    webhook = await service.notifications.webhooks.rotate(caller, row_id(id))
    return private_response(OneWebhook(WebhookObject.of(webhook)))


@router.get(
    "/v1/webhooks/{id}/deliveries",
    summary="What was sent to a webhook",
    responses=answer(DeliveryList) | BAD_REQUEST,
)
async def list_deliveries(
    id: RowId,  # noqa: A002
    parameters: Annotated[DeliveryParameters, Query()],
    service: InjectedService,
    caller: OwnerOrKey,
) -> Response:
    """The newest 50 deliveries with what was sent and answered; with `limit` or `after` page by page."""
    if parameters.model_fields_set:
        after, limit = parameters.after, parameters.limit
        page = await service.notifications.webhooks.log_page(caller, row_id(id), after=after, limit=limit)
        return private_response(DeliveryList.of_page(page, after or ""))
    deliveries = await service.notifications.webhooks.log(caller, row_id(id))
    return private_response(DeliveryList([DeliveryObject.of(each) for each in deliveries]))


@router.post(
    "/v1/webhooks/{id}/deliveries/{delivery}/resend",
    summary="Send a delivery again",
    responses=answer(Done) | BAD_REQUEST,
    dependencies=SENDS,
    openapi_extra=NO_FIELDS,
)
async def resend_delivery(
    id: RowId,  # noqa: A002
    delivery: Annotated[str, Path(description="Id of the delivery.", examples=["whd_…"])],
    service: InjectedService,
    caller: OwnerOrKey,
) -> Response:
    """The same body with the same id goes out once more."""
    await service.notifications.webhooks.send_again(caller, row_id(id), delivery)
    return private_response(Done())
