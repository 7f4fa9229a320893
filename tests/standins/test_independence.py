"""The stand-ins are the counterparts of the clients: they share no code with what they test."""

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


def test_the_stand_ins_import_neither_the_product_nor_the_payment_sdk() -> None:
    files = sorted(Path(registerwatch_standins.__path__[0]).rglob("*.py"))
    modules = {module.partition(".")[0] for file in files for module in imported_modules(file)}
    assert len(files) > 30
    assert not modules & {"registerwatch", "stripe"}
