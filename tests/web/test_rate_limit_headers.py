"""What answers tell about limits, whichever answer it is; and processes that share their counts."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Annotated

import httpx2
import pytest
from fastapi import Depends, FastAPI, Query
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from structlog.testing import capture_logs

from registerwatch.app import app_over
from registerwatch.bootstrap import build_service
from registerwatch.errors import InvalidInput
from registerwatch.pages import routes
from registerwatch.rest.routing import errors
from registerwatch.rest.routing.every_answer import EveryAnswer
from registerwatch.settings import Settings
from registerwatch.web.injection import counted
from registerwatch.web.limits.rate_limits import Limit, RateLimits, build_limits
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.transport import InProcessTransport
from tests.support import redis
from tests.support.fakes import SteppedClock
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.support.processes import until

NAMES = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy")


@pytest.fixture
def database_kind() -> str:
    """Limits do not depend on the database."""
    return "sqlite"


@pytest.fixture
async def limited(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(rate_limits=True) as harness:
        await harness.fill_copy()
        yield harness


def policy(answer: httpx2.Response) -> str | None:
    """The limit that an answer tells of; every header of limits is there exactly once, or none."""
    counted = [len(answer.headers.get_list(name)) for name in NAMES]
    assert counted in ([0] * 4, [1] * 4), answer.headers
    return str(answer.headers["ratelimit-policy"]) if any(counted) else None


def routes_of_every_kind(app: FastAPI, limits: RateLimits) -> None:
    """Routes that answer in every way there is after they were counted."""

    @app.get("/v1/raises/{status}")
    async def raises(request: Request, status: int) -> None:
        await limits.check(request, Limit.LOGIN)
        raise HTTPException(status) if status != 400 else InvalidInput("It cannot be.")

    @app.get("/v1/streams")
    async def streams(request: Request) -> Response:
        await limits.check(request, Limit.LOGIN)
        return StreamingResponse(iter(["a", "b"]))

    @app.get("/v1/depends", dependencies=[Depends(counted(Limit.TOOLS))])
    async def depends(number: Annotated[int, Query()]) -> Response:
        return PlainTextResponse(str(number))

    @app.get("/v1/both", dependencies=[Depends(counted(Limit.PAGES)), Depends(counted(Limit.TRIAL))])
    async def both() -> Response:
        return PlainTextResponse("both")

    @app.get("/v1/uncounted")
    async def uncounted() -> Response:
        return PlainTextResponse("uncounted")


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an application that has nothing but these routes, limits, and answers to errors."""
    limits = build_limits(Settings(), SteppedClock())
    app = FastAPI(middleware=[Middleware(EveryAnswer, always={}, counts=Counter())])
    app.state.limits = limits
    routes_of_every_kind(app, limits)
    errors.install(app, routes.error_page, lambda _path: ("GET",))
    async with aclosing(limits), httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://x") as it:
        yield it


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 503])
async def test_errors_after_the_count_tell_of_it(client: httpx2.AsyncClient, status: int) -> None:
    answer = await client.get(f"/v1/raises/{status}")

    assert answer.status_code == status
    assert (policy(answer), answer.headers["ratelimit-remaining"]) == ("20;w=3600", "19")


