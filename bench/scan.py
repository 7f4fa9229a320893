"""`python -m bench.scan`: which symbols are read in photos, by size, turn and noise; the time and memory of one photo.

Writes the tables of docs/scanning.md. What a photo shows is made up, and noise is new in every photo: cells next
to each other tell more than one cell alone.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from bench.labels import PRIMARY, PRODUCTION, WHOLE, Shot, SymbolName, photo_of, saved
from bench.processes import spent_by
from registerwatch.files.scan import photo_process
from registerwatch.files.scan.photo_symbols import symbols_in_photo
from registerwatch.platform.bounded_process import ProcessEnd, run_process

PAGE = Path(__file__).parents[1] / "docs" / "scanning.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of measured -->\n"
MODULES, TURNS, NOISES = (1.5, 2, 3, 4, 6), (0, 7, 20, 45, 90, 180), (0, 20, 40, 60)
CONTENTS: dict[SymbolName, str] = {"DataMatrix": WHOLE, "Code128": PRIMARY + PRODUCTION, "QRCode": WHOLE}
NAMES: dict[SymbolName, str] = {"DataMatrix": "GS1 DataMatrix", "Code128": "GS1-128", "QRCode": "GS1 QR code"}
SIZE = (1600, 1200)
TRIES = 2


_READ_ONE = f"import sys; from {photo_process.__name__} import _prepared; _prepared()(sys.stdin.buffer.read())"
"""A process that reads one photo, without bounds, so that its memory can be asked for."""


class Use(NamedTuple):
    """What reading one photo took."""

    seconds: float
    memory_mib: float


def main() -> None:
    """Measure, write the page."""
    measured = "".join(f"{line}\n" for line in ["", *_rates(), "", *_costs(), ""])
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + measured + END + rest.partition(END)[2], encoding="utf-8")
    print(measured)


def _rates() -> list[str]:
    lines = [
        f"| symbol | pixels of a module | {' | '.join(f'noise {noise}' for noise in NOISES)} |",
        f"|---|---|{'---|' * len(NOISES)}",
    ]
    for name in CONTENTS:
        for module in MODULES:
            cells = [_rate(name, [Shot(module, turn, noise, size=SIZE) for turn in TURNS]) for noise in NOISES]
            lines.append(f"| {NAMES[name]} | {module:g} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr)
    return lines


def _rate(name: SymbolName, shots: Sequence[Shot]) -> str:
    tried = [_is_read(name, shot) for shot in shots for _ in range(TRIES)]
    return f"{100 * sum(tried) / len(tried):.0f} %"


def _is_read(name: SymbolName, shot: Shot) -> bool:
    return bool(symbols_in_photo(photo_of(name, CONTENTS[name], shot, quality=85)))


def _costs() -> list[str]:
    lines = ["| one photo, in a process of its own | seconds | MiB |", "|---|---|---|"]
    for name, content in _photos().items():
        uses = sorted(_used(content) for _ in range(3))
        lines.append(f"| {name} | {uses[1].seconds:.2f} | {uses[1].memory_mib:.0f} |")
    return lines


def _photos() -> dict[str, bytes]:
    noise = Image.effect_noise((4000, 3000), 60)
    return {
        "label in 2 megapixels": photo_of("DataMatrix", WHOLE, Shot(turn=7, noise=20, size=SIZE)),
        "label in 12 megapixels": photo_of("DataMatrix", WHOLE, Shot(6, 7, 20, size=(4000, 3000))),
        "label in 48 megapixels": photo_of("DataMatrix", WHOLE, Shot(12, 7, 10, size=(8000, 6000)), quality=60),
        "12 megapixels of noise, no symbol": saved(noise, quality=60),
        "PNG of 25 megapixels with transparency, empty": saved(Image.new("RGBA", (5000, 5000)), "PNG"),
        "WebP of 25 megapixels, empty": saved(Image.new("RGB", (5000, 5000)), "WEBP"),
    }


def _used(content: bytes) -> Use:
    begun = time.perf_counter()
    run_process(photo_process.__name__, content, photo_process.BOUNDS, ProcessEnd())
    seconds = time.perf_counter() - begun
    spent = spent_by([sys.executable, "-I", "-c", _READ_ONE], content, environment={})
    return Use(seconds, spent.megabytes * 1e6 / 2**20)


if __name__ == "__main__":
    main()
