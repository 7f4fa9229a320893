"""Names are resolved whatever other names' servers do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from registerwatch.platform.net import resolver as resolver_module
from registerwatch.platform.net.resolver import DnsResolver
from tests.support.name_server import HANGS, NameServer, name_server

HOST, PUBLIC = "hooks.example.org", "93.184.216.34"


@asynccontextmanager
async def resolver_over(names: dict[str, str]) -> AsyncIterator[tuple[DnsResolver, NameServer]]:
    async with name_server(names) as server:
        resolver = DnsResolver([server.address])
        try:
            yield resolver, server
        finally:
            await resolver.aclose()


async def test_the_system_knows_this_machine() -> None:
    resolver = DnsResolver()
    assert "127.0.0.1" in await resolver.addresses("localhost", 80)
    await resolver.aclose()


async def test_names_of_the_hosts_file_are_resolved_without_a_question() -> None:
    async with resolver_over({}) as (resolver, server):
        assert "127.0.0.1" in await resolver.addresses("localhost", 80)
        assert server.asked == []


async def test_a_name_is_resolved_by_the_name_server() -> None:
    async with resolver_over({HOST: PUBLIC}) as (resolver, _):
        assert await resolver.addresses(HOST, 443) == [PUBLIC]
        assert await resolver.addresses(f"{HOST}.", 443) == [PUBLIC]


@pytest.mark.parametrize("host", [f"{'a' * 64}.example.org", "a..example.org"])
async def test_a_name_that_cannot_be_is_not_found(host: str) -> None:
    async with resolver_over({}) as (resolver, _):
        with pytest.raises(OSError, match="not valid"):
            await resolver.addresses(host, 443)


async def test_a_name_that_there_is_not_is_not_found() -> None:
    async with resolver_over({}) as (resolver, _):
        with pytest.raises(OSError, match="not found"):
            await resolver.addresses(HOST, 443)


async def test_names_that_never_resolve_hold_up_no_other() -> None:
    async with resolver_over({f"{number}.good.example": PUBLIC for number in range(20)}) as (resolver, _):
        stuck = [asyncio.create_task(resolver.addresses(f"{HANGS}{number}.example", 443)) for number in range(100)]
        await asyncio.sleep(0)
        async with asyncio.timeout(1):
            for number in range(20):
                assert await resolver.addresses(f"{number}.good.example", 443) == [PUBLIC]
        assert not any(task.done() for task in stuck)
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)


async def test_a_name_that_never_resolves_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_module, "LOOKUP_SECONDS", 0.1)
    async with resolver_over({}) as (resolver, _):
        with pytest.raises(OSError, match="do not answer"):
            async with asyncio.timeout(2):
                await resolver.addresses(f"{HANGS}.example", 443)
