"""Routes that are answered without FastAPI's solver: the same answers as with it, whatever is sent."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from registerwatch.app import ROUTERS
from registerwatch.rest.routing.direct_route import DirectRoute


class Side(StrEnum):
    """One of two."""

    LEFT = "left"
    RIGHT = "right"


class Chosen(BaseModel):
    """Parameters in one model."""

    model_config = ConfigDict(extra="forbid")
    q: str = Field(max_length=5)
    page: int = Field(1, ge=1, alias="p")
    side: Side | None = None
    depth: Literal["all", "some"] = "all"


class Several(BaseModel):
    """A model in which a parameter may be sent several times."""

    word: list[str] = Field([], max_length=2)
    number: list[int] = []
    last: str = ""


async def in_order(request: Request) -> list[str]:
    """What was called so far."""
    called: list[str] = request.scope.setdefault("state", {}).setdefault("called", [])
    return called


async def first(request: Request, called: Annotated[list[str], Depends(in_order)]) -> str:
    called.append(f"first of {request.method}")
    return "one"


async def second(called: Annotated[list[str], Depends(in_order)], one: Annotated[str, Depends(first)]) -> str:
    called.append("second")
    return f"{one} and two"


async def in_model(
    chosen: Annotated[Chosen, Query()],
    both: Annotated[str, Depends(second)],
    called: Annotated[list[str], Depends(in_order)],
) -> Response:
    return JSONResponse([chosen.model_dump(), sorted(chosen.model_fields_set), both, called])


async def one_by_one(
    name: Annotated[str, Path(max_length=4)],
    number: int,
    prefer: Annotated[str | None, Header(alias="Prefer")] = None,
    page: Annotated[int, Query(ge=1, alias="p")] = 1,
) -> Response:
    return JSONResponse([name, number, prefer, page])


async def several(chosen: Annotated[Several, Query()]) -> Response:
    return JSONResponse([chosen.model_dump(), sorted(chosen.model_fields_set)])


def put_together() -> str:
    return "a function that blocks"


async def blocking(text: Annotated[str, Depends(put_together)]) -> Response:
    return JSONResponse(text)


async def described() -> dict[str, int]:
    return {"answer": 1}


ENDPOINTS: dict[str, Callable[..., Any]] = {
    "/model": in_model,
    "/{name}/{number}": one_by_one,
    "/several": several,
    "/blocking": blocking,
}


def app_of(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=route_class, dependencies=[Depends(first)])
    for path, endpoint in ENDPOINTS.items():
        router.add_api_route(path, endpoint)
    router.get("/described")(described)
    app = FastAPI()
    app.include_router(router)
    return app


@pytest.fixture(scope="module")
def clients() -> Iterator[tuple[TestClient, TestClient]]:
    with TestClient(app_of(DirectRoute)) as ours, TestClient(app_of(APIRoute)) as theirs:
        yield ours, theirs


@pytest.mark.parametrize(
    "target",
    [
        "/model?q=a",
        "/model?q=a&p=2&side=left&depth=some",
        "/model?q=a&q=b&p=1&p=3",
        "/model?q=",
        "/model",
        "/model?q=toolong",
        "/model?q=a&p=0&side=up&depth=none",
        "/model?q=a&other=1",
        "/model?q=%00%ff&p=+7",
        "/abc/5",
        "/abc/5?p=2&p=3",
        "/abc/-5?p=0",
        "/abc/five",
        "/abcde/5",
        "/a%2Fb/5",
        "/abc/5.0",
        "/abc/99999999999999999999999",
        "/several?word=a&word=b&last=x&last=y",
        "/several?word=a&word=b&word=c",
        "/several?number=1&number=two",
        "/several?number=&last=",
        "/several",
        "/blocking",
        "/described",
    ],
)
def test_a_request_is_answered_as_fastapi_answers_it(clients: tuple[TestClient, TestClient], target: str) -> None:
    headers = {"Prefer": "wait=3"}
    ours, theirs = (client.get(target, headers=headers) for client in clients)
    assert (ours.status_code, ours.json()) == (theirs.status_code, theirs.json())


def test_a_dependency_is_called_once_in_order(clients: tuple[TestClient, TestClient]) -> None:
    ours, _ = clients
    assert ours.get("/model?q=a").json()[2:] == ["one and two", ["first of GET", "second"]]


def test_a_dependency_is_not_called_twice_for_wrong_parameters() -> None:
    calls = []

    async def counted(request: Request) -> None:
        calls.append(request.url.path)

    app = FastAPI()
    app.router.route_class = DirectRoute
    app.get("/{name}/{number}", dependencies=[Depends(counted)])(one_by_one)
    with TestClient(app) as client:
        assert client.get("/abc/five").status_code == 422
    assert calls == ["/abc/five"]


def test_every_read_of_the_json_interface_is_answered_directly() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    reads = [each for each in routes if "GET" in (each.methods or ()) and each.path.startswith(("/v1/", "/live"))]
    assert len(reads) > 25
    assert [each.path for each in reads if not (isinstance(each, DirectRoute) and each.is_direct)] == []
