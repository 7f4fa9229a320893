"""Routes whose query parameters are one model, read by pydantic at once.

FastAPI reads such a model field by field, looking at the annotation of each again for every request: of a search with
its fifteen parameters that took longer than to find what was searched for.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class QueryRoute(APIRoute):
    """A route that takes a request, a model of query parameters, and dependencies of the request alone.

    Any other route, and a request whose parameters are wrong, is left to FastAPI, which words the refusal.
    """

    def get_route_handler(self) -> Handler:
        """The handler of the route."""
        handler, dependant = super().get_route_handler(), self.dependant
        model = _only_model(dependant)
        if model is None or not all(_is_of_request(each) for each in dependant.dependencies):
            return handler
        name, request_name, endpoint = dependant.query_params[0].name, dependant.request_param_name, self.endpoint
        checks = [each.call for each in dependant.dependencies if each.name is None]
        given = [(each.name, each.call) for each in dependant.dependencies if each.name is not None]

        async def answered(request: Request) -> Response:
            for check in checks:
                await check(request)  # type: ignore[misc]  # `_is_of_request` has seen that it is there
            try:
                arguments: dict[str, Any] = {name: model.model_validate(dict(request.query_params))}
            except ValidationError:
                return await handler(request)
            for argument, call in given:
                arguments[argument] = await call(request)  # type: ignore[misc]
            if request_name is not None:
                arguments[request_name] = request
            response: Response = await endpoint(**arguments)
            return response

        return answered


def _only_model(dependant: Dependant) -> type[BaseModel] | None:
    """The model of the query parameters of a route that takes no other parameter; None for any other route."""
    others = [*dependant.path_params, *dependant.header_params, *dependant.cookie_params, *dependant.body_params]
    if others or len(dependant.query_params) != 1:
        return None
    annotation = dependant.query_params[0].field_info.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _is_of_request(dependant: Dependant) -> bool:
    """Whether a dependency is called with the request and nothing else."""
    others = [*dependant.dependencies, *dependant.query_params, *dependant.path_params, *dependant.header_params]
    return dependant.request_param_name is not None and dependant.call is not None and not others
