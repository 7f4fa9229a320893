"""The stand-in is the counterpart of the adapter: it shares no code with what it tests."""

from pathlib import Path

import registerwatch_standins
from tests.standins.register.test_independence import imported_modules

OF_ALL_STAND_INS = {"registerwatch_standins.register.transport"}


def test_the_stand_in_imports_neither_the_product_nor_the_sdk() -> None:
    files = sorted((Path(registerwatch_standins.__path__[0]) / "payment").rglob("*.py"))
    modules = {module for file in files for module in imported_modules(file)}
    own = {module for module in modules if module.startswith("registerwatch")}
    assert len(files) > 10
    assert {each for each in own if not each.startswith("registerwatch_standins.payment")} <= OF_ALL_STAND_INS
    assert "stripe" not in {module.partition(".")[0] for module in modules}
