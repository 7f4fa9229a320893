"""One version number, 1.0.0, wherever a version is told."""

import tomllib
from pathlib import Path

import pytest

import registerwatch
from tests.support.harness import ServiceHarness

ROOT = Path(__file__).parents[1]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_package_the_description_the_health_and_the_tools_tell_one_version(harness: ServiceHarness) -> None:
    health, described = [(await harness.client.get(path)).json() for path in ("/health", "/openapi.json")]
    tools = (await harness.client.post("/mcp", json=INITIALIZE)).json()["result"]["serverInfo"]
    packages = [
        tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]["version"]
        for path in ("pyproject.toml", "standins/pyproject.toml")
    ]

    told = [registerwatch.__version__, *packages, health["version"], described["info"]["version"], tools["version"]]
    assert set(told) == {"1.0.0"}
