"""Finding the row of a table with its headings, and the column with the codes of devices or actors. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from registerwatch.files.tables.cells import MAX_CELL_LENGTH, MIN_DIGITS, CellProblem, FileRow, bare
from registerwatch.files.tables.table import column_letters
from registerwatch.register.identifiers import is_number, kind, read_code

DEVICE_HEADINGS = (
    *("udidi", "udidisrn", "udidiorsrn", "primaryudidi", "primarydi", "udi", "udicode", "deviceidentifier", "di"),
    *("gtin", "gtin14", "gtin13", "gtinean", "ean", "ean13", "subject", "identifier"),
)
ACTOR_HEADINGS = ("srn", "actorsrn", "actoridsrn", "manufacturersrn", "manufactureractoridsrn")
"""Headings of a column of identifiers, without spaces and signs. Of several columns the one named first is used."""
OTHER_DEVICE_HEADINGS = (
    *("udidicode", "udinumber", "udidinumber", "gtinudi", "gtinudidi", "udigtin", "udidigtin", "eangtin", "eanudi"),
    *("gtincode", "gtinnumber", "gtinbarcode", "gs1gtin", "gs1code", "gtin12", "gtin8", "eancode", "eannumber", "ean8"),
    *("upc", "upccode", "upca", "hibc", "hibccode", "hibcc", "ppn", "hpc", "barcode", "barcodenumber", "scancode"),
    *("udinummer", "udidinummer", "gtinnummer", "eannummer", "eannr", "gtinnr", "udinr", "strichcode", "barcodenummer"),
    *("iud", "iudid", "iudidi", "codeiud", "codeudi", "codeudidi", "codegtin", "codeean", "codebarre", "codebarres"),
    *("codeabarres", "numerogtin", "numeroean", "numeroudi", "identifiantudi", "identifiantiud", "ngtin"),
    *("codiceudi", "codiceudidi", "codicegtin", "codiceean", "codiceabarre", "codicebarre", "numerogtinean"),
    *("codigoudi", "codigoudidi", "codigogtin", "codigoean", "codigodebarras", "codigobarras", "codbarras"),
    *("streepjescode", "barcodenr", "kodkreskowy", "kodean", "kodudi", "streckkod", "stregkode", "strekkode"),
)
"""Headings in exports of hospitals and dealers. PZN is not among them: no parser reads one without its PPN."""
OTHER_ACTOR_HEADINGS = ("srnnummer", "srnnumber", "herstellersrn", "srnhersteller", "srnfabricant", "fabricantsrn")
MAX_HEADING_ROWS = 20
"""The heading is found in this many first rows, empty ones not counted: exports often begin with titles."""
MAX_SAMPLE_ROWS = 200
"""Rows below the heading whose cells decide what a column holds."""
CERTAIN_SHARE = 0.5
"""A column whose share of codes is above it holds codes, whatever headings of other columns say."""
MIN_SHARE = 0.2
"""Below this share, codes are there by chance."""

_WORDS = frozenset({"gtin", "ean", "udi", "udidi", "iud", "barcode", "strichcode"})
_BASIC = frozenset({"basic", "basis", "base", "basico", "basica", "buidi", "budi"})
_OF_WORDS = " "
"""Stands for headings with such a word among others."""
_RANKS = {
    name: rank
    for rank, name in enumerate(
        (*DEVICE_HEADINGS, *OTHER_DEVICE_HEADINGS, _OF_WORDS, *ACTOR_HEADINGS, *OTHER_ACTOR_HEADINGS)
    )
}
_DATA = re.compile(r"[\s\d.,:/%€$£+-]*\d[\s\d.,:/%€$£+-]*(E\+?\d+)?", re.IGNORECASE)

Cells = Sequence[str]


def normal(text: str) -> str:
    """A heading in lower case without spaces, signs and accents."""
    if len(text) > MAX_CELL_LENGTH:
        return ""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in plain.lower() if sign.isalnum() and not unicodedata.combining(sign))


def names_codes(heading: str) -> bool:
    """Whether a heading says that its column has the codes of devices or actors."""
    return _rank_of_heading(heading) is not None


@lru_cache(maxsize=4096)
def is_code(text: str) -> bool:
    """Whether a text is certainly the code of a device or an actor: an SRN, or a code with a right check digit."""
    found = read_code(bare(text))
    if found.subject is None:
        return False
    return any(
        each.kind == "srn" or (each.kind == "udi-di" and each.check.verdict == "right") for each in found.candidates
    )


def heading_row_of(rows: Sequence[FileRow]) -> int:
    """The index of the row with the headings, -1 if there is none. Titles above it do not matter."""
    first = rows[:MAX_HEADING_ROWS]
    width = _usual_width(rows)
    named = _rows_that_name_codes(first)
    for index in (*(each for each in named if _filled(first[each].texts) * 2 > width), *named[:1]):
        return index
    for index, row in enumerate(first):
        if _has_data(row):
            continue
        below = rows[index + 1 : index + 6]
        if _filled(row.texts) * 2 > width and _is_above_data(row, below):
            return index
    return -1


def _rows_that_name_codes(first: Sequence[FileRow]) -> Sequence[int]:
    """The indexes of the rows above the first code that have a heading of codes."""
    found: list[int] = []
    for index, row in enumerate(first):
        if any(is_code(text) for text in row.texts):
            break
        if any(names_codes(text) for text in row.texts):
            found.append(index)
    return found


def code_columns_of(headings: Cells, rows: Sequence[FileRow]) -> Sequence[int]:
    """The columns that look like those of codes, best first: by their headings, else by the share of certain codes.

    A heading does not count where no cell below it is a code, and most cells of a column with another heading are.
    """
    shares = [_share_of_codes(column, rows) for column in range(len(headings))]
    ranks = [_rank_of_heading(heading) for heading in headings]
    is_certain = any(rank is None and share > CERTAIN_SHARE for rank, share in zip(ranks, shares, strict=True))
    ranked: list[tuple[tuple[int, float, int], int]] = []
    for column, (rank, share) in enumerate(zip(ranks, shares, strict=True)):
        holds_any = any(column < len(row.texts) and row.texts[column] for row in rows)
        if rank is not None and (holds_any or not rows) and not (is_certain and share == 0):
            ranked.append(((0, rank, column), column))
        elif share >= MIN_SHARE:
            ranked.append(((1, -share, column), column))
        elif rank is not None:
            ranked.append(((2, rank, column), column))
    return [column for _, column in sorted(ranked)]


def distinct_headings(written: Cells, width: int) -> Sequence[str]:
    """A heading for each column: `Column C` if it has none, `Name (2)` if two are alike."""
    found: dict[str, None] = {}
    for column in range(width):
        text = written[column] if column < len(written) else ""
        base = text or f"Column {column_letters(column)}"
        heading, times = base, 1
        while heading in found:
            times += 1
            heading = f"{base[: MAX_CELL_LENGTH - 10]} ({times})"
        found[heading] = None
    return list(found)


def _rank_of_heading(text: str) -> int | None:
    """How well a heading names codes: a smaller rank is better. None for one that does not."""
    name = normal(text)
    if name in _RANKS:
        return _RANKS[name]
    words = {normal(word) for word in re.split(r"[\s/,;()_.:]+", text)} if 0 < len(text) <= 60 else set()
    return _RANKS[_OF_WORDS] if words & _WORDS and not words & _BASIC else None


def _share_of_codes(column: int, rows: Iterable[FileRow]) -> float:
    """The share of cells that certainly are codes. A shortened number counts half, since it may have been a code. So
    does a number of eight digits, such as a date in a text: one in ten has a right check digit by chance. A workbook's
    date is not a code.
    """
    cells = [(row.texts[column], row.problems.get(column, "")) for row in rows if column < len(row.texts)]
    filled = [(text, problem) for text, problem in cells if text]
    return sum(_certainty(text, problem) for text, problem in filled) / len(filled) if filled else 0.0


def _certainty(text: str, problem: CellProblem) -> float:
    if problem == "shortened":
        return 0.5
    if problem == "date" or not is_code(text):
        return 0.0
    if len(text) == MIN_DIGITS and is_number(text):
        return 0.5
    return 1.0 if kind(text) == "udi" else 0.9  # prefer a column of devices to one of actors


def _usual_width(rows: Sequence[FileRow]) -> int:
    """The most frequent width."""
    widths = Counter(_filled(row.texts) for row in rows)
    return max(widths, key=lambda each: (widths[each], each), default=0)


def _filled(texts: Cells) -> int:
    return sum(map(bool, texts))


def _is_data(text: str, problem: CellProblem) -> bool:
    return bool(text) and (bool(problem) or bool(_DATA.fullmatch(text)) or is_code(text))


def _has_data(row: FileRow) -> bool:
    return any(_is_data(text, row.problems.get(column, "")) for column, text in enumerate(row.texts))


def _is_above_data(row: FileRow, below: Sequence[FileRow]) -> bool:
    """Whether a text of the row is above data. In a table without data: whether its texts are short, distinct, and not
    among the cells below.
    """
    if any(row.texts[column : column + 1] and _has_data_in(column, below) for column in range(len(row.texts))):
        return True
    texts = [text for text in row.texts if text]
    others = {text for each in below for text in each.texts}
    is_distinct = len(set(texts)) == len(texts) > 1
    return is_distinct and bool(below) and not others & set(texts) and not any(map(_has_digit, texts))


def _has_data_in(column: int, rows: Sequence[FileRow]) -> bool:
    return any(column < len(row.texts) and _is_data(row.texts[column], row.problems.get(column, "")) for row in rows)


def _has_digit(text: str) -> bool:
    return any(sign.isdigit() for sign in text)
