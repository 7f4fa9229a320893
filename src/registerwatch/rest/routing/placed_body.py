"""Routes whose large bodies wait for a place: few are received at a time, of accounts alone."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.rest.routing.auth import caller_of
from registerwatch.rest.routing.direct_route import Handler
from registerwatch.rest.routing.idempotency import IdempotentRoute
from registerwatch.web.injection import counted
from registerwatch.web.limits.large_bodies import slot_for_body
from registerwatch.web.limits.rate_limits import Limit

_count = counted(Limit.ACCOUNT)


class PlacedBodyRoute(IdempotentRoute):
    """Receives the body of a POST of an account when there is a place for it."""

    def get_route_handler(self) -> Handler:
        """The handler of the route; of a POST behind the place of its body."""
        handle = self.get_body_handler()
        if "POST" not in (self.methods or ()):
            return handle

        async def handle_in_place(request: Request) -> Response:
            await _count(request)
            caller = await caller_of(request)
            async with slot_for_body(request, caller.account.id) as placed:
                return await handle(placed)

        return handle_in_place

    def get_body_handler(self) -> Handler:
        """The handler of a request that has its place."""
        return super().get_route_handler()
