"""Routes without a body that read parameters and call dependencies without FastAPI's solver.

FastAPI inspects the annotation of every parameter for every request. That took longer than most answers.
"""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch.rest.routing.auth import KeyOrSession

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Values = dict[str, Any]
Problems = Sequence[dict[str, Any]]
"""As `RequestValidationError` has them."""
PLAIN = (str, int, float, bool, NoneType)
_NO_QUERY = QueryParams()


class DirectRoute(APIRoute):
    """A route that calls its endpoint directly, if that has the form of nearly all our endpoints. FastAPI handles other
    endpoints.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if self.is_direct:
            self.app = _app(self.get_route_handler())

    @property
    def is_direct(self) -> bool:
        """Whether the endpoint can be called directly."""
        return self._call is not None

    def get_route_handler(self) -> Handler:
        """The handler of the route."""
        return super().get_route_handler() if self._call is None else self._call.answer

    @cached_property
    def _call(self) -> "_Call | None":
        try:
            return _Call.of(self)
        except _OtherForm:
            return None


def _app(handler: Handler) -> ASGIApp:
    """The application of a direct route. Errors are caught by the application around all routes."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


class _OtherForm(Exception):
    """The form of an endpoint or a dependency must be left to FastAPI."""


class _Step(msgspec.Struct, frozen=True):
    """A dependency: its function, its parameter for the request, and its parameters for results of other steps."""

    call: Callable[..., Coroutine[Any, Any, Any]]
    request_name: str | None
    given: Sequence[tuple[str, int]]

    async def result(self, request: Request, results: Sequence[Any], values: Values) -> Any:
        """Call it with `values`, its own parameters, results and request."""
        for name, index in self.given:
            values[name] = results[index]
        if self.request_name is not None:
            values[self.request_name] = request
        return await self.call(**values)


class _Call(msgspec.Struct, frozen=True):
    """An endpoint with its dependencies and parameters. Each of `steps` runs once, in FastAPI's order."""

    endpoint: _Step
    steps: Sequence[_Step]
    model: "_Model | None"
    """The parameter that holds all query parameters."""
    query: Sequence["_Field"]
    path: Sequence["_Field"]
    headers: Sequence["_Field"]

    @classmethod
    def of(cls, route: APIRoute) -> "_Call":
        """Build the call. Raises `_OtherForm`."""
        dependant, hints = route.dependant, get_type_hints(route.endpoint)
        returned = hints.get("return")
        if route.body_field is not None or not (isinstance(returned, type) and issubclass(returned, Response)):
            raise _OtherForm
        steps, indexes = list[_Step](), dict[Any, int]()
        given = [(each.name, _add_step(each, steps, indexes)) for each in dependant.dependencies]
        named = [(name, index) for name, index in given if name is not None]
        model = _Model.only_one(dependant)
        return cls(
            _Step(_coroutine(dependant), dependant.request_param_name, named),
            steps,
            model,
            [] if model else [_Field.of(each, "query") for each in dependant.query_params],
            [_Field.of(each, "path") for each in dependant.path_params],
            [_Field.of(each, "header") for each in dependant.header_params],
        )

    def parameters(self, request: Request) -> tuple[Values, Problems]:
        """The endpoint's own parameters, and what is wrong with them."""
        query = request.query_params if request.scope["query_string"] else _NO_QUERY
        read = [(each.name, *each.value(request.path_params.get(each.alias))) for each in self.path]
        if self.model is not None:
            read.append((self.model.name, *self.model.value(query)))
        read += [(each.name, *each.value(query.get(each.alias))) for each in self.query]
        read += [(each.name, *each.value(request.headers.get(each.alias))) for each in self.headers]
        return {name: value for name, value, _ in read}, [each for _, _, problems in read for each in problems]

    async def answer(self, request: Request) -> Response:
        """The endpoint's answer. Raises `RequestValidationError` for wrong parameters, after the dependencies ran."""
        values, problems = self.parameters(request)
        results = list[Any]()
        for step in self.steps:
            results.append(await step.result(request, results, {}))
        if problems:
            raise RequestValidationError(problems)
        response: Response = await self.endpoint.result(request, results, values)
        return response


