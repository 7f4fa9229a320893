"""The page about the tool endpoint: its examples run, its tables are true."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from registerwatch.mcp import protocol
from registerwatch.mcp import tools as registered
from registerwatch.mcp.endpoint import UNKNOWN_TOOL
from registerwatch.mcp.tools.register import DEFAULT_RESULTS, MAX_RESULTS
from registerwatch.mcp.tools.registry import NEEDS_KEY
from registerwatch.mcp.tools.watches import MAX_CHANGES
from registerwatch.web.limits.rate_limits import Limit
from tests.mcp.messages import TOOLS
from tests.support import node
from tests.support.long_forms import some_by_day
from tests.support.servers import served_harness

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
ADDRESS = "http://localhost:8000"


@dataclass(frozen=True, slots=True)
class Served:
    """A service to run examples against."""

    url: str
    udi: str
    key: str


@pytest.fixture(scope="module")
def served(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    shutil.copyfile(sqlite_template, folder / "registerwatch.db")
    with served_harness(f"sqlite:///{folder / 'registerwatch.db'}", folder) as (url, harness):
        trial = {"name": "Acme", "email": "owner@acme.example", "password": "correct horse"}
        opened = httpx2.post(f"{url}/v1/trial", json=trial).json()
        yield Served(url, harness.world.newest(0, 1)[0].primary_di, opened["api_key"])


def _examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def _ran(command: list[str], served: Served, folder: Path, *, key: bool) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **({"API_KEY": served.key} if key else {})}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _judge(printed: str, *, key: bool, false: str, true: str) -> None:
    """Look at what both examples print: the tools, a search, watches or why there are none."""
    tools, search, watches = printed.splitlines()
    assert tools.split() == list(TOOLS)
    assert re.fullmatch(rf"{false} \d+", search)
    assert watches.startswith(false if key else true)
    assert ("API key required." in watches) is not key


@pytest.mark.parametrize("key", some_by_day((False, True), (True,)), ids=["without a key", "with a key"])
def test_the_example_in_python_runs(served: Served, tmp_path: Path, key: bool) -> None:
    (example,) = _examples("python")

    printed = _ran([sys.executable, "-c", example.replace(ADDRESS, served.url)], served, tmp_path, key=key)

    _judge(printed, key=key, false="False", true="True")


@pytest.mark.parametrize("key", some_by_day((False, True), (True,)), ids=["without a key", "with a key"])
def test_the_example_in_javascript_runs(served: Served, tmp_path: Path, key: bool) -> None:
    (example,) = _examples("javascript")
    (tmp_path / "node_modules").symlink_to(node.installed() / "node_modules")
    (tmp_path / "example.mjs").write_text(example.replace(ADDRESS, served.url), encoding="utf-8")

    printed = _ran([node.program("node"), "example.mjs"], served, tmp_path, key=key)

    _judge(printed, key=key, false="false", true="true")


def _commands(program: str) -> list[str]:
    return [line for each in _examples("console") for line in each.splitlines() if line.startswith(program)]


def test_the_examples_with_curl_run(served: Served, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    lines = [line.replace(ADDRESS, served.url).replace("curl ", "curl -sS ", 1) for line in _commands("curl")]

    answers = [json.loads(_ran(["sh", "-c", line], served, tmp_path, key=True)) for line in lines]

    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert [answer["result"].get("isError") for answer in answers] == [None, False, False]


def test_the_examples_with_the_inspector_run(served: Served, tmp_path: Path) -> None:
    program = node.installed() / "node_modules" / ".bin" / "mcp-inspector"
    listing, using = (shlex.split(line.replace(ADDRESS, served.url))[2:] for line in _commands("npx"))
    using = [word.replace("04012345678901", served.udi) for word in using]

    listed, used = (json.loads(node.run(tmp_path, program, *each, home=tmp_path)) for each in (listing, using))

    assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
    assert json.loads(used["content"][0]["text"])["udi"] == served.udi


def test_settings_of_programs_are_json_and_name_the_endpoint() -> None:
    found = [json.loads(each) for each in _examples("json")]

    assert [each.keys() & {"servers", "mcpServers"} for each in found] == [{"mcpServers"}, {"servers"}, {"mcpServers"}]
    assert all(f"{ADDRESS}/mcp" in each for each in _examples("json"))


def test_the_page_names_every_tool_its_arguments_and_every_code() -> None:
    for each in (tool.description for tool in registered.TOOLS):
        (row,) = re.findall(rf"^\| `{each.name}` \|(.*)$", PAGE, flags=re.MULTILINE)
        assert all(f"`{name}`" in row for name in each.input_schema["properties"])
    for code in (protocol.PARSE_ERROR, protocol.INVALID_REQUEST, protocol.METHOD_NOT_FOUND, protocol.INVALID_PARAMS):
        assert f"| {code} |" in PAGE
    for message in (NEEDS_KEY, UNKNOWN_TOOL):
        assert f'`{{"error": "{message}"}}`' in PAGE


def test_the_page_tells_the_limits_that_there_are() -> None:
    text = " ".join(PAGE.split())
    assert f"{Limit.TOOLS.value.amount} calls per client address and minute" in text
    assert f"{Limit.REGISTER_READ.value.amount} reads of devices and actors" in text
    assert f"{Limit.WATCH_READ.value.amount} watches added and {Limit.SYNC.value.amount} syncs a minute" in text
    assert f"{DEFAULT_RESULTS} unless given, {MAX_RESULTS} at most" in text
    assert f"the newest {MAX_CHANGES}" in text
    assert f"at most {protocol.MAX_MESSAGES} messages" in text
    assert f"protocol version `{protocol.PROTOCOL_VERSION}`" in text
