"""What is there is documented, what is documented is there, and the repository speaks of the product alone."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from registerwatch.settings import Settings, variable_name
from tests.support.command_words import command_words

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def _commands() -> list[str]:
    """Every command, by its words: `copy fill`."""
    return [" ".join(words) for words in command_words()]


def is_command(line: str) -> bool:
    """Whether a line such as `registerwatch copy fill --restart` is one of the commands."""
    return any(line.partition(" ")[2].startswith(command) for command in _commands())


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    assert f"`{variable_name(name)}`" in OPERATING


def test_no_setting_is_documented_that_is_not_there() -> None:
    known = {variable_name(name) for name in Settings.model_fields}
    named = set(re.findall(r"REGISTERWATCH_[A-Z_]*[A-Z]", OPERATING + README))
    assert {name.removesuffix("_FILE") for name in named} <= known


@pytest.mark.parametrize("command", _commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"registerwatch {command}" in OPERATING


def test_the_readme_names_commands_that_are_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for line in re.findall(r"^(make .*|registerwatch .*)$", README + OPERATING, flags=re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            assert words[1] in targets, line
        else:
            assert is_command(" ".join(words)), line


def test_continuous_integration_runs_the_readmes_commands() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in re.findall(r"^make .*$", script, flags=re.MULTILINE):
        assert command in README


def test_every_package_is_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in (ROOT / "src" / "registerwatch").glob("*/__init__.py")]
    assert [name for name in packages if f"{name}/" not in page] == []


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_lock_files_pin_with_hashes_and_name_no_package_host() -> None:
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-sbom.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "--index" not in text
        for requirement in re.findall(r"^[a-z].*$", text, flags=re.MULTILINE):
            assert "==" in requirement, requirement


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "helpers", "common", "misc", "base"}
    assert [path for path in _tracked() if path.stem in empty] == []


def test_no_real_record_and_no_path_of_a_machine_is_in_the_repository() -> None:
    forbidden = re.compile("|".join(["/" + "work/", "/" + "root/", r"pypi\." + "org", "files.python" + "hosted"]))
    for path in _tracked():
        if path.suffix in {".py", ".md", ".toml", ".html", ".css", ".js", ".lock", ".yml", ""}:
            assert not forbidden.search(path.read_text(encoding="utf-8", errors="ignore")), path
