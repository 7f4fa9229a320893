"""vnu, the checker of markup by the W3C and WHATWG: HTML, CSS and SVG of many files by one start of Java."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.pages.page_checks import CHECKERS
from tests.support import node

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss2m")


def markup_problems(files: Mapping[str, str | bytes], folder: Path) -> list[str]:
    """What is wrong with files of these names, whose endings say what they are (`.html`, `.css`, `.svg`)."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("Java is not installed; `make test` installs it, or install the package default-jre-headless")
    checker = node.installed(CHECKERS) / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    options = ("--format", "json", "--stdout", "--exit-zero-always", "--no-langdetect", "--also-check-css")
    done = subprocess.run(
        [java, *QUICK_START, "-jar", str(checker), *options, "--also-check-svg", *files],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [
        f"{Path(each['url']).name}: {each['message']} {each.get('extract', '')}"
        for each in json.loads(done.stdout)["messages"]
    ]
