"""Arguments for endpoints: the service and the rate limits of their application, the credential of a request."""

from typing import Annotated

import msgspec
from fastapi import Depends
from starlette.requests import Request

from registerwatch.accounts.sessions.clients import Client
from registerwatch.accounts.sessions.credentials import Credential, credential_of
from registerwatch.bootstrap import Service
from registerwatch.web.limits.client_networks import client_at
from registerwatch.web.limits.rate_limits import Limit, RateLimits


def service_of(request: Request) -> Service:
    """The service of the application."""
    service: Service = request.app.state.service
    return service


def limits_of(request: Request) -> RateLimits:
    """The rate limits of the application."""
    limits: RateLimits = request.app.state.limits
    return limits


def sent_credential(request: Request) -> Credential | None:
    """The key or session that a request carries; None when there is none."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    return credential_of(request.headers.get("x-api-key"), bearer if scheme.lower() == "bearer" else None)


def address_of(request: Request) -> str:
    """The client address that requests are counted by."""
    return limits_of(request).address_of(request)


def client_of(request: Request) -> Client:
    """The client of a request."""
    return client_at(address_of(request))


class Counted(msgspec.Struct, frozen=True):
    """A dependency that counts a request, once however often it is called."""

    limit: Limit

    async def __call__(self, request: Request) -> None:
        """Raises `RateLimited`."""
        counted_limits: set[Limit] = request.scope.setdefault("state", {}).setdefault(_COUNTED, set())
        if self.limit not in counted_limits:
            counted_limits.add(self.limit)
            await limits_of(request).check(request, self.limit)


def counted(limit: Limit) -> Counted:
    """A dependency that counts requests of a route, `dependencies=[Depends(counted(Limit.X))]`.

    Requests count whether their parameters and bodies are right or not. A `CheckedRoute` counts before it reads a body.
    """
    return Counted(limit)


_COUNTED = "counted_limits"
"""The key of the limits that counted a request, in its state."""


async def _service(request: Request) -> Service:
    return service_of(request)


InjectedService = Annotated[Service, Depends(_service)]