async def test_an_answer_that_is_streamed_tells_of_its_limit(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/v1/streams")

    assert (answer.text, policy(answer)) == ("ab", "20;w=3600")


async def test_what_is_declared_counts_before_parameters_are_looked_at(client: httpx2.AsyncClient) -> None:
    assert [(await client.get("/v1/depends", params={"number": n})).status_code for n in ("1", "x")] == [200, 400]
    answer = await client.get("/v1/depends")

    assert answer.status_code == 400
    assert (policy(answer), answer.headers["ratelimit-remaining"]) == ("60;w=60", "57")


async def test_of_two_declared_limits_the_scarcer_is_told_also_when_it_refuses(client: httpx2.AsyncClient) -> None:
    answers = [await client.get("/v1/both") for _ in range(9)]

    assert [each.status_code for each in answers] == [200] * 8 + [429]
    assert {policy(each) for each in answers} == {"8;w=3600"}
    assert [each.headers["ratelimit-remaining"] for each in answers] == [*map(str, range(7, -1, -1)), "0"]
    assert answers[-1].headers["retry-after"] == answers[-1].headers["ratelimit-reset"]


async def test_what_is_not_counted_tells_nothing(client: httpx2.AsyncClient) -> None:
    assert policy(await client.get("/v1/uncounted")) is None
    assert policy(await client.get("/v1/nowhere")) is None


async def test_every_answer_to_a_search_tells_of_its_limit(limited: ServiceHarness) -> None:
    found = await limited.get("/v1/search", q="titan")
    same = await limited.client.get("/v1/search?q=titan", headers={"If-None-Match": found.headers["etag"]})
    head = await limited.client.head("/v1/search?q=titan")
    unnamed = await limited.get("/v1/search")
    wrong = await limited.get("/v1/search", q="titan", page=0)
    wrong_head = await limited.client.head("/v1/search?page=x")

    answers = [found, same, head, unnamed, wrong, wrong_head]
    assert [each.status_code for each in answers] == [200, 304, 200, 400, 400, 400]
    assert {policy(each) for each in answers} == {"40;w=60"}
    assert [each.headers["ratelimit-remaining"] for each in answers] == ["39", "38", "37", "36", "35", "34"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_refused_request_is_told_when_to_come_back(limited: ServiceHarness, method: str) -> None:
    for _ in range(40):
        await limited.get("/v1/search", q="titan")

    refused = await limited.client.request(method, "/v1/search?q=titan")

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"]
    assert (policy(refused), refused.headers["ratelimit-remaining"]) == ("40;w=60", "0")


async def test_pages_and_their_errors_tell_of_their_limits(limited: ServiceHarness) -> None:
    udi = limited.world.newest(0, 1)[0].primary_di
    page = await limited.get(f"/d/{udi}")
    same = await limited.client.get(f"/d/{udi}", headers={"If-None-Match": page.headers["etag"]})
    head = await limited.client.head(f"/d/{udi}")
    missing = await limited.get("/d/04099999999992")
    again = await limited.client.post(f"/d/{udi}")
    search = await limited.get("/", q="titan")
    no_code = await limited.get("/a/...")

    answers = [page, same, head, missing, again, search, no_code]
    assert [each.status_code for each in answers] == [200, 304, 200, 404, 303, 200, 400]
    assert [policy(each) for each in answers] == ["120;w=60"] * 3 + ["20;w=60"] * 2 + ["120;w=60"] * 2


async def test_what_is_read_from_the_copy_alone_is_not_counted_and_tells_nothing(limited: ServiceHarness) -> None:
    udi = limited.world.newest(0, 1)[0].primary_di

    assert policy(await limited.get(f"/v1/devices/{udi}")) is None
    assert policy(await limited.get("/health")) is None
    assert policy(await limited.get("/v1/devices/04099999999992")) == "20;w=60"
    assert policy(await limited.get("/v1/actors/AT-MF-999999999")) == "20;w=60"


@asynccontextmanager
async def instance(database_url: str, data_dir: Path, redis_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """One process of several: the application with its lifespan."""
    service = build_service(
        Settings(
            data_dir=data_dir,
            database_url=SecretStr(database_url),
            redis_url=SecretStr(redis_url),
            register_url="http://register.test/eudamed",
        ),
        transport=InProcessTransport(create_register(GeneratedWorld(5, seed=7))),
    )
    app = app_over(service)
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        yield client


@pytest.fixture
async def two(database_url: str, tmp_path: Path, redis_url: str) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Clients of two processes over one database and one Redis."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(instance(database_url, tmp_path / name, redis_url))
            for name in ("one", "other")
        ]


async def test_two_processes_share_a_limit(two: list[httpx2.AsyncClient]) -> None:
    answers = [await two[number % 2].get("/v1/search", params={"q": "titan"}) for number in range(42)]

    assert [each.status_code for each in answers] == [200] * 40 + [429] * 2
    assert [each.headers["ratelimit-remaining"] for each in answers] == [*map(str, range(39, -1, -1)), "0", "0"]
    assert {policy(each) for each in answers} == {"40;w=60"}
    assert all(1 <= int(each.headers["retry-after"]) <= 60 for each in answers[40:])


async def test_requests_go_on_when_redis_ends_and_each_process_counts_for_itself(
    database_url: str, tmp_path: Path
) -> None:
    with redis.server() as running, capture_logs() as logged:
        async with AsyncExitStack() as stack:
            processes = [
                await stack.enter_async_context(instance(database_url, tmp_path / name, running.url))
                for name in ("one", "other")
            ]
            before = [await each.get("/v1/search", params={"q": "titan"}) for each in processes]
            running.kill()
            after = [await each.get("/v1/search", params={"q": "titan"}) for each in processes]

    assert [each.status_code for each in before + after] == [200] * 4
    assert [each.headers["ratelimit-remaining"] for each in before + after] == ["39", "38", "39", "39"]
    events = [each["event"] for each in logged]
    assert events.count("rate limits: Redis does not answer, this process counts for itself") == 2


async def test_connections_to_redis_are_closed_when_the_service_ends(
    database_url: str, tmp_path: Path, redis_url: str, redis_server: redis.RedisServer
) -> None:
    async with instance(database_url, tmp_path / "one", redis_url) as client:
        until(lambda: redis_server.connections() == 0, "tests before this one to be gone")
        await client.get("/v1/search", params={"q": "titan"})
        assert redis_server.connections() == 1

    until(lambda: redis_server.connections() == 0, "Redis to see that the connections are closed")
