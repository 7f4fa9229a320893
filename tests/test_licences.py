"""Every package of a production install has a known licence, and those that ask for something are explained."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "PSF-2.0",
    "Unlicense",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """`tools/licences.py`, which is no package."""
    spec = importlib.util.spec_from_file_location("licences", ROOT / "tools" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_lists_every_locked_package_with_the_licence_that_it_says(tool: ModuleType) -> None:
    assert tool.page_with(PAGE, LOCK) == PAGE, "run `python tools/licences.py`"
    listed = set(re.findall(r"^\| ([a-z0-9._-]+) \| \S", PAGE, re.MULTILINE)) - {"package"}
    assert listed == set(tool.locked(LOCK))


def test_a_licence_that_asks_for_more_than_its_text_is_explained(tool: ModuleType) -> None:
    for package, (licence, _) in tool.licences(LOCK).items():
        if not set(re.split(r" (?:OR|AND) ", licence)) <= PERMISSIVE:
            explained = rf"^- \*\*.*\b{re.escape(package)}\b.*{licence.removesuffix('-only')}"
            assert re.search(explained, PAGE, re.MULTILINE), package


def test_a_package_that_says_no_licence_is_told(tool: ModuleType) -> None:
    with pytest.raises(LookupError, match="nobody-has-it"):
        tool.table("nobody-has-it==1.0 \\\n")


def test_the_tool_that_lists_packages_is_the_same_in_the_image_and_here_and_pinned_by_hash() -> None:
    names = ("requirements-sbom.lock", "requirements-dev.lock")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    image, here = [set(re.findall(r"^(\S+==\S+)", text, re.MULTILINE)) for text in texts]
    assert image
    assert image <= here
    built = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes --only-binary :all: -r requirements-sbom.lock" in built
