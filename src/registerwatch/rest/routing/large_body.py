"""Routes that receive few large bodies at a time, and only from accounts."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.rest.routing.auth import caller_of
from registerwatch.rest.routing.direct_route import Handler
from registerwatch.rest.routing.idempotency import IdempotentRoute
from registerwatch.web.injection import counted
from registerwatch.web.limits.large_bodies import slot_for_body
from registerwatch.web.limits.rate_limits import Limit

_count = counted(Limit.ACCOUNT)


class LargeBodyRoute(IdempotentRoute):
    """Receives the body of an account's POST when a slot is free."""

    def get_route_handler(self) -> Handler:
        """The handler of the route; a POST first waits for a slot."""
        handle = self.get_body_handler()
        if "POST" not in (self.methods or ()):
            return handle

        async def handle_in_slot(request: Request) -> Response:
            await _count(request)
            caller = await caller_of(request)
            async with slot_for_body(request, caller.account.id) as admitted:
                return await handle(admitted)

        return handle_in_slot

    def get_body_handler(self) -> Handler:
        """The handler of a request that has a slot."""
        return super().get_route_handler()
