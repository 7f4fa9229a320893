"""The official clients against the service as it is served: they initialize, list and call every tool."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from mcp import Client
from registerwatch.mcp.tools.registry import NEEDS_KEY
from registerwatch_standins.register.record_file import write_records
from tests.mcp.messages import OF_ACCOUNTS, TOOLS, arguments_of_tools
from tests.support import node, processes
from tests.support.long_forms import some_by_day
from tests.support.paces import start_fast
from tests.support.processes import answers, environment, free_port, running, until

DEVICES, SEED = 400, 5
LOCK = node.PINS / "package-lock.json"


@dataclass(frozen=True, slots=True)
class Served:
    """A service in a process of its own, over a filled copy."""

    url: str
    udi: str
    srn: str
    key: str

    @property
    def mcp(self) -> str:
        """The tool endpoint."""
        return f"{self.url}/mcp"

    def calls(self) -> list[dict[str, Any]]:
        """One call of each tool, in the order in which they are listed."""
        arguments = arguments_of_tools(self.udi, self.srn)
        return [{"name": tool, "arguments": arguments.get(tool, {})} for tool in TOOLS]


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """A service over a filled copy, whose register is the stand-in; gives its address."""
    records, register_port, port = folder / "records.jsonl.gz", free_port(), free_port()
    write_records(records, DEVICES, SEED)
    register, url = f"http://127.0.0.1:{register_port}", f"http://127.0.0.1:{port}"
    settings = {"REGISTER_URL": f"{register}/eudamed", "REGISTER_REQUESTS_PER_MINUTE": "100000"}
    database_url = f"sqlite:///{folder / 'registerwatch.db'}"
    start_fast(database_url)
    env = environment(folder, database_url, **settings)
    assert processes.run("copy", "fill", "--source", records, env=env).returncode == 0
    size = ("--devices", DEVICES, "--seed", SEED)
    with (
        running("register", "serve", "--port", register_port, *size, env=env),
        running("serve", "--port", port, env=env),
    ):
        until(lambda: answers(f"{register}/_control/changes") and answers(f"{url}/health"), "the service")
        yield url


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service for all tests; it has a database of its own."""
    with _serving(tmp_path_factory.mktemp("served")) as url:
        yield url


@pytest.fixture
def served(address: str) -> Served:
    """The service with a new account."""
    found = httpx2.get(f"{address}/v1/search", params={"q": "set"}).json()["results"][0]
    trial = {"name": "Acme", "email": f"{uuid4().hex}@acme.example", "password": "correct horse"}
    opened = httpx2.post(f"{address}/v1/trial", json=trial).json()
    return Served(address, found["udi"], found["manufacturer_srn"], opened["api_key"])


@pytest.fixture
def packages() -> Path:
    """The folder of the pinned packages of npm."""
    return node.installed()


def judge(served: Served, tools: Sequence[str], payloads: Sequence[Any], errors: Sequence[bool], *, key: bool) -> None:
    """Look whether what a client was told is what the service has."""
    assert list(tools) == list(TOOLS)
    told = dict(zip(TOOLS, payloads, strict=True))
    is_error = dict(zip(TOOLS, errors, strict=True))
    assert told["search_devices"]["results"][0]["udi"] == served.udi
    assert told["get_device"] == told["lookup_udi"]
    assert told["get_device"]["udi"] == served.udi
    assert told["get_actor"]["srn"] == served.srn
    assert not any(is_error[tool] for tool in TOOLS if tool not in OF_ACCOUNTS)
    if not key:
        assert all(is_error[tool] and told[tool]["error"] == NEEDS_KEY for tool in OF_ACCOUNTS)
        return
    assert not any(is_error.values()), told
    assert told["list_watches"] == {"watches": []}
    assert told["add_watch"]["watch"]["subject"] == served.udi
    assert told["sync_watches"] == {"synced": 1, "events": [], "error": None}
    assert told["list_changes"] == {"events": []}


@pytest.mark.parametrize("mode", some_by_day(("auto", "legacy"), ("auto",)))
@pytest.mark.parametrize("key", [False, True], ids=["without a key", "with a key"])
async def test_the_official_client_for_python_uses_every_tool(
    served: Served, mode: Literal["auto", "legacy"], key: bool
) -> None:
    headers = {"X-API-Key": served.key} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(served.mcp, http_client=http), mode=mode) as client,
    ):
        assert client.protocol_version == "2024-11-05"
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("registerwatch", "1.0.0")
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [await client.call_tool(call["name"], call["arguments"]) for call in served.calls()]

    texts = [content.text for result in results for content in result.content if isinstance(content, TextContent)]
    judge(served, tools, [json.loads(text) for text in texts], [bool(each.is_error) for each in results], key=key)


@pytest.mark.parametrize("generation", some_by_day((1, 2), (2,)))
@pytest.mark.parametrize("key", [False, True], ids=["without a key", "with a key"])
def test_the_official_client_for_typescript_uses_every_tool(
    served: Served, packages: Path, tmp_path: Path, generation: int, key: bool
) -> None:
    shutil.copyfile(node.PINS / "client.mjs", tmp_path / "client.mjs")
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    headers = {"Authorization": f"Bearer {served.key}"} if key else {}
    given = {"generation": generation, "url": served.mcp, "headers": headers, "calls": served.calls()}

    told = json.loads(node.run(tmp_path, "client.mjs", given=json.dumps(given), home=tmp_path))

    assert told["server"] == {"name": "registerwatch", "version": "1.0.0"}
    assert "UDI-DI" in told["instructions"]
    payloads = [json.loads(each["content"][0]["text"]) for each in told["said"]]
    judge(served, told["tools"], payloads, [each["isError"] for each in told["said"]], key=key)


@pytest.mark.nightly
def test_the_inspector_on_the_command_line_lists_tools_and_calls_one(
    served: Served, packages: Path, tmp_path: Path
) -> None:
    inspector = [packages / "node_modules" / ".bin" / "mcp-inspector", "--cli", served.mcp, "--transport", "http"]
    with_key = ["--header", f"X-API-Key: {served.key}"]
    calling = ["--method", "tools/call", "--tool-name"]

    listed = json.loads(node.run(packages, *inspector, "--method", "tools/list", home=tmp_path))
    subject = ["add_watch", "--tool-arg", f"subject={served.udi}"]
    added = json.loads(node.run(packages, *inspector, *with_key, *calling, *subject, home=tmp_path))
    device = json.loads(
        node.run(packages, *inspector, *calling, "get_device", "--tool-arg", f'udi="{served.udi}"', home=tmp_path)
    )

    assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
    assert json.loads(added["content"][0]["text"])["watch"]["subject"] == served.udi
    assert json.loads(device["content"][0]["text"])["udi"] == served.udi


def test_the_lock_file_pins_with_hashes_and_names_no_package_host() -> None:
    text = LOCK.read_text(encoding="utf-8")
    locked = json.loads(text)["packages"]
    wanted = json.loads((node.PINS / "package.json").read_text(encoding="utf-8"))["dependencies"]

    assert "resolved" not in text
    assert not re.search("https?://", text)
    assert all(each["integrity"].startswith("sha512-") for name, each in locked.items() if name)
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
