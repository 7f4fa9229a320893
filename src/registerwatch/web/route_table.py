"""Finds routes in a table, where FastAPI tries one after the other.

FastAPI 0.137 and later match the routes of included routers one by one, and twice: to find the last of sixty costs more
than to answer. `RouteTable` is a route itself, before the others. It takes the requests that a route takes in full and
leaves the rest to the routes after it, so every 404 and 405 stays as it was, and so does the description. Only a
parameter that may be any path takes line breaks too, which the router refuses.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.convertors import Convertor
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

_APP = "registerwatch.route"
"""Key of a request's scope: the application of the route that the table found."""


def install_route_table(app: FastAPI) -> "RouteTable":
    """Let `app` find its routes in a table. Call it when all routes are there."""
    table = RouteTable(app.routes)
    app.router.routes.insert(0, table)
    return table


class RouteTable(BaseRoute):
    """Finds the route that the router would find first.

    Raises `TypeError` for a mount or a web socket among the routes.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        by_method: dict[str, list[_Entry]] = {}
        for context in iter_route_contexts(routes):
            if not context.methods:
                raise TypeError(f"{context.original_route!r} has no methods; the table cannot hold it.")
            entry = _Entry.of(context)
            for method in context.methods:
                by_method.setdefault(method, []).append(entry)
        self._routes = {method: _MethodRoutes(entries) for method, entries in by_method.items()}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The route's own match, or none; a path of which the server has taken a part is left to the router."""
        routes = self._routes.get(scope["method"]) if scope["type"] == "http" and not scope.get("root_path") else None
        entry = None if routes is None else routes.find(scope["path"])
        if entry is None or not entry.is_of_api:
            return Match.NONE, {}
        return Match.FULL, {**entry.scope, "path_params": entry.values(scope["path"])}

    def methods_at(self, path: str) -> list[str]:
        """The methods of all routes at a path, sorted."""
        return sorted(method for method, routes in self._routes.items() if routes.find(path) is not None)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_APP](scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        """Raise: the routes after the table have the names."""
        raise NoMatchFound(name, path_params)


class _Entry(msgspec.Struct, frozen=True):
    """Facts of a route that every request needs, and that FastAPI's context looks up each time."""

    path: str
    start: str
    """Its path up to the first parameter."""
    pattern: re.Pattern[str]
    """As Starlette has it, but a parameter that may be any path may have line breaks too, as a scanned code has."""
    convertors: Mapping[str, Convertor[Any]]
    is_of_api: bool
    scope: Scope
    """Additions to the scope of its request, beside the values of the path."""

    @classmethod
    def of(cls, context: RouteContext) -> "_Entry":
        route, app = context.original_route, getattr(context, "app", None)
        return cls(
            str(context.path),
            str(context.path_format).partition("{")[0],
            re.compile(context.path_regex.pattern, re.DOTALL),
            context.param_convertors,
            isinstance(route, APIRoute),
            {"endpoint": context.endpoint, "route": route, _APP: app},
        )

    def values(self, path: str) -> dict[str, Any]:
        """The values of the parameters in a path of it."""
        found = self.pattern.fullmatch(path) if self.convertors else None
        return {} if found is None else {name: each.convert(found[name]) for name, each in self.convertors.items()}


class _MethodRoutes:
    """The routes of one method: by path where it is fixed, else in order, by the text before the first parameter."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._variable: list[_Entry] = []
        self._fixed: dict[str, _Entry] = {}
        for each in entries:
            if each.convertors:
                self._variable.append(each)
            elif each.path not in self._fixed:
                self._fixed[each.path] = self._first_variable(each.path) or each

    def find(self, path: str) -> _Entry | None:
        """The first route that takes this path."""
        return self._fixed.get(path) or self._first_variable(path)

    def _first_variable(self, path: str) -> _Entry | None:
        for each in self._variable:
            if path.startswith(each.start) and each.pattern.fullmatch(path):
                return each
        return None
