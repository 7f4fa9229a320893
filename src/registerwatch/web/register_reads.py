"""Reads a record for a request: stored, else counted against its limit and read from the register."""

from starlette.requests import Request

from registerwatch.bootstrap import Service
from registerwatch.copy.search.filters import Filters
from registerwatch.lookup.actors import ActorAnswer
from registerwatch.lookup.devices import DeviceAnswer, NoDevice
from registerwatch.web.injection import address_of, limits_of
from registerwatch.web.limits.rate_limits import Limit


async def device_for(
    request: Request, service: Service, udi: str, *, wait_seconds: float = 0
) -> DeviceAnswer | NoDevice:
    """The device, or why there is none. Raises `RateLimited` where it has to be read and may not."""
    return await service.devices.read(
        udi,
        before_read=lambda: limits_of(request).check(request, Limit.REGISTER_READ),
        client=lambda: address_of(request),
        wait_seconds=wait_seconds,
    )


async def actor_for(
    request: Request, service: Service, srn: str, filters: Filters | None = None, page: int = 1
) -> ActorAnswer:
    """Stored facts of the actor and a page of its devices. Raises `RateLimited` where it has to be read and may not."""
    return await service.actors.read(
        srn,
        filters,
        page=page,
        before_read=lambda: limits_of(request).check(request, Limit.REGISTER_READ),
        client=lambda: address_of(request),
    )
