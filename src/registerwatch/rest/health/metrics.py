"""`/metrics` for Prometheus: requests by route, reads of the register, queues and how old they are.

Only for the operator's own network: internet addresses and requests through a proxy get 404.
"""

import ipaddress
from collections.abc import Iterable, Mapping

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.rest.answers.status_answers import latency_metrics, status_metrics
from registerwatch.rest.health.index_health import index_metrics
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.rest.routing.every_answer import RequestCounts
from registerwatch.sources.budget_row import Host
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.watches.models import HealthState
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import NOT_CACHED

PASSED_ON = ("x-forwarded-for", "forwarded", "x-real-ip")

router = APIRouter(include_in_schema=False, route_class=DirectRoute)


@router.get("/metrics")
async def metrics(request: Request, service: InjectedService) -> Response:
    """All metrics, with the state of the search index if this process has one."""
    if not _is_near(request):
        raise HTTPException(404)
    families = [_requests(request.app.state.request_counts), *await _families(service)]
    families += status_metrics(await service.register_status.status())
    families += latency_metrics(await service.event_latencies.of_last_hour())
    if request.app.state.has_index:
        families += await index_metrics(service.indexer)
    registry = CollectorRegistry()
    registry.register(_Found(families))
    return Response(generate_latest(registry), headers={"Cache-Control": NOT_CACHED}, media_type=CONTENT_TYPE_LATEST)


class _Found:
    """Metrics that were gathered already, for a registry to render."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def _families(service: Service) -> list[Metric]:
    now = service.clock.now()
    waiting, oldest = await service.notifications.deliveries.waiting()
    longest_unread = await service.watches.recheck.longest_unread()
    state, watches = await service.records.state(), await service.watches.recheck.count_by_health()
    return [
        _by_state("registerwatch_watches", "Watches of active accounts by health.", watches),
        _by_result("registerwatch_reads", "Reads of the register.", service.refresher.results),
        _by_kind("registerwatch_register_requests", "Requests to the register, by host and kind.", service.budgets),
        _throttled(service.budgets),
        CounterMetricFamily(
            "registerwatch_refreshes_dropped", "Background refreshes that were dropped.", service.refresher.dropped
        ),
        _by_result("registerwatch_deliveries", "Deliveries that have ended.", service.notifications.results),
        *await _mail_families(service),
        GaugeMetricFamily("registerwatch_deliveries_waiting", "Deliveries that have not ended.", waiting),
        GaugeMetricFamily(
            "registerwatch_deliveries_waiting_seconds", "Since when the oldest of them is due.", _age(oldest, now)
        ),
        GaugeMetricFamily(
            "registerwatch_recheck_lag_seconds",
            "Since when the longest unread watch of an active account was not read.",
            _age(longest_unread, now),
        ),
        CounterMetricFamily(
            "registerwatch_sign_ins_failed", "Sign-ins that failed.", service.accounts.sessions.failures.total
        ),
        GaugeMetricFamily("registerwatch_copy_devices", "Stored registrations.", state.devices),
        GaugeMetricFamily(
            "registerwatch_certificate_search_ignored",
            "1 while the register ignores the filter of its certificate search.",
            float(service.eudamed.certificate_search == "ignored"),
        ),
    ]


async def _mail_families(service: Service) -> list[Metric]:
    undeliverable = service.notifications.undeliverable
    bounces = CounterMetricFamily("registerwatch_bounces", "Reports of undeliverable mails.", labels=("kind",))
    for kind, number in undeliverable.counts.items():
        bounces.add_metric((kind,), number)
    return [
        _by_result("registerwatch_mails", "Mails about changes that have ended.", service.notifications.mails.results),
        bounces,
        GaugeMetricFamily(
            "registerwatch_addresses_undeliverable",
            "Addresses that get no mails about changes, as mails came back.",
            await undeliverable.paused(),
        ),
    ]


def _requests(counts: RequestCounts) -> CounterMetricFamily:
    family = CounterMetricFamily("registerwatch_requests", "HTTP requests.", labels=("method", "route", "status"))
    for (method, route, status), number in sorted(counts.items()):
        family.add_metric((method, route, str(status)), number)
    return family


def _by_result(name: str, about: str, results: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=("result",))
    for result, number in results.items():
        family.add_metric((result,), number)
    return family


def _by_kind(name: str, about: str, budgets: Mapping[Host, RequestBudget]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=("host", "kind"))
    for host, budget in budgets.items():
        for kind, number in budget.sent.items():
            family.add_metric((host.value, kind.value), number)
    return family


def _throttled(budgets: Mapping[Host, RequestBudget]) -> CounterMetricFamily:
    family = CounterMetricFamily(
        "registerwatch_register_throttled", "Requests that the host throttled.", labels=("host",)
    )
    for host, budget in budgets.items():
        family.add_metric((host.value,), budget.throttlings)
    return family


def _by_state(name: str, about: str, numbers: Mapping[HealthState, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=("state",))
    for state, number in numbers.items():
        family.add_metric((state,), number)
    return family


def _age(since: int | None, now: float) -> float:
    return 0.0 if since is None else max(0.0, now - since)


def _is_near(request: Request) -> bool:
    """Whether a request comes from the operator's own network, not through a proxy."""
    if any(name in request.headers for name in PASSED_ON) or request.client is None:
        return False
    try:
        return not ipaddress.ip_address(request.client.host).is_global
    except ValueError:
        return False
