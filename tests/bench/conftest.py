"""What the tests of the bench share: one run of every part at a tiny size."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.figures import Section
from bench.setup import Setup

from bench import accounts, cpu, databases, mixed, news, news_world, pages, reads, run, tools

PARTS = [name for name in run.IN_TURN if name != "year"]


@pytest.fixture(scope="session")
def setup() -> Iterator[Setup]:
    """A tiny size, in a folder that PostgreSQL's user reaches: pytest's own are closed to everybody else."""
    with tempfile.TemporaryDirectory(prefix="registerwatch-bench-") as folder:
        yield Setup(Path(folder), 300, rounds=1, seconds=0.5, requests=10, minutes=0.05)


@pytest.fixture(scope="session")
def sections(setup: Setup) -> Iterator[dict[str, Section]]:
    """What every part measures, but the year, which is a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for part in (accounts, cpu, databases, mixed, reads, tools):
            patch.setattr(part, "READ_DEVICES", 30)
        for part in (cpu, databases, mixed):
            patch.setattr(part, "READ_ACTORS", 3)
        patch.setattr(accounts, "BURST", 5)
        patch.setattr(cpu, "WORDS", 2)
        patch.setattr(news_world, "DEVICES", 100_000)
        patch.setattr(news, "READERS_A_MINUTE", 0.5)
        patch.setattr(pages, "SAMPLES", 3)
        yield {each.part: each for each in run.measured([setup], PARTS)}
