"""What a recipe is: a task of CONTRIBUTING as edits of a copy of the tree, and the tests that then pass there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT, STAND_INS = "src/registerwatch/", "standins/src/"
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "data", "*.pyc.*")
"""What a copy does not have: the history, the virtual environment, what tools keep, what Python just compiles."""
MAX_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that is once in a file, and what stands there afterwards. Files of the product are named below it."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Edit the file of a copy."""
        file = root / tree_path(self.path)
        text = file.read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.path} has {self.old!r} {text.count(self.old)} times"
        file.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One task. `task` is what CONTRIBUTING calls it, `folder` has `check.py` and new files.

    `files` are new files of the tree, by their paths, and the names that they have in `folder`. `tests` run in the copy
    beside `check.py`.
    """

    task: str
    folder: Path
    edits: Sequence[Edit]
    files: Mapping[str, str] = field(default_factory=dict)
    tests: Sequence[str] = ()

    @property
    def paths(self) -> set[str]:
        """The files that it touches, as CONTRIBUTING names them."""
        return {*(each.path for each in self.edits), *self.files}

    @property
    def product_paths(self) -> set[str]:
        """Those of them that belong to the product, migrations and tables left out."""
        product = {each for each in self.paths if tree_path(each).startswith(PRODUCT)}
        return {each for each in product if "/migrations/" not in each and not each.endswith("tables.py")}

    def apply(self, root: Path) -> None:
        """Do the task in a copy of the tree."""
        for path, name in self.files.items():
            shutil.copyfile(self.folder / name, root / tree_path(path))
        for edit in self.edits:
            edit.apply(root)

    @property
    def check(self) -> str:
        """The tests of the task itself."""
        return str((self.folder / "check.py").relative_to(ROOT))


def copy_of_tree(folder: Path) -> Path:
    """A copy of the tree in a folder."""
    return Path(shutil.copytree(ROOT, folder / "registerwatch", ignore=LEFT_OUT))


def pytest_arguments(*names: str) -> Sequence[str]:
    """Arguments of Python that run tests, on SQLite."""
    return "-m", "pytest", "-q", "-n", "0", "--tb=short", "-k", "not postgresql", *names


def run_python(root: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run Python with the product and the stand-ins of a tree."""
    paths = os.pathsep.join(str(root / each) for each in ("src", STAND_INS))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )


def tree_path(path: str) -> str:
    """The path in the tree: what is no folder there and no file at its top is of the product."""
    top = path.partition("/")[0]
    return path if (ROOT / top).exists() else PRODUCT + path


def inserted(path: str, after: str, lines: str) -> Edit:
    """Lines behind a text that is once in a file."""
    return Edit(path, after, after + lines)
