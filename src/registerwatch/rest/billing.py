"""Subscriptions over REST, and the door for the payment provider's events."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.bootstrap import Service
from registerwatch.rest.account_object import AccountObjects
from registerwatch.rest.account_schemas import AccountObject
from registerwatch.rest.billing_schemas import CheckoutAnswer, CheckoutRequest, ConfirmRequest, PortalAnswer, Received
from registerwatch.rest.bodies import NO_FIELDS
from registerwatch.rest.responses import BAD_REQUEST, OTHER, PAYMENTS, RATE_LIMITED, UNAUTHENTICATED
from registerwatch.rest.security import AuthLevels
from registerwatch.web.rate_limits import Limit, RateLimits
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
PaymentSignature = Annotated[str | None, Header(alias="Payment-Signature", description=SIGNED)]
StripeSignature = Annotated[str | None, Header(alias="Stripe-Signature", description="The same by another name.")]


def router(service: Service, levels: AuthLevels, limits: RateLimits, objects: AccountObjects) -> APIRouter:
    """The routes, over one service."""
    routes = APIRouter(tags=["billing"], responses={**BAD_REQUEST, **RATE_LIMITED, **PAYMENTS, **OTHER})
    billing = service.billing
    anybody = Depends(levels.key_or_session)
    counted: dict[str, Any] = {
        "dependencies": [Depends(limits.counted(Limit.PAYMENT))],
        "responses": {**UNAUTHENTICATED},
    }

    async def account(caller: Caller) -> Response:
        """The account as it is after what was just applied."""
        return private_response(await objects.of(await service.accounts.members.renewed(caller)))

    @routes.post("/v1/billing/checkout", summary="Start a subscription", response_model=CheckoutAnswer, **counted)
    async def checkout(body: CheckoutRequest, caller: Annotated[Caller, anybody]) -> Response:
        """Gives the address of a page of the payment provider's. An account's first subscription begins with 7 days
        that cost nothing and need a card. 400 while there is a subscription.
        """
        started = await billing.checkouts.checkout(caller, PlanName(body.plan))
        return private_response({"url": started.url, "session_id": started.id})

    @routes.post("/v1/billing/confirm", summary="Apply a finished checkout", response_model=AccountObject, **counted)
    async def confirm(body: ConfirmRequest, caller: Annotated[Caller, anybody]) -> Response:
        """The provider's event does the same; whichever comes first counts, and again changes nothing. 400 for a
        checkout of another account, and for one that is not finished.
        """
        await billing.checkouts.confirm(caller, body.session_id)
        return await account(caller)

    @routes.post(
        "/v1/billing/cancel",
        summary="Cancel at the end of the period",
        response_model=AccountObject,
        openapi_extra=NO_FIELDS,
        **counted,
    )
    async def cancel(caller: Annotated[Caller, anybody]) -> Response:
        """What is paid for, and an open trial, go on until `expires_at`. 400 without a subscription."""
        await billing.checkouts.cancel(caller)
        return await account(caller)

    @routes.post(
        "/v1/billing/resume",
        summary="Undo a cancellation",
        response_model=AccountObject,
        openapi_extra=NO_FIELDS,
        **counted,
    )
    async def resume(caller: Annotated[Caller, anybody]) -> Response:
        """While the period is open; afterwards 400."""
        await billing.checkouts.resume(caller)
        return await account(caller)

    @routes.post(
        "/v1/billing/portal",
        summary="See the card and the invoices",
        response_model=PortalAnswer,
        openapi_extra=NO_FIELDS,
        **counted,
    )
    async def portal(caller: Annotated[Caller, anybody]) -> Response:
        """Gives the address of a page of the payment provider's. 400 for an account that never paid."""
        return private_response({"url": await billing.checkouts.portal(caller)})

    @routes.post(
        "/v1/billing/webhook",
        summary="Receive an event of the payment provider",
        response_model=Received,
        openapi_extra=EVENT,
        dependencies=[Depends(limits.counted(Limit.PAYMENT_EVENT))],
    )
    async def webhook(
        request: Request, payment_signature: PaymentSignature = None, stripe_signature: StripeSignature = None
    ) -> Response:
        """The signature's time may be 5 minutes away. What is not genuine is 400 and changes nothing; events of other
        types, and repeated ones, are acknowledged. One of the two headers is enough.
        """
        await billing.event_receiver.receive(await request.body(), payment_signature or stripe_signature)
        return private_response({"received": True})

    return routes
