"""Clients that generators make from `/openapi.json` use the interface: one for Python, one for TypeScript."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import node
from tests.support.harness import ServiceHarness
from tests.support.servers import served_harness

PINS = node.TESTS / "clients" / "python"
LOCK = PINS / "requirements.lock"
SECONDS = 300

Served = tuple[str, ServiceHarness]


@pytest.fixture(scope="module")
def served(sqlite_template: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A filled service on loopback; one for the whole module."""
    folder = tmp_path_factory.mktemp("generated")
    with served_harness(f"sqlite:///{folder / 'copy.db'}", folder) as running:
        yield running


def judge(told: dict[str, Any], udi: str, email: str) -> None:
    """Look whether what a client was told is what the service has."""
    assert told["results"] == told["watched"] == [udi]
    assert (told["device"], told["email"], told["events"]) == (udi, email, [])
    assert told["missing"]
    assert told["read"].startswith("20")
    assert told["same"], "the same Idempotency-Key"
    assert told["since"] > 2000, "an instant, not a text"


@pytest.mark.nightly
def test_a_client_for_python_is_generated_without_a_gap_and_works(served: Served, tmp_path: Path) -> None:
    address, harness = served
    programs = _generator()
    described = tmp_path / "openapi.json"
    described.write_bytes(httpx2.get(f"{address}/openapi.json").content)
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    command = ("generate", "--path", described, "--meta", "none", "--output-path", tmp_path / "client")
    _, warnings = _run([programs / "openapi-python-client", *command], tmp_path, env=path)
    gaps = [line for line in warnings.splitlines() if line.startswith("WARNING")]
    unknown = {
        "POST /v1/import within watches.",
        "POST /v1/lists within lists.",
        "GET /v1/lists/{id}/lines.xlsx within lists.",
        "GET /v1/events.atom within feeds.",
        "GET /v1/certificates/{id}/documents/{uuid} within register.",
    }
    assert set(gaps) == {f"WARNING parsing {each}" for each in unknown}, (
        "it knows no XML, no workbooks, no PDF, and no text as a body"
    )
    api = tmp_path / "client" / "api"
    made = {path.relative_to(api).as_posix() for path in api.rglob("*.py")}
    assert {"watches/import_list.py", "lists/send_list.py"} <= made, "of the bodies that it knows"

    [device] = harness.unique_devices(1)
    given = {"url": address, "udi": device.primary_di, "email": "python@acme.example"}
    shutil.copyfile(PINS / "use_client.py", tmp_path / "use_client.py")
    told = json.loads(_run([programs / "python", "use_client.py"], tmp_path, env=path, given=json.dumps(given))[0])

    judge(told, device.primary_di, "python@acme.example")


@pytest.mark.nightly
def test_a_client_for_typescript_is_generated_type_checks_and_works(served: Served, tmp_path: Path) -> None:
    address, harness = served
    packages = node.installed(node.GENERATORS)
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    for name in ("package.json", "client.ts"):
        shutil.copyfile(node.GENERATORS / name, tmp_path / name)
    (tmp_path / "openapi.json").write_bytes(httpx2.get(f"{address}/openapi.json").content)
    programs = tmp_path / "node_modules"
    generator = programs / "openapi-typescript" / "bin" / "cli.js"
    node.run(tmp_path, generator, "openapi.json", "-o", "api.d.ts", home=tmp_path)
    options = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "client.ts")
    node.run(tmp_path, programs / "typescript" / "bin" / "tsc", *options, home=tmp_path)

    [device] = harness.unique_devices(1)
    email = "typescript@acme.example"
    told = json.loads(node.run(tmp_path, "client.js", address, device.primary_di, email, home=tmp_path))

    judge(told, device.primary_di, email)


def _generator() -> Path:
    """The folder of the generator's programs. It needs other versions than the service, so it has its own packages."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "registerwatch-tests"
    kept = cache / f"python-{digest}"
    if not (kept / "ready").exists():
        cache.mkdir(parents=True, exist_ok=True)
        uv = Path(sys.executable).with_name("uv")
        _run([uv, "venv", "--clear", "--python", sys.executable, kept], cache)
        _run([uv, "pip", "install", "--python", kept / "bin" / "python", "--require-hashes", "-r", LOCK], cache)
        (kept / "ready").touch()
    return kept / "bin"


def _run(
    command: Sequence[object], folder: Path, *, given: str = "", env: dict[str, str] | None = None
) -> tuple[str, str]:
    """What a program writes to its standard output and error."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **(env or {}), "NO_COLOR": "1"},
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0 and any(text in done.stderr for text in ("Failed to fetch", "error sending request")):
        pytest.skip("the package index is out of reach")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr
