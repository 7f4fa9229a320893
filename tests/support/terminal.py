"""Commands in the process of the test, as somebody types them."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import structlog

from registerwatch.cli import main
from registerwatch.platform.logs import NOISY


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


class Terminal:
    """Where commands are typed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def types(self, *words: str, typed: str = "") -> Said:
        """Run `registerwatch …` to its end. `typed` is all that it can read from standard input."""
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        self._monkeypatch.setattr(sys, "argv", ["registerwatch", *words])
        with logs_as_they_are(), pytest.raises(SystemExit) as ended:
            main()
            sys.exit(0)
        printed = self._capsys.readouterr()
        return Said(int(ended.value.code or 0), printed.out, printed.err)


@contextmanager
def logs_as_they_are() -> Iterator[None]:
    """A command decides where the logs of its process go; those of the tests go on as before."""
    root, was_set_up, settings = logging.getLogger(), structlog.is_configured(), structlog.get_config()
    handlers = list(root.handlers)
    levels = {each: each.level for each in (root, *map(logging.getLogger, NOISY))}
    try:
        yield
    finally:
        if was_set_up:
            structlog.configure(**settings)
        else:
            structlog.reset_defaults()
        root.handlers[:] = handlers
        for each, level in levels.items():
            each.setLevel(level)
