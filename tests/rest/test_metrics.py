"""`/metrics`: what it tells, and to whom."""

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from registerwatch_standins.register.generated import GeneratedWorld
from tests.support.harness import ServiceHarness, ServiceStarter


async def _metrics(harness: ServiceHarness) -> dict[str, float]:
    answer = await harness.get("/metrics")
    assert answer.status_code == 200
    return {
        f"{sample.name}{sorted(sample.labels.items())}" if sample.labels else sample.name: sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_metrics_count_requests_by_route_and_tell_reads_queues_and_lag(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        key = (await harness.sign_up()).api_key
        udi = harness.world.newest(0, 1)[0].primary_di
        await harness.post("/v1/watches", key, subject=udi)
        await harness.get(f"/v1/devices/{udi}")
        await harness.get("/v1/devices/nothing-like-it")
        await harness.get("/no/such/page")
        await harness.post("/v1/login", email="nobody@acme.example", password="a guess")
        await harness.client.request("BREW", "/v1/me")
        harness.clock.move(1_000)
        told = await _metrics(harness)

    def requests(method: str, route: str, status: int) -> float:
        return told[f"registerwatch_requests_total{[('method', method), ('route', route), ('status', str(status))]}"]

    assert requests("POST", "/v1/watches", 200) == 1
    assert requests("GET", "/v1/devices/{udi:path}", 200) == 1
    assert requests("GET", "/v1/devices/{udi:path}", 404) == 1
    assert requests("GET", "other", 404) == 1
    assert not any("BREW" in name for name in told)
    assert told["registerwatch_reads_total[('result', 'found')]"] >= 1
    assert told["registerwatch_register_requests_total[('host', 'register'), ('kind', 'watch')]"] >= 3
    assert told["registerwatch_register_requests_total[('host', 'register'), ('kind', 'reader')]"] >= 1
    assert told["registerwatch_register_requests_total[('host', 'register'), ('kind', 'recheck')]"] == 0
    assert told["registerwatch_deliveries_waiting"] == 0
    assert told["registerwatch_sign_ins_failed_total"] == 1
    assert 900 <= told["registerwatch_recheck_lag_seconds"] <= 1_100
    assert told["registerwatch_copy_devices"] >= 1


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("10.1.2.3", {}, 200),
        ("8.8.8.8", {}, 404),
        ("2001:4860:4860::8888", {}, 404),
        ("127.0.0.1", {"X-Forwarded-For": "8.8.8.8"}, 404),
        ("127.0.0.1", {"Forwarded": "for=8.8.8.8"}, 404),
        ("testclient", {}, 404),
    ],
)
async def test_metrics_are_for_the_operators_own_network(
    start_service: ServiceStarter, address: str, headers: dict[str, str], status: int
) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        transport = httpx2.ASGITransport(app=harness.app, client=(address, 4711))
        async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as client:
            assert (await client.get("/metrics", headers=headers)).status_code == status
