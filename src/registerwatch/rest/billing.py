"""Subscriptions over REST, and the events that the payment provider posts."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.bootstrap import Service
from registerwatch.rest.answers.account_answers import AccountObject, account_object
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    NO_FIELDS,
    OTHER_ERROR,
    PAYMENTS_UNAVAILABLE,
    RATE_LIMITED,
    UNAUTHENTICATED,
    RequestBody,
    answer,
    operation_id,
)
from registerwatch.rest.routing.auth import Manager
from registerwatch.rest.routing.idempotency import IdempotentRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.answers.answers import Answer, doc
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.body_limits import received_body
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import private_response

EVENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "description": "An event as the provider sends it; the signature is over these very bytes.",
                }
            }
        },
    }
}
SIGNED = "`t=<unix seconds>,v1=<HMAC-SHA256 in hex over the seconds, a dot, the raw body>`."
EXAMPLE_SESSION = "cs_test_a1B2c3"

PaymentSignature = Annotated[str | None, Header(alias="Payment-Signature", description=SIGNED)]
StripeSignature = Annotated[str | None, Header(alias="Stripe-Signature", description="The same by another name.")]

router = APIRouter(
    tags=["billing"],
    responses={**BAD_REQUEST, **RATE_LIMITED, **PAYMENTS_UNAVAILABLE, **OTHER_ERROR},
    generate_unique_id_function=operation_id,
    route_class=IdempotentRoute,
)
ASKS_PROVIDER = [Depends(counted(Limit.PAYMENT)), Depends(only_known_parameters)]


class CheckoutRequest(RequestBody):
    """What to subscribe to."""

    plan: Literal["standard", "operator"] = Field(
        "standard", description="The plan; `standard` when none is named.", examples=["operator"]
    )


class ConfirmRequest(RequestBody):
    """A checkout that is finished."""

    session_id: str = Field(description="The `session_id` of the checkout.", examples=[EXAMPLE_SESSION])


class CheckoutAnswer(Answer):
    """A page of the payment provider's."""

    url: Annotated[str, doc("Where to pay; good for a day.", "https://checkout.example/c/pay/cs_1")]
    session_id: Annotated[str, doc("For `POST /v1/billing/confirm`.", EXAMPLE_SESSION)]


class PortalAnswer(Answer):
    """A page of the payment provider's."""

    url: Annotated[str, doc("The card and the invoices; good once.", "https://billing.example/p/1")]


class Received(Answer):
    """The event is genuine, and was applied or is of no interest."""

    received: Annotated[Literal[True], doc("Always true.")] = True


@router.post(
    "/v1/billing/checkout",
    summary="Start a subscription",
    responses=answer(CheckoutAnswer) | UNAUTHENTICATED,
    dependencies=ASKS_PROVIDER,
)
async def start_checkout(body: CheckoutRequest, service: InjectedService, caller: Manager) -> Response:
    """Gives the address of a page of the payment provider's. An account's first subscription begins with 7 days
    that cost nothing and need a card. 400 while there is a subscription.
    """
    started = await service.billing.checkouts.checkout(caller, PlanName(body.plan))
    return private_response(CheckoutAnswer(started.url, started.id))


@router.post(
    "/v1/billing/confirm",
    summary="Apply a finished checkout",
    responses=answer(AccountObject) | UNAUTHENTICATED,
    dependencies=ASKS_PROVIDER,
)
async def confirm_checkout(body: ConfirmRequest, service: InjectedService, caller: Manager) -> Response:
    """The provider's event does the same; whichever comes first counts, and again changes nothing. 400 for a
    checkout of another account, and for one that is not finished.
    """
    await service.billing.checkouts.confirm(caller, body.session_id)
    return await _account(service, caller)


@router.post(
    "/v1/billing/cancel",
    summary="Cancel at the end of the period",
    responses=answer(AccountObject) | UNAUTHENTICATED,
    dependencies=ASKS_PROVIDER,
    openapi_extra=NO_FIELDS,
)
async def cancel_subscription(service: InjectedService, caller: Manager) -> Response:
    """What is paid for, and an open trial, go on until `expires_at`. 400 without a subscription."""
    await service.billing.checkouts.cancel(caller)
    return await _account(service, caller)


@router.post(
    "/v1/billing/resume",
    summary="Undo a cancellation",
    responses=answer(AccountObject) | UNAUTHENTICATED,
    dependencies=ASKS_PROVIDER,
    openapi_extra=NO_FIELDS,
)
async def resume_subscription(service: InjectedService, caller: Manager) -> Response:
    """While the period is open; afterwards 400."""
    await service.billing.checkouts.resume(caller)
    return await _account(service, caller)


@router.post(
    "/v1/billing/portal",
    summary="See the card and the invoices",
    responses=answer(PortalAnswer) | UNAUTHENTICATED,
    dependencies=ASKS_PROVIDER,
    openapi_extra=NO_FIELDS,
)
async def open_portal(service: InjectedService, caller: Manager) -> Response:
    """Gives the address of a page of the payment provider's. 400 for an account that never paid."""
    return private_response(PortalAnswer(await service.billing.checkouts.portal(caller)))


@router.post(
    "/v1/billing/webhook",
    summary="Receive an event of the payment provider",
    responses=answer(Received),
    openapi_extra=EVENT,
    dependencies=[Depends(counted(Limit.PAYMENT_EVENT))],
)
async def receive_event(
    request: Request,
    service: InjectedService,
    payment_signature: PaymentSignature = None,
    stripe_signature: StripeSignature = None,
) -> Response:
    """The signature's time may be 5 minutes away. What is not genuine is 400 and changes nothing; events of other
    types, and repeated ones, are acknowledged. One of the two headers is enough.
    """
    await service.billing.event_receiver.receive(await received_body(request), payment_signature or stripe_signature)
    return private_response(Received())


async def _account(service: Service, caller: Caller) -> Response:
    """The account after the change that was just applied."""
    return private_response(await account_object(service, await service.accounts.members.renewed(caller)))