class _Field(msgspec.Struct, frozen=True):
    """A query, path or header parameter with one value."""

    name: str
    alias: str
    field: Any
    """FastAPI's field, which has the type."""
    location: tuple[str, str]
    is_required: bool
    default: Any

    @classmethod
    def of(cls, field: Any, where: str) -> "_Field":
        """The field of a parameter. Raises `_OtherForm` for several values, or a header without an alias."""
        if not _is_plain(field.field_info.annotation) or (where == "header" and "_" in field.alias):
            raise _OtherForm
        is_required = field.field_info.is_required()
        default = None if is_required else field.get_default()
        return cls(field.name, field.alias, field, (where, field.alias), is_required, default)

    def value(self, sent: Any) -> tuple[Any, Problems]:
        """Convert what was sent, None if nothing was; and what is wrong with it."""
        if sent is not None:
            return self.field.validate(sent, loc=self.location)  # type: ignore[no-any-return]  # FastAPI's own field
        if not self.is_required:
            return self.default, ()
        return None, [{"type": "missing", "loc": self.location, "msg": "Field required", "input": None}]


class _Model(msgspec.Struct, frozen=True):
    """A parameter whose fields are all query parameters."""

    name: str
    field: Any
    """FastAPI's field, which has the type."""
    several: Sequence[str]
    """Query parameters that may be sent several times."""

    @classmethod
    def only_one(cls, dependant: Dependant) -> "_Model | None":
        """The model, None if query parameters are separate. Raises `_OtherForm`."""
        if len(dependant.query_params) != 1:
            return None
        field = dependant.query_params[0]
        model: Any = field.field_info.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return None
        several = {name: each for name, each in model.model_fields.items() if not _is_plain(each.annotation)}
        if any(get_origin(each.annotation) is not list for each in several.values()):
            raise _OtherForm
        return cls(field.name, field, [each.alias or name for name, each in several.items()])

    def value(self, sent: QueryParams) -> tuple[Any, Problems]:
        """Convert the query; and what is wrong with it."""
        values: Values = dict(sent)
        for name in self.several:
            if name in values:
                values[name] = sent.getlist(name)
        return self.field.validate(values, loc=("query",))  # type: ignore[no-any-return]  # FastAPI's own field


def _add_step(dependant: Dependant, steps: list[_Step], indexes: dict[Any, int]) -> int:
    """The index of a dependency in the steps, after those that it needs. Raises `_OtherForm`."""
    call, needed = _coroutine(dependant), dependant.dependencies
    if call in indexes:
        return indexes[call]
    if isinstance(dependant.call, KeyOrSession):
        step = _Step(dependant.call.check, "request", ())  # its parameter serves only the description
    elif dependant.query_params or dependant.path_params or dependant.header_params:
        raise _OtherForm
    else:
        given = [(str(each.name), _add_step(each, steps, indexes)) for each in needed]
        step = _Step(call, dependant.request_param_name, given)
    steps.append(step)
    indexes[call] = len(steps) - 1
    return indexes[call]


def _coroutine(dependant: Dependant) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The function of a dependency. Raises `_OtherForm` if it is not a coroutine of known parameters."""
    call = dependant.call
    unknown = (
        dependant.cookie_params,
        dependant.body_params,
        dependant.websocket_param_name,
        dependant.http_connection_param_name,
        dependant.response_param_name,
        dependant.background_tasks_param_name,
        dependant.security_scopes_param_name,
    )
    if call is None or any(unknown):
        raise _OtherForm
    function = call if inspect.isfunction(call) else type(call).__call__
    if not inspect.iscoroutinefunction(function):
        raise _OtherForm
    return call


def _is_plain(annotation: Any) -> bool:
    """Whether a parameter of this type has one value."""
    if get_origin(annotation) in (Union, UnionType):
        return all(map(_is_plain, get_args(annotation)))
    return get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, PLAIN))
