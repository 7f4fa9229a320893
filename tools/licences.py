"""Writes the table of `docs/licences.md`: the licence of every package in `requirements.lock`, as its metadata says.

`python tools/licences.py` after `make lock`; a test fails where the page is behind.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK, PAGE = ROOT / "requirements.lock", ROOT / "docs" / "licences.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"

BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""SPDX identifiers of what packages say by classifiers alone."""

KNOWN = {*BY_CLASSIFIER.values(), "BSD-2-Clause", "LGPL-3.0-only", "MIT-0", "MIT-CMU", "PSF-2.0"}
"""SPDX identifiers that packages say as such. Another one is to be looked at before it is added here."""

ELSEWHERE = {
    "async-timeout": ("Apache-2.0", "Python before 3.11.3"),
    "colorama": ("BSD-3-Clause", "Windows"),
    "httpx2-jsfetch": ("BSD-3-Clause", "Emscripten"),
}
"""Packages that are not installed here, by what their wheels say, and where they are."""

BUILD_ONLY = ("editables", "hatchling", "pathspec", "pluggy", "trove-classifiers")
"""What the lock has for building the package; the image leaves it out."""


def locked(lock: str) -> list[str]:
    """Names in a lock, each once."""
    return sorted(set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE)))


def licence_of(package: str) -> str | None:
    """The SPDX expression of an installed package, None where it is not installed. Raises `LookupError`."""
    try:
        told = metadata(package)
    except PackageNotFoundError:
        return None
    stated = told.get("License-Expression") or told.get("License", "")
    if all(each in KNOWN for each in re.split(" (?:AND|OR) ", stated)):
        return stated
    classifiers = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or [] if "License" in each]
    known = sorted({BY_CLASSIFIER[each] for each in classifiers if each in BY_CLASSIFIER})
    if not known:
        raise LookupError(f"{package} does not say its licence in a way that is known; look it up")
    return " OR ".join(known)


def licences(lock: str) -> Mapping[str, tuple[str, str]]:
    """Licence and remark of every package in a lock. Raises `LookupError` for one that is not known."""
    return {package: _row(package) for package in locked(lock)}


def table(lock: str) -> str:
    """The table of the page."""
    return "".join(_lines(licences(lock)))


def page_with(page: str, lock: str) -> str:
    """A page with its table written anew."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table(lock) + END + rest.partition(END)[2]


def _row(package: str) -> tuple[str, str]:
    if package in ELSEWHERE:
        licence, where = ELSEWHERE[package]
        return licence, f"{where} only"
    licence = licence_of(package)
    if licence is None:
        raise LookupError(f"{package} is in the lock and not installed; say in ELSEWHERE what its wheel says")
    return licence, "for building" if package in BUILD_ONLY else ""


def _lines(rows: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield "\n| package | licence | |\n|---|---|---|\n"
    for package, (licence, remark) in rows.items():
        yield f"| {package} | {licence} | {remark} |\n"
    yield "\n"


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), LOCK.read_text(encoding="utf-8")), encoding="utf-8")
