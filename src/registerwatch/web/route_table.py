"""Routes found in a table, where FastAPI tries one after the other.

FastAPI 0.137 and later match the routes of included routers one by one, and twice: to find the last of sixty costs more
than to answer. `RouteTable` is a route itself, placed before the others. It takes the requests that a route takes in
full and leaves the rest to the routes after it, so every 404 and 405 stays what it was, and so does the description.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

_CONTEXT = "registerwatch.route"
"""Key of a request's scope: the route that the table found."""


def install_route_table(app: FastAPI) -> "RouteTable":
    """Let `app` find its routes in a table. To be called when all routes are there."""
    table = RouteTable(app.routes)
    app.router.routes.insert(0, table)
    return table


class RouteTable(BaseRoute):
    """Finds the route that trying all of them in their order would find first.

    Raises `TypeError` for a mount or a web socket among the routes.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        by_method: dict[str, list[RouteContext]] = {}
        for context in iter_route_contexts(routes):
            if not context.methods:
                raise TypeError(f"{context.original_route!r} has no methods; the table cannot hold it.")
            for method in context.methods:
                by_method.setdefault(method, []).append(context)
        self._routes = {method: _MethodRoutes(contexts) for method, contexts in by_method.items()}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The route's own match, or none; parts of a path that the server has taken are left to the router."""
        routes = self._routes.get(scope["method"]) if scope["type"] == "http" and not scope.get("root_path") else None
        context = None if routes is None else routes.find(scope["path"])
        if context is None or not isinstance(context.original_route, APIRoute):
            return Match.NONE, {}
        values = context.path_regex.match(scope["path"]).groupdict() if context.param_convertors else {}
        return Match.FULL, {
            "endpoint": context.endpoint,
            "path_params": {name: context.param_convertors[name].convert(value) for name, value in values.items()},
            "route": context.original_route,
            _CONTEXT: context,
        }

    def methods_at(self, path: str) -> list[str]:
        """The methods that any route takes at a path, sorted."""
        return sorted(method for method, routes in self._routes.items() if routes.find(path) is not None)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_CONTEXT].app(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        """The table has no name; the routes after it have theirs."""
        raise NoMatchFound(name, path_params)


class _MethodRoutes:
    """The routes of one method: by path where it is fixed, else in order, by the text before the first parameter."""

    def __init__(self, contexts: Sequence[RouteContext]) -> None:
        self._variable: list[tuple[str, RouteContext]] = []
        self._fixed: dict[str, RouteContext] = {}
        for each in contexts:
            path = str(each.path)
            if each.param_convertors:
                self._variable.append((str(each.path_format).partition("{")[0], each))
            elif path not in self._fixed:
                self._fixed[path] = self._first_variable(path) or each

    def find(self, path: str) -> RouteContext | None:
        """The first route that takes this path."""
        if path in self._fixed or "\n" in path:  # the pattern of a fixed path takes a line break at its end too
            return self._fixed.get(path)
        return self._first_variable(path)

    def _first_variable(self, path: str) -> RouteContext | None:
        for start, context in self._variable:
            if path.startswith(start) and context.path_regex.match(path):
                return context
        return None
