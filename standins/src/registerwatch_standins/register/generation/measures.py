"""The sizes, lengths, shades and pack counts that tell one article of a device family from the next."""

from itertools import product

from registerwatch_standins.register.generation.vocabulary import LANGUAGES

_PIECES = ("pcs", "Stück", "pièces", "pezzi", "uds", "szt.", "τεμ.", "бр.")
_SIZE = ("size", "Gr.", "taille", "misura", "talla", "rozm.", "μέγεθος", "размер")
_TESTS = ("tests", "Tests", "tests", "test", "pruebas", "testów", "τεστ", "теста")
_NUMBER = ("no.", "Nr.", "n°", "n.", "n.º", "nr", "αρ.", "№")

_DIAMETERS = ("1.5", "2.0", "2.4", "2.7", "3.0", "3.5", "4.0", "4.5", "5.0", "5.5", "6.5")
_WIDTHS = (5, 7.5, 10, 12.5, 15, 20, 30)
_STRENGTHS = ("6/0", "5/0", "4/0", "3/0", "2/0", "0", "1")
_SHADES = ("A1", "A2", "A3", "A3.5", "B1", "B2", "C1", "C2", "D2")
_LENGTHS = tuple(str(length) for length in (*range(6, 40, 2), *range(40, 125, 5)))

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
_COUNTS = (1, 2, 3, 5, 6, 10, 12, 20, 24, 25, 30, 50, 96, 100, 144, 200, 500)
_SIZES = ("XS", "S", "M", "L", "XL", "XXL", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
_WORDED: dict[str, tuple[str, ...]] = {"pack": _PIECES, "tests": _TESTS, "size": _SIZE, "number": _NUMBER}


def measures(measure: str, language: str) -> tuple[str, ...]:
    """The texts of a measure in a language, in ascending order.

    `3.5 x 24 mm` in English, `3,5 x 24 mm` elsewhere.
    """
    if measure in ("pack", "tests"):
        word = _WORDED[measure][LANGUAGES.index(language)]
        return tuple(f"{count} {word}" for count in _COUNTS)
    if measure in _WORDED:
        word = _WORDED[measure][LANGUAGES.index(language)]
        return tuple(f"{word} {size}" for size in _SIZES)
    texts = _MEASURES[measure]
    return texts if language == "en" else tuple(text.replace(".", ",") for text in texts)


MEASURES = {
    (measure, language): measures(measure, language) for measure in (*_MEASURES, *_WORDED) for language in LANGUAGES
}
