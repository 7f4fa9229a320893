"""One run: parts over sizes, each kept as soon as it is measured, so that a failure or an end loses only itself."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from bench import year
from bench.figures import Measured, Section
from bench.inputs import Inputs
from bench.log import say
from bench.settings import Settings

PARTS = ("reads", "search", "databases", "fill", "start", "accounts", "watching", "tools")
LONG = ("year",)
"""Parts that run only when they are named, or in the full report."""
GROWING = frozenset({"reads", "search", "databases", "fill", "start", "tools"})
"""Parts whose figures depend on how many devices there are; of several sizes the others take one."""
USUAL_SIZE = 320_000


class Part(Protocol):
    """A module that measures something."""

    PART: str

    def measure(self, inputs: Inputs, settings: Settings) -> Section:
        """Measure it."""


IN_TURN: Sequence[Part] = (year,)
"""In the order that their inputs need: those from `databases` on bring devices of the copy up to date."""


class Kept(msgspec.Struct, frozen=True):
    """A measured part in the working folder, and the settings with which it was measured."""

    settings: list[float]
    section: Section


@dataclass(frozen=True, slots=True)
class Run:
    """What is measured, and how."""

    folder: Path
    sizes: Sequence[int]
    parts: Sequence[str]
    seed: int
    settings: Callable[[], Settings]
    resume: bool = False
    """Whether parts that an earlier run measured with the same settings are taken over."""

    def measured(self) -> list[Measured]:
        """Everything, in the order in which it is shown."""
        taken = list(self._in_turn())
        order = [*PARTS, *LONG]
        return sorted(taken, key=lambda each: (order.index(each.section.part), each.devices))

    def _in_turn(self) -> Iterator[Measured]:
        for devices in sorted(self.sizes):
            for part in IN_TURN:
                if part.PART in self.parts and (part.PART in GROWING or devices == usual_size(self.sizes)):
                    yield Measured(devices, self._section(part, Inputs(self.folder, devices, self.seed)))

    def _section(self, part: Part, inputs: Inputs) -> Section:
        settings = self.settings()
        path, key = inputs.path(f"measured-{part.PART}.json"), _key(part, settings)
        if self.resume and path.exists():
            kept = msgspec.json.decode(path.read_bytes(), type=Kept)
            if kept.settings == key and not kept.section.failure:
                say(f"{part.PART} with {inputs.devices:,} records was measured before")
                return kept.section
        began = time.monotonic()
        section = _attempt(part, inputs, settings)
        say(f"part {part.PART} with {inputs.devices:,} records: {time.monotonic() - began:,.0f} s")
        path.write_bytes(msgspec.json.encode(Kept(key, section)))
        return section


def usual_size(sizes: Sequence[int]) -> int:
    """The size at which parts are measured that need one alone."""
    return max((size for size in sizes if size <= USUAL_SIZE), default=min(sizes))


def _attempt(part: Part, inputs: Inputs, settings: Settings) -> Section:
    """The part's section, without rows where it fails: the others still say what they found."""
    try:
        return part.measure(inputs, settings)
    except Exception as error:  # noqa: BLE001  # whatever it is, the figures of the other parts are worth having
        say(f"part {part.PART} with {inputs.devices:,} records failed: {error!r}")
        return Section(part.PART, f"Part `{part.PART}`", [], failure=f"{type(error).__name__}: {_in_a_line(error)}")


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _key(part: Part, settings: Settings) -> list[float]:
    """The settings that a part's figures depend on."""
    if part is year:
        return [settings.watches, settings.days]
    return [settings.rounds, settings.seconds, settings.requests]
