"""What endpoints are given: the service and the rate limits of their application, the credential of a request."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from registerwatch.accounts.credentials import Credential, credential_of
from registerwatch.bootstrap import Service
from registerwatch.web.rate_limits import Limit, RateLimits


def service_of(request: Request) -> Service:
    """The service that the application was made over."""
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


def counted(limit: Limit) -> Callable[[Request], Awaitable[None]]:
    """A dependency that counts requests of a route, `dependencies=[Depends(counted(Limit.X))]`.

    Requests count whether their parameters are right or not; only a body that is no JSON is refused before.
    """

    async def count(request: Request) -> None:
        await limits_of(request).check(request, limit)

    return count


async def _service(request: Request) -> Service:
    return service_of(request)


InjectedService = Annotated[Service, Depends(_service)]
