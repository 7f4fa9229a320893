"""Routes that count a request and check its credential before they read its body, and check it again afterwards.

FastAPI reads and parses the body of a request before it resolves the first dependency. Without this, clients without a
credential could make the service parse any number of bodies.
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.rest.openapi.description import NO_FIELDS
from registerwatch.rest.routing.auth import KeyOrSession, body_of_caller
from registerwatch.rest.routing.direct_route import DirectRoute, Handler
from registerwatch.web.injection import Counted
from registerwatch.web.limits.body_limits import refuse_declared_excess
from registerwatch.web.unknown_names import field_names, unknown_message

Check = Callable[[Request], Coroutine[Any, Any, Any]]


class CheckedRoute(DirectRoute):
    """A route that counts a request and looks up its caller before reading its body."""

    def get_route_handler(self) -> Handler:
        """The handler of the route, after the checks."""
        handler = super().get_route_handler()
        checks = tuple(_checks(self.dependant))
        takes_no_field = (self.openapi_extra or {}).items() >= NO_FIELDS.items()
        takes_body = self.body_field is not None or takes_no_field

        async def checked(request: Request) -> Response:
            for check in checks:
                await check(request)
            refuse_declared_excess(request)
            body = await body_of_caller(request) if takes_body else b""
            if takes_no_field and (unknown := field_names(body)):
                raise InvalidInput(unknown_message("field", unknown, ()))
            return await handler(request)

        return checked


def _checks(dependant: Dependant) -> Iterator[Check]:
    """The checks among the dependencies of a route, in order. Each remembers the request, so it runs only once."""
    for each in dependant.dependencies:
        if isinstance(each.call, Counted):
            yield each.call
        elif isinstance(each.call, KeyOrSession):
            yield each.call.check
        yield from _checks(each)
