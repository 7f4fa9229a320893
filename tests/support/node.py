"""Programs from the npm registry, installed once for a lock file, outside the repository."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PINS = TESTS / "mcp" / "node"
GENERATORS = TESTS / "clients" / "node"
RECEIVER = TESTS / "notifications" / "node"
"""Folders with `package.json`, its lock file and what is run beside them."""

OLDEST = 20
"""The oldest version of Node.js that the pinned packages run on."""

INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
INSTALL_SECONDS = 300
OUT_OF_REACH = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED")


def program(name: str) -> str:
    """The path of `node` or `npm`; the test is skipped where there is none, or where Node is too old."""
    found, engine = shutil.which(name), shutil.which("node")
    if found is None or engine is None:
        pytest.skip(f"{name} is not installed")
    if _version(engine) < OLDEST:
        pytest.skip(f"Node.js {OLDEST} or later is not installed")
    return found


@cache
def _version(engine: str) -> int:
    told = subprocess.run([engine, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return int(told.removeprefix("v").partition(".")[0])


def installed(pins: Path = PINS) -> Path:
    """A folder with packages that are pinned. It is kept for other runs, under the user's cache, by what is pinned."""
    npm = program("npm")
    digest = hashlib.sha256(b"".join((pins / name).read_bytes() for name in ("package.json", "package-lock.json")))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "registerwatch-tests"
    kept = cache / f"node-{digest.hexdigest()[:16]}"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            _install(npm, pins, Path(fresh) / "packages")
            _move(Path(fresh) / "packages", kept)
    return kept


def _install(npm: str, pins: Path, folder: Path) -> None:
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(pins / name, folder / name)
    done = subprocess.run(
        [npm, *INSTALL], cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    if done.returncode != 0 and any(code in done.stderr for code in OUT_OF_REACH):
        pytest.skip("the npm registry is out of reach")
    assert done.returncode == 0, done.stderr


def _move(fresh: Path, kept: Path) -> None:
    """Put a whole installation in its place, unless another run was faster."""
    try:
        fresh.rename(kept)
    except OSError:
        if not kept.exists():
            raise


def run(folder: Path, *command: object, given: str = "", home: Path, env: dict[str, str] | None = None) -> str:
    """What a program of Node prints; it keeps its own things in `home`."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1", **(env or {})}
    done = subprocess.run(
        [program("node"), *map(str, command)],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
