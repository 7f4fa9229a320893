"""Answers that many operations share, for `/openapi.json`."""

from typing import Any

from registerwatch.rest.schemas import ErrorBody

Answers = dict[int | str, dict[str, Any]]

_ERROR = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorBody.__name__}"}}}}
"""By reference: two hundred answers of this one shape, each given as a model, take most of what a start computes."""

BAD_REQUEST: Answers = {
    400: {"description": "The request cannot be understood; the message says what would be.", **_ERROR}
}
UNAUTHENTICATED: Answers = {401: {"description": "Missing or unknown key or session.", **_ERROR}}
ENDED: Answers = {402: {"description": "The account's period has ended.", **_ERROR}}
MEMBER: Answers = {403: {"description": "A member may not do this; or the POST had no body.", **_ERROR}}
CAP_REACHED: Answers = {409: {"description": "The account has as many as its plan allows.", **_ERROR}}
RATE_LIMITED: Answers = {
    429: {"description": "Too many requests of this address; `Retry-After` says when to try again.", **_ERROR}
}
UNAVAILABLE: Answers = {503: {"description": "The database or the index is out of reach; try again shortly.", **_ERROR}}
PAYMENTS: Answers = {
    503: {
        "description": "The payment provider does not answer, or the service takes no payments: that needs the settings"
        " REGISTERWATCH_PAYMENT_API_KEY and REGISTERWATCH_PAYMENT_PRICES, and for the provider's events"
        " REGISTERWATCH_PAYMENT_WEBHOOK_SECRET.",
        **_ERROR,
    }
}
OTHER: Answers = {"default": {"description": "Any other error.", **_ERROR}}
