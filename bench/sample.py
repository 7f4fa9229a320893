"""Counting a copy: in how many devices each word is, which risk classes there are, a sample of devices and actors."""

import re
from collections import Counter
from pathlib import Path

import msgspec

from bench.rows import devices_of
from registerwatch.register.search.fields import folded

SAMPLED_DEVICES = 4_000
SAMPLED_ACTORS = 100
COMMON_WORDS = 400
RARE_WORDS = 200
RARE = 3
"""Devices that a rare word is in at most."""

_word = re.compile(r"[^\W_]+")


class Sample(msgspec.Struct, frozen=True):
    """What was counted. Words are without case and diacritics."""

    devices: int
    common: dict[str, int]
    """The most frequent words, with the number of devices whose names have them."""
    rare: dict[str, int]
    short: list[str]
    """Words of one or two letters."""
    udis: list[str]
    """UDI-DIs from all over the copy."""
    srns: list[str]


def words_of(text: str) -> set[str]:
    """The words of a text, each once."""
    return set(_word.findall(folded(text)))


def take_sample(data_dir: Path, devices: int) -> Sample:
    """Read the whole copy once."""
    frequency: Counter[str] = Counter()
    makers: Counter[str] = Counter()
    udis: list[str] = []
    counted, stride = 0, max(1, devices // SAMPLED_DEVICES)
    for device in devices_of(data_dir):
        frequency.update(words_of(device.text))
        makers[device.manufacturer_srn] += 1
        if counted % stride == 0:
            udis.append(device.udi)
        counted += 1
    named = sorted(srn for srn, _ in makers.items() if srn)
    return Sample(
        devices=counted,
        common=dict(frequency.most_common(COMMON_WORDS)),
        rare=_rare(frequency),
        short=sorted(word for word in frequency if len(word) <= 2),
        udis=udis,
        srns=named[:: max(1, len(named) // SAMPLED_ACTORS)][:SAMPLED_ACTORS],
    )


def _rare(frequency: Counter[str]) -> dict[str, int]:
    """Words of letters that few devices have, from all over the alphabet."""
    found = sorted(word for word, count in frequency.items() if count <= RARE and word.isalpha() and len(word) > 3)
    if not found:
        return dict(frequency.most_common()[-10:])
    return {word: frequency[word] for word in found[:: max(1, len(found) // RARE_WORDS)][:RARE_WORDS]}
