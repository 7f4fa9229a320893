"""The new setting is listed with its value, and refused out of its bounds."""

import pytest

from tests.support.harness import ServiceHarness
from tests.support.terminal import Terminal

NAME = "REGISTERWATCH_REGISTER_CONNECTIONS"


def test_the_setting_is_listed_and_bounded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(NAME, "7")
    terminal = Terminal(monkeypatch, capsys)
    assert f"{NAME} = 7" in terminal.types("settings").out
    monkeypatch.setenv(NAME, "0")
    refused = terminal.types("settings")

    assert refused.code == 1
    assert NAME in refused.err


@pytest.mark.anyio
async def test_the_service_is_built_with_it(harness: ServiceHarness) -> None:
    assert getattr(harness.service.settings, "register_connections") == 20  # noqa: B009  # of the copy alone
