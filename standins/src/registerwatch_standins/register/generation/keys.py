"""Random-looking draws and uuids that are a function of a number.

And from which the number can be had back.
"""

from hashlib import blake2b

_VARIANT = "89ab"


class Keys:
    """The draws and keys of one kind of thing (`device`, `actor`, …) in the world of one seed."""

    def __init__(self, kind: str, seed: int) -> None:
        self._prefix = blake2b(f"{kind}/{seed}".encode(), digest_size=16).digest()
        constants = self.draws(1 << 40)
        self._scatter = Scatter(1 << 32, int.from_bytes(constants[:4]) | 1, int.from_bytes(constants[4:8]))

    def draws(self, number: int) -> bytes:
        """40 bytes that look random."""
        return blake2b(self._prefix + number.to_bytes(8), digest_size=40).digest()

    def uuid(self, number: int, draws: bytes) -> str:
        """The uuid (version 4 by its looks) of this number; `draws` are the number's own."""
        first, rest = self._scatter.there(number), draws[29:].hex()
        return f"{first:08x}-{rest[:4]}-4{rest[4:7]}-{_VARIANT[draws[28] & 3]}{rest[7:10]}-{rest[10:22]}"

    def number(self, uuid: str) -> int | None:
        """The number whose uuid this is, or `None`."""
        try:
            number = self._scatter.back(int(uuid[:8], 16))
        except ValueError:
            return None
        return number if self.uuid(number, self.draws(number)) == uuid else None


class Scatter:
    """A one-to-one map from `0 ≤ number < size` onto the same range, without any order left."""

    def __init__(self, size: int, step: int, shift: int) -> None:
        self.size = size
        self._step, self._shift = step % size or 1, shift
        self._back = pow(self._step, -1, size) if size > 1 else 0

    def there(self, number: int) -> int:
        """Where this number goes."""
        return (number * self._step + self._shift) % self.size

    def back(self, place: int) -> int:
        """What goes to this place."""
        return (place - self._shift) * self._back % self.size
