"""Routers of an account's routes."""

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from registerwatch.rest.openapi.description import (
    OTHER_ERROR,
    RATE_LIMITED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Responses,
    operation_id,
)
from registerwatch.rest.routing.idempotency import IdempotentRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.injection import counted
from registerwatch.web.limits.rate_limits import Limit


def account_router(
    tag: str, responses: Responses | None = None, *, route_class: type[APIRoute] = IdempotentRoute
) -> APIRouter:
    """A router of routes that need a credential, are counted, refuse unknown parameters, and do each POST once.

    `responses` are errors that all of its routes can answer beside the usual ones.
    """
    return APIRouter(
        tags=[tag],
        responses={**UNAUTHENTICATED, **(responses or {}), **RATE_LIMITED, **UNAVAILABLE, **OTHER_ERROR},
        dependencies=[Depends(counted(Limit.ACCOUNT)), Depends(only_known_parameters)],
        generate_unique_id_function=operation_id,
        route_class=route_class,
    )
