"""The sheets of an Excel workbook, its texts, and which formats of cells are those of dates.

Source: ISO/IEC 29500-1, SpreadsheetML. Names of elements are read without their namespaces, so that both forms of the
standard are read alike.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.archive import NO_WORKBOOK, TOO_LARGE, Attributes, WorkbookArchive
from registerwatch.files.tables.cells import one_line

MAX_SHEETS = 50
MAX_TEXTS = 2_500_000
"""Texts that cells share."""
MAX_TEXT_LENGTH = 1_000
"""Characters of a text that are looked at."""
WORKBOOK = "xl/workbook.xml"

_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Numbers of formats that need no definition, and are those of dates or times."""
_NO_SIGN_OF_FORMAT = re.compile(r'"[^"]*"|\\.|[_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_SIGN_OF_DATE = re.compile("[dmhys]", re.IGNORECASE)
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class Sheet(msgspec.Struct, frozen=True):
    """A sheet of cells."""

    name: str
    part: str
    is_visible: bool


class Workbook(msgspec.Struct, frozen=True):
    """What is to be known to read sheets."""

    archive: WorkbookArchive
    sheets: Sequence[Sheet]
    texts: Sequence[str]
    date_styles: frozenset[str]
    """The styles of cells, as they are written there, whose numbers are dates."""
    is_from_1904: bool
    """Whether days are counted from 1904."""


def open_workbook(content: bytes, max_unpacked_bytes: int) -> Workbook:
    """A workbook. Raises `InvalidInput`, and whatever a damaged one makes of its reader."""
    archive = WorkbookArchive(content, max_unpacked_bytes)
    part = next((each.part for each in _relations(archive, "").values() if each.kind == "officeDocument"), WORKBOOK)
    if not archive.has(part):
        raise InvalidInput(NO_WORKBOOK)
    relations = _relations(archive, part)
    listed = _listed_sheets(archive, part)
    others = {each.kind: each.part for each in relations.values() if archive.has(each.part)}
    sheets = [
        Sheet(one_line(name), relations[number].part, is_visible)
        for number, name, is_visible in listed.sheets[:MAX_SHEETS]
        if number in relations and relations[number].kind == "worksheet" and archive.has(relations[number].part)
    ]
    texts = _texts(archive, others["sharedStrings"]) if "sharedStrings" in others else []
    styles = _date_styles(archive, others["styles"]) if "styles" in others else frozenset()
    return Workbook(archive, sheets, texts, styles, listed.is_from_1904)


def unescaped(text: str) -> str:
    """A text of a workbook with the signs that it writes by their numbers, as in `_x000D_`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def is_date_format(format_code: str) -> bool:
    """Whether numbers of this format are shown as dates or times."""
    signs = _NO_SIGN_OF_FORMAT.sub("", format_code.partition(";")[0])
    return "general" not in signs.lower() and bool(_SIGN_OF_DATE.search(signs))


class _Relation(msgspec.Struct, frozen=True):
    kind: str
    part: str


@dataclass(slots=True)
class _Listed:
    sheets: list[tuple[str, str, bool]] = field(default_factory=list)
    is_from_1904: bool = False


def _relations(archive: WorkbookArchive, part: str) -> Mapping[str, _Relation]:
    """What a part, or the archive itself, refers to."""
    folder, name = posixpath.split(part)
    written = posixpath.join(folder, "_rels", f"{name}.rels")
    found: dict[str, _Relation] = {}

    def start(element: str, attributes: Attributes) -> None:
        if element == "Relationship":
            named = _named(attributes)
            path = posixpath.join("/", folder, named["Target"].replace("\\", "/"))
            kind = named.get("Type", "").rpartition("/")[2]
            found[named["Id"]] = _Relation(kind, posixpath.normpath(path).lstrip("/"))

    if archive.has(written):
        archive.read(written, start, _ignore, _ignore)
    return found


def _listed_sheets(archive: WorkbookArchive, part: str) -> _Listed:
    listed = _Listed()

    def start(element: str, attributes: Attributes) -> None:
        named = _named(attributes)
        if element == "workbookPr":
            listed.is_from_1904 = named.get("date1904") in {"1", "true"}
        elif element == "sheet":
            is_visible = named.get("state", "visible") == "visible"
            listed.sheets.append((named.get("id", ""), named.get("name", ""), is_visible))

    archive.read(part, start, _ignore, _ignore)
    return listed


def _texts(archive: WorkbookArchive, part: str) -> Sequence[str]:
    """The texts that cells share. What tells how a text is pronounced is no part of it."""
    texts: list[str] = []
    pieces: list[str] = []
    is_text = is_pronounced = False

    def start(element: str, _: Attributes) -> None:
        nonlocal is_text, is_pronounced
        if element == "t":
            is_text = not is_pronounced
        elif element == "rPh":
            is_pronounced = True

    def text(piece: str) -> None:
        if is_text:
            pieces.append(piece)

    def end(element: str) -> None:
        nonlocal is_text, is_pronounced
        if element == "t":
            is_text = False
        elif element == "rPh":
            is_pronounced = False
        elif element == "si":
            texts.append(unescaped("".join(pieces)[:MAX_TEXT_LENGTH]))
            pieces.clear()
            if len(texts) > MAX_TEXTS:
                raise InvalidInput(TOO_LARGE)

    archive.read(part, start, end, text)
    return texts


def _date_styles(archive: WorkbookArchive, part: str) -> frozenset[str]:
    formats: dict[str, str] = {}
    styles: list[str] = []
    is_of_cells = False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_of_cells
        if element == "numFmt":
            named = _named(attributes)
            formats[named.get("numFmtId", "")] = named.get("formatCode", "")
        elif element == "cellXfs":
            is_of_cells = True
        elif element == "xf" and is_of_cells:
            styles.append(_named(attributes).get("numFmtId", "0"))

    def end(element: str) -> None:
        nonlocal is_of_cells
        if element == "cellXfs":
            is_of_cells = False

    archive.read(part, start, end, _ignore)
    dates = {number for number, code in formats.items() if is_date_format(code)}
    dates |= {str(number) for number in _DATE_FORMATS} - formats.keys()
    return frozenset(str(place) for place, number in enumerate(styles) if number in dates)


def _named(attributes: Attributes) -> dict[str, str]:
    """The values of attributes by their names without namespaces."""
    return {name.rpartition(":")[2]: value for name, value in zip(attributes[::2], attributes[1::2], strict=True)}


def _ignore(*_: object) -> None:
    pass
