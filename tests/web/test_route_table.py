"""The table finds what trying the routes in their order finds."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx2
import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.routing import BaseRoute, Match, Mount, NoMatchFound
from starlette.types import Receive, Scope, Send

from registerwatch.app import create_app
from registerwatch.settings import Settings
from registerwatch.web.route_table import RouteTable, install_route_table

METHODS = ("GET", "POST", "HEAD")
SEGMENTS = ("a", "ab", "1")
PARAMETERS = ("{p%d}", "{p%d:path}", "{p%d:int}", "a{p%d}", "{p%d:float}")
VALUES = ("a", "b", "1", "1.5", "a/b", "", "\u00e9")


def endpoint() -> Callable[[], None]:
    """An endpoint that no other route has."""
    return lambda: None


@st.composite
def route_paths(draw: st.DrawFn) -> str:
    """Such as `/a/{p1:int}`; no two parameters of a path have one name."""
    parts = draw(st.lists(st.sampled_from((*SEGMENTS, *PARAMETERS)), min_size=1, max_size=3))
    return "/" + "/".join(part % number if "%d" in part else part for number, part in enumerate(parts))


@st.composite
def routes_and_paths(draw: st.DrawFn) -> tuple[list[APIRoute], str]:
    """Routes, and a path that mostly fits one of them."""
    paths = draw(st.lists(route_paths(), min_size=1, max_size=8))
    routes = [APIRoute(path, endpoint(), methods=[draw(st.sampled_from(METHODS[:2]))]) for path in paths]
    path = re.sub(r"\{[^}]*\}", lambda _: draw(st.sampled_from(VALUES)), draw(st.sampled_from(paths)))
    return routes, path + draw(st.sampled_from(("", "", "", "/", "x")))


def first_in_full(routes: Sequence[BaseRoute], scope: Scope) -> Scope | None:
    """What the router's way finds: every route is tried, in order."""
    for route in routes:
        match, child_scope = route.matches(scope)
        if match is Match.FULL:
            return dict(child_scope)
    return None


def routes_of(*paths: str) -> list[APIRoute]:
    return [APIRoute(path, endpoint(), methods=["GET"]) for path in paths]


@example((routes_of("/{p0:int}"), "/1"), "GET")
@given(routes_and_paths(), st.sampled_from(METHODS))
def test_any_path_gets_the_route_and_the_parameters_that_trying_each_route_gives(
    drawn: tuple[list[APIRoute], str], method: str
) -> None:
    routes, path = drawn
    scope = {"type": "http", "method": method, "path": path}

    match, found = RouteTable(routes).matches(scope)

    if match is Match.FULL:
        expected = first_in_full(routes, scope)
        assert expected is not None
        assert {key: found[key] for key in expected} == expected
    else:
        assert (match, found) == (Match.NONE, {})
        assert first_in_full(routes, scope) is None


@pytest.mark.parametrize(
    ("route", "value"), [("/{code:path}/history", "01\n2"), ("/{code:path}", "01\n"), ("/{code}", "\n")]
)
def test_a_code_may_have_line_breaks_and_a_fixed_path_may_not(route: str, value: str) -> None:
    table = RouteTable(routes_of("/fixed/history", route))
    path = route.replace("{code:path}", value).replace("{code}", value)

    match, found = table.matches({"type": "http", "method": "GET", "path": path})
    assert (match, found["path_params"]) == (Match.FULL, {"code": value})

    for other in ("/fixed/history\n", "/fixed\n/history\n"):
        _, found = table.matches({"type": "http", "method": "GET", "path": other})
        assert found.get("path_params") != {}, "the fixed route took it"


def with_routers(*, table: bool) -> FastAPI:
    """An application whose routers lie in each other and have dependencies."""

    async def word(word: str = "none") -> str:
        return word

    app, outer, inner = FastAPI(redirect_slashes=False), APIRouter(prefix="/outer", tags=["o"]), APIRouter(tags=["i"])

    @inner.get("/things/{id}")
    async def thing(id: int, word: Annotated[str, Depends(word)]) -> list[object]:  # noqa: A002
        return ["thing", id, word]

    @inner.get("/things/newest")
    async def newest() -> str:
        return "never reached: the route before takes it"

    @inner.post("/things")
    async def add(body: dict[str, int]) -> dict[str, int]:
        return body

    @inner.get("/files/{path:path}")
    async def file(path: str) -> str:
        return path

    outer.include_router(inner, prefix="/inner", dependencies=[Depends(word)])
    app.include_router(outer)
    app.add_api_route("/outer/inner/things", lambda: "all", methods=["GET"])
    if table:
        install_route_table(app)
    return app


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/outer/inner/things/7?word=seen"),
        ("GET", "/outer/inner/things/newest"),
        ("GET", "/outer/inner/things/"),
        ("GET", "/outer/inner/things"),
        ("GET", "/outer/inner/things%0A"),
        ("POST", "/outer/inner/things"),
        ("DELETE", "/outer/inner/things"),
        ("DELETE", "/outer/inner/things/7"),
        ("OPTIONS", "/outer/inner/files/a"),
        ("GET", "/outer/inner/files/a/b%2Fc"),
        ("GET", "/outer/inner"),
        ("GET", "/openapi.json"),
        ("HEAD", "/openapi.json"),
    ],
)
def test_every_answer_is_what_it_is_without_the_table(method: str, path: str) -> None:
    async def answer(app: FastAPI, root_path: str) -> tuple[int, bytes, dict[str, str]]:
        transport = httpx2.ASGITransport(app, root_path=root_path)
        async with httpx2.AsyncClient(transport=transport, base_url="http://t") as client:
            response = await client.request(method, path, json={"a": 1} if method == "POST" else None)
            return response.status_code, response.content, dict(response.headers)

    async def compare() -> None:
        for root_path in ("", "/outer"):
            plain = await answer(with_routers(table=False), root_path)
            assert await answer(with_routers(table=True), root_path) == plain

    asyncio.run(compare())


def test_every_described_route_of_the_service_is_found_in_the_table(tmp_path: Path) -> None:
    routes = create_app(Settings(data_dir=tmp_path), background=False).routes
    contexts = [each for each in iter_route_contexts(routes[1:]) if isinstance(each.original_route, APIRoute)]

    assert isinstance(routes[0], RouteTable)
    assert len(contexts) > 50
    for context in contexts:
        for method in context.methods or ():
            path = re.sub(r"{\w+}", "1", str(context.path_format))  # a number is what every kind of parameter takes
            scope = {"type": "http", "method": method, "path": path}
            match, found = routes[0].matches(scope)
            assert (match, found.get("endpoint")) == (Match.FULL, context.endpoint), scope


def test_names_of_routes_give_their_addresses() -> None:
    app = with_routers(table=True)

    assert app.url_path_for("file", path="a/b") == "/outer/inner/files/a/b"
    with pytest.raises(NoMatchFound):
        app.url_path_for("nothing")


def test_what_has_no_methods_is_refused() -> None:
    async def mounted(_scope: Scope, _receive: Receive, _send: Send) -> Any:
        raise AssertionError

    with pytest.raises(TypeError, match="no methods"):
        RouteTable([Mount("/mounted", mounted)])
