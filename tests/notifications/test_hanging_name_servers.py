"""Receivers whose names never resolve fail nobody else's deliveries and tests."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from registerwatch.platform.net.resolver import DnsResolver
from tests.support.harness import ServiceHarness, ServiceStarter, auth_headers
from tests.support.name_server import HANGS, NameServer, name_server
from tests.support.receiver import Receiver

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

GOOD = "good.example"
ATTACKERS, TESTS_OF_EACH = 4, 30


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with name_server({GOOD: "127.0.0.1"}) as names:
        yield names


@pytest.fixture
async def harness(start_service: ServiceStarter, names: NameServer) -> AsyncIterator[ServiceHarness]:
    async with start_service(webhooks_allow_private=True, resolver=DnsResolver([names.address])) as harness:
        yield harness


async def test_tests_of_webhooks_that_hang_fail_no_good_one(harness: ServiceHarness, box: Receiver) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=f"http://{GOOD}:{box.port}/hook")
    hanging = []
    for number in range(ATTACKERS):
        attacker = await harness.sign_up(f"someone@bad{number}.example")
        await harness.post("/v1/webhook", attacker.api_key, url=f"http://{HANGS}{number}.example:{box.port}/")
        hanging += [
            asyncio.create_task(harness.post("/v1/webhook/test", attacker.api_key)) for _ in range(TESTS_OF_EACH)
        ]
    await asyncio.sleep(0.05)

    for _ in range(5):
        async with asyncio.timeout(2):
            answer = await harness.client.post("/v1/webhook/test", json={}, headers=auth_headers(owner.api_key))
        assert answer.json()["ok"] is True
    assert not any(each.done() for each in hanging)
    for each in hanging:
        each.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
