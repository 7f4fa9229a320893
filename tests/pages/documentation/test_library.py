"""The pages of `docs/` that are shown are there, in an installed package too."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from registerwatch.pages.documentation import library
from registerwatch.pages.documentation.library import TOPICS, Topic, text_of

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
NOT_FOR_USERS = {
    "billing",
    "compatibility",
    "deploy",
    "licences",
    "mail",
    "operating",
    "performance",
    "register-checks",
    "scaling",
    "security",
}
"""What operators and developers of the service read."""


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_page_is_read_from_its_file(topic: Topic) -> None:
    assert text_of(topic) == (DOCS / f"{topic.name}.md").read_text(encoding="utf-8")


def test_every_file_is_shown_or_known_not_to_be_for_users() -> None:
    assert {path.stem for path in DOCS.glob("*.md")} == {topic.name for topic in TOPICS} | NOT_FOR_USERS


def test_a_wheel_holds_the_pages_that_are_shown_and_they_are_read_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    monkeypatch.setattr(library, "files", lambda _package: tmp_path / "installed" / "registerwatch")

    assert {path.stem for path in (tmp_path / "installed/registerwatch/docs").iterdir()} == {
        topic.name for topic in TOPICS
    }
    for topic in TOPICS:
        assert text_of(topic) == (DOCS / f"{topic.name}.md").read_text(encoding="utf-8")
