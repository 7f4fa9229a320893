"""`/metrics` for Prometheus: requests by route, reads of the register, queues and how old they are.

Only for the operator's own network: an address of the internet, and whatever a proxy passes on, gets 404.
"""

import ipaddress
from collections.abc import Iterable

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch.bootstrap import Service
from registerwatch.web.messages import NOT_CACHED

PASSED_ON = ("x-forwarded-for", "forwarded", "x-real-ip")
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})
HOT_ROUTES = {"/v1/devices/": "/v1/devices/{udi:path}", "/mcp": "/mcp"}
"""Routes that are answered before the router sees them, by the beginning of their paths."""


class CountedRequests:
    """Counts requests by method, route and status. Outermost, so that nothing is missed."""

    def __init__(self, app: ASGIApp, counter: Counter) -> None:
        self._app = app
        self._counter = counter
        self._found: dict[tuple[str, str, int], Counter] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._of(_method_of(scope), _route_of(scope), message["status"]).inc()
            await send(message)

        await self._app(scope, receive, send_counted)

    def _of(self, *labels: *tuple[str, str, int]) -> Counter:
        """The counter behind some labels: looking it up in the library takes several times longer than counting."""
        found = self._found.get(labels)
        if found is None:
            found = self._found[labels] = self._counter.labels(*map(str, labels))
        return found


def request_counter() -> tuple[Counter, CollectorRegistry]:
    """A counter of this application's requests, in a registry of its own."""
    registry = CollectorRegistry()
    labels = ("method", "route", "status")
    return Counter("registerwatch_requests", "HTTP requests.", labels, registry=registry), registry


def router(service: Service, registry: CollectorRegistry) -> APIRouter:
    """The route, over one service."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/metrics")
    async def metrics(request: Request) -> Response:
        if not _is_near(request):
            raise HTTPException(404)
        found = _Found(await _families(service))
        whole = CollectorRegistry()
        whole.register(found)
        body = generate_latest(registry) + generate_latest(whole)
        return Response(body, headers={"Cache-Control": NOT_CACHED}, media_type=CONTENT_TYPE_LATEST)

    return routes


class _Found:
    """Metrics that were gathered already, for a registry to render."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def _families(service: Service) -> list[Metric]:
    now = service.clock.now()
    waiting, oldest = await service.webhooks.deliverer.waiting()
    longest_unread = await service.watches.rechecking.longest_unread()
    state = await service.copy.state()
    return [
        _by_result("registerwatch_reads", "Reads of the register.", service.refresher.results),
        _by_result("registerwatch_deliveries", "Deliveries that have ended.", service.webhooks.deliverer.results),
        GaugeMetricFamily("registerwatch_deliveries_waiting", "Deliveries that have not ended.", waiting),
        GaugeMetricFamily(
            "registerwatch_deliveries_waiting_seconds", "Since when the oldest of them is due.", _age(oldest, now)
        ),
        GaugeMetricFamily(
            "registerwatch_recheck_lag_seconds",
            "Since when the longest unread watch of an active account was not read.",
            _age(longest_unread, now),
        ),
        GaugeMetricFamily("registerwatch_copy_devices", "Stored registrations.", state.devices),
        GaugeMetricFamily("registerwatch_index_lag", "Changes that cannot be found yet.", await service.follower.lag()),
    ]


def _by_result(name: str, about: str, results: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=("result",))
    for result, number in results.items():
        family.add_metric((result,), number)
    return family


def _age(since: int | None, now: float) -> float:
    return 0.0 if since is None else max(0.0, now - since)


def _route_of(scope: Scope) -> str:
    route = scope.get("route")
    if route is not None:
        return str(route.path)
    return next((name for start, name in HOT_ROUTES.items() if scope["path"].startswith(start)), "other")


def _method_of(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def _is_near(request: Request) -> bool:
    """Whether it comes from the operator's own network, and not through a proxy."""
    if any(name in request.headers for name in PASSED_ON) or request.client is None:
        return False
    try:
        return not ipaddress.ip_address(request.client.host).is_global
    except ValueError:
        return False
