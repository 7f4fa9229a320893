"""The words of generated trade names: kinds of device, descriptors and measures in eight languages.

`kinds.txt` has one line per kind: group, risk class under the regulation, EMDN code, measure, and the noun in the order
of `LANGUAGES`. `descriptors.txt` goes from the most common descriptor to the rarest.
"""

from functools import cache
from importlib.resources import files
from itertools import product

from msgspec import Struct

LANGUAGES = ("en", "de", "fr", "it", "es", "pl", "el", "bg")


class Kind(Struct, frozen=True):
    """A kind of device."""

    group: str
    risk: str
    emdn: str
    measure: str
    nouns: dict[str, str]


class Vocabulary(Struct, frozen=True):
    """Kinds by group and risk class (and by group alone, with an empty class); 256 descriptors by language.

    Of the 256, the i-th most common descriptor has a share of about 1/i: a few words are everywhere.
    """

    kinds: dict[tuple[str, str], list[Kind]]
    descriptors: dict[str, tuple[str, ...]]


@cache
def vocabulary() -> Vocabulary:
    """The words of the data files."""
    kinds: dict[tuple[str, str], list[Kind]] = {}
    for group, risk, emdn, measure, *nouns in _rows("kinds.txt"):
        kind = Kind(group, risk, emdn, measure, dict(zip(LANGUAGES, nouns, strict=True)))
        kinds.setdefault((group, risk), []).append(kind)
        kinds.setdefault((group, ""), []).append(kind)
    descriptors = _rows("descriptors.txt")
    columns = zip(*(descriptors[rank] for rank in _common_ranks(len(descriptors))), strict=True)
    return Vocabulary(kinds, dict(zip(LANGUAGES, columns, strict=True)))


@cache
def nomenclature_codes() -> list[str]:
    """The EMDN codes that generated devices have, with all that are above them."""
    codes = {code for found in vocabulary().kinds.values() for kind in found for code in (kind.emdn, f"{kind.emdn}99")}
    return sorted({code[:length] for code in codes for length in range(1, len(code) + 1, 2)})


def _rows(name: str) -> list[list[str]]:
    text = files("registerwatch_standins.register.generation").joinpath(name).read_text("utf-8")
    return [line.split("|") for line in text.splitlines()]


def _common_ranks(count: int) -> list[int]:
    """256 ranks below `count`, of which the i-th (from 0) has a share of about 1/(i+1)."""
    total = sum(1 / (rank + 1) for rank in range(count))
    ranks = [rank for rank in range(count) for _ in range(max(1, round(256 / (rank + 1) / total)))]
    return (ranks + [0] * 256)[:256]


_DIAMETERS = ("1.5", "2.0", "2.4", "2.7", "3.0", "3.5", "4.0", "4.5", "5.0", "5.5", "6.5")
_WIDTHS = (5, 7.5, 10, 12.5, 15, 20, 30)
_STRENGTHS = ("6/0", "5/0", "4/0", "3/0", "2/0", "0", "1")
_SHADES = ("A1", "A2", "A3", "A3.5", "B1", "B2", "C1", "C2", "D2")
_LENGTHS = tuple(str(length) for length in (*range(6, 40, 2), *range(40, 125, 5)))
_COUNTS = (1, 2, 3, 5, 6, 10, 12, 20, 24, 25, 30, 50, 96, 100, 144, 200, 500)
_SIZES = ("XS", "S", "M", "L", "XL", "XXL", *(str(size) for size in range(11)))
_MEASURES: dict[str, tuple[str, ...]] = {
    "none": ("", "II", "III", "Plus", "XS", "2.0", "Pro", "Basic"),
    "screw": tuple(f"{diameter} x {length} mm" for diameter, length in product(_DIAMETERS, _LENGTHS)),
    "diameter": tuple(f"Ø {diameter} mm" for diameter in ("0.8", "1.0", "1.1", *_DIAMETERS)),
    "mm": tuple(f"{whole}.{half} mm" for whole in range(3, 24) for half in (0, 5)),
    "plate": tuple(f"{system} mm, {holes}" for system, holes in product(_DIAMETERS[:8], range(3, 19))),
    "wire": tuple(f"{diameter} x {length} mm" for diameter, length in product(_DIAMETERS[:4], range(70, 320, 10))),
    "length": tuple(f"{length} cm" for length in ("11.5", "12", "13", "14.5", "16", "18", "20", "25", "30")),
    "area": tuple(f"{width} x {length} cm" for width, length in product(_WIDTHS, _WIDTHS)),
    "width": tuple(f"{width} cm x {length} m" for width, length in product((4, 6, 8, 10, 12), (3, 4, 5, 7))),
    "french": tuple(f"CH {gauge}, {length} cm" for gauge, length in product(range(6, 26, 2), (20, 40, 50, 60))),
    "gauge": tuple(f"{gauge} G x {length} mm" for gauge, length in product(range(16, 32), (12, 16, 25, 30, 40, 50))),
    "volume": tuple(f"{volume} ml" for volume in (1, 2, 2.5, 5, 10, 20, 50, 60, 100, 250, 500, 750, 1000, 1500, 2000)),
    "seat": tuple(f"{width} cm, {load} kg" for width, load in product(range(36, 62, 2), (100, 120, 130, 160))),
    "suture": tuple(f"USP {strength}, {length} cm" for strength, length in product(_STRENGTHS, (45, 70, 75, 90))),
    "shade": tuple(f"{shade} {height} mm" for shade, height in product(_SHADES, (10, 12, 14, 16, 18, 20))),
}
_WORDS = {
    "pack": ("pcs", "Stück", "pièces", "pezzi", "uds", "szt.", "τεμ.", "бр."),
    "tests": ("tests", "Tests", "tests", "test", "pruebas", "testów", "τεστ", "теста"),
    "size": ("size", "Gr.", "taille", "misura", "talla", "rozm.", "μέγεθος", "размер"),
    "number": ("no.", "Nr.", "n°", "n.", "n.º", "nr", "αρ.", "№"),
}


def _measures(measure: str, language: str) -> tuple[str, ...]:
    """The texts of a measure: `3.5 x 24 mm` in English, `3,5 x 24 mm` elsewhere."""
    if measure in _MEASURES:
        texts = _MEASURES[measure]
        return texts if language == "en" else tuple(text.replace(".", ",") for text in texts)
    word = _WORDS[measure][LANGUAGES.index(language)]
    if measure in ("pack", "tests"):
        return tuple(f"{count} {word}" for count in _COUNTS)
    return tuple(f"{word} {size}" for size in _SIZES)


MEASURES = {
    (measure, language): _measures(measure, language) for measure in (*_MEASURES, *_WORDS) for language in LANGUAGES
}
"""The sizes, lengths, shades and pack counts that tell one article of a device family from the next."""
