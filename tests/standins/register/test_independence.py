"""The stand-in is the counterpart of the client: it shares no code with what it tests."""

import ast
from pathlib import Path

import registerwatch_standins


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            modules.add(node.module or "")
    return modules


def test_the_stand_in_imports_nothing_of_the_product() -> None:
    files = sorted((Path(registerwatch_standins.__path__[0]) / "register").rglob("*.py"))
    own = {module for file in files for module in imported_modules(file) if module.startswith("registerwatch")}
    assert len(files) > 20
    assert {module for module in own if not module.startswith("registerwatch_standins.register")} == set()
