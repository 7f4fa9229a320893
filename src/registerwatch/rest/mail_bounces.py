"""`POST /v1/mail/bounces`: a mail provider reports undeliverable mails. 404 if no secret is set for it."""

import hmac
from base64 import b64decode
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import Unauthenticated
from registerwatch.notifications.bounces.bounce_posts import posted_bounce
from registerwatch.notifications.bounces.bounce_report import BounceReport
from registerwatch.rest.answers.account_answers import EXAMPLE_EMAIL
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    OTHER_ERROR,
    RATE_LIMITED,
    UNAUTHENTICATED,
    answer,
    error,
    operation_id,
)
from registerwatch.rest.routing.checked_route import CheckedRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.answers.answers import Answer, doc
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.body_limits import received_body
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import private_response

MAX_HEADER_LENGTH = 1_000
NOT_RECEIVED = error(404, "The operator has set no secret for it.")
WRONG_SECRET = (
    "The secret is missing or wrong: send `Authorization: Bearer <secret>`, or Basic with it as the password."  # noqa: S105
)

REPORT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "description": "`recipient` (or `token`, what stands behind the plus of the envelope sender),"
                    " `type` (`permanent` or `temporary`), and `status` (RFC 3463) where it is known: one that is not"
                    " about the address turns nothing off; or a bounce of Postmark's.",
                    "example": {"recipient": EXAMPLE_EMAIL, "type": "permanent", "status": "5.1.1"},
                }
            }
        },
    }
}

router = APIRouter(
    tags=["system"],
    responses={**BAD_REQUEST, **UNAUTHENTICATED, **RATE_LIMITED, **NOT_RECEIVED, **OTHER_ERROR},
    generate_unique_id_function=operation_id,
    route_class=CheckedRoute,
)


class Taken(Answer):
    """The report was understood; whether it changed anything is not told."""

    received: Annotated[Literal[True], doc("Always true.")] = True


@router.post(
    "/v1/mail/bounces",
    summary="Receive a mail provider's report of an undeliverable mail",
    responses=answer(Taken),
    openapi_extra=REPORT,
    dependencies=[Depends(counted(Limit.BOUNCES)), Depends(only_known_parameters)],
)
async def receive_bounce(request: Request, service: InjectedService) -> Response:
    """For the operator's mail provider, which sends the operator's secret as `Authorization: Bearer <secret>` or as the
    password of Basic. A report about an address that nobody here has is accepted and changes nothing.
    """
    secret = service.settings.bounce_webhook_secret
    if secret is None:
        raise HTTPException(404)
    if not _is_allowed(request.headers.get("authorization", ""), secret):
        raise Unauthenticated(WRONG_SECRET)
    report = posted_bounce(await received_body(request))
    if report.token is not None:
        await service.notifications.undeliverable.apply(BounceReport(report.token, report.kind, report.status))
    elif report.recipient is not None:
        await service.notifications.undeliverable.apply_to_address(report.recipient, report.kind, report.status)
    return private_response(Taken())


def _is_allowed(header: str, secret: SecretStr) -> bool:
    """Whether a header has the secret, as a bearer token or as the password of any user name."""
    scheme, _, value = header[:MAX_HEADER_LENGTH].partition(" ")
    shown = value.strip().encode()
    if scheme.lower() == "basic":
        try:
            shown = b64decode(shown, validate=True).partition(b":")[2]
        except ValueError:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(shown, secret.get_secret_value().encode())
