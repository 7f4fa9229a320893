"""How a generated world arranges its registrations, so that each can be found by arithmetic.

A position belongs to a manufacturer (the manufacturers' ranges lie one after another, the largest first) and
to a moment: the ranks in time are a permutation of the positions in blocks of 16, since manufacturers
register in batches.
"""

import random
from array import array
from bisect import bisect_right
from collections.abc import Callable
from math import gcd

from registerwatch_standins.register.generation.keys import Scatter

_BLOCK = 16
_DEVICES_PER_MANUFACTURER = 65
_TWIN_EVERY = 50


class Layout:
    """Manufacturers' sizes, and the ranks in time, of a world with this many registrations."""

    def __init__(self, devices: int, seed: int) -> None:
        if not 1 <= devices <= 12_000_000:
            raise ValueError(f"a generated world has 1 to 12,000,000 registrations, not {devices}")
        self.devices = devices
        sizes = _sizes(devices, seed)
        self.manufacturers = len(sizes)
        self.starts = array("I", [0])
        for size in sizes:
            self.starts.append(self.starts[-1] + size)
        self._blocks = devices // _BLOCK
        self._scatter = _scatter(max(1, self._blocks), seed)

    def manufacturer_of(self, position: int) -> int:
        """The index of the manufacturer whose range holds this position."""
        return bisect_right(self.starts, position) - 1

    def positions_of(self, manufacturer: int) -> range:
        """The positions of a manufacturer."""
        return range(self.starts[manufacturer], self.starts[manufacturer + 1])

    def position(self, rank: int) -> int:
        """The position that was registered as the `rank`-th."""
        return self._moved(rank, self._scatter.there)

    def rank(self, position: int) -> int:
        """When a position was registered, counted from the first."""
        return self._moved(position, self._scatter.back)

    def _moved(self, place: int, move: Callable[[int], int]) -> int:
        """A place in its block after the block has moved; the last block, which is not full, stays."""
        block, offset = divmod(place, _BLOCK)
        return place if block >= self._blocks else move(block) * _BLOCK + offset

    def is_twin(self, manufacturer: int, ordinal: int) -> bool:
        """Whether a manufacturer's `ordinal`-th registration has the UDI-DI of the one before it.

        One in fifty does.
        """
        return ordinal > 0 and (ordinal + 7 * manufacturer) % _TWIN_EVERY == _TWIN_EVERY - 1


def _sizes(devices: int, seed: int) -> list[int]:
    """How many registrations each manufacturer has, descending.

    A long tail of small ones, as in the real register.
    """
    draws = random.Random(seed)
    count = max(devices // _DEVICES_PER_MANUFACTURER, min(8, (devices + 2) // 3))
    weights = sorted((draws.lognormvariate(0, 1.9) for _ in range(count)), reverse=True)
    scale = (devices - count) / sum(weights)
    sizes = [1 + int(weight * scale) for weight in weights]
    for index in range(devices - sum(sizes)):
        sizes[index % count] += 1
    return sizes


def _scatter(blocks: int, seed: int) -> Scatter:
    """The order of the blocks in time, by a step without common divisor with their number."""
    step = max(1, int(blocks * 0.6180339887))
    while gcd(step, blocks) != 1:
        step += 1
    return Scatter(blocks, step, seed % blocks)
