"""The archive that a workbook is, within bounds of what is unpacked; its parts are XML, read without their DTDs.

Nothing is believed of what the archive says of itself: bytes and elements of each part are counted before any of it is
parsed. To unpack and count 8 million empty cells takes 40 ms, to parse them some 5 s.
"""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from xml.parsers import expat

from registerwatch.errors import InvalidInput

MAX_PARTS = 1_000
"""Files in the workbook's archive."""
MAX_ELEMENTS = 8_000_000
"""Of XML, in all parts that are read: three for each of 50,000 rows of 50 cells, and some."""
PIECE_BYTES = 65_536

UNREADABLE = "This workbook cannot be read. Save it anew as .xlsx, or as CSV."
TOO_LARGE = "This workbook is too large when it is unpacked. Save the column of identifiers alone, as .xlsx or CSV."
TOO_MANY_CELLS = (
    "This workbook has too many cells, also empty ones. Save the columns that you need alone, as .xlsx or CSV."
)
NO_WORKBOOK = "This file is packed, but it is no Excel workbook. Save the list as .xlsx or CSV."
OTHER_WORKBOOK = "This is a spreadsheet of another kind. Save the list as .xlsx or CSV."
WITH_PASSWORD = "This file has a password. Save the list as .xlsx without one."  # noqa: S105

OTHER_PARTS = frozenset({"mimetype", "content.xml", "xl/workbook.bin", "index/document.iwa"})
"""Parts of spreadsheets that are no Excel workbooks: OpenDocument, XLSB, Numbers."""

Attributes = Sequence[str]
"""Names and values of an element in turn."""
OnStart = Callable[[str, Attributes], object]
OnEnd = Callable[[str], object]
OnText = Callable[[str], object]


class WorkbookArchive:
    """The parts of a workbook. Raises `InvalidInput` for what is none or too large."""

    def __init__(self, content: bytes, max_unpacked_bytes: int) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise InvalidInput(UNREADABLE) from None
        self._left_bytes, self._left_elements = max_unpacked_bytes, MAX_ELEMENTS
        self._parts = self._checked(self._archive.infolist())

    def _checked(self, parts: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        """The parts by their names in small letters."""
        by_name = {part.filename.replace("\\", "/").lower(): part for part in parts}
        if OTHER_PARTS & by_name.keys():
            raise InvalidInput(OTHER_WORKBOOK)
        if "[content_types].xml" not in by_name or not any(name.startswith("xl/") for name in by_name):
            raise InvalidInput(NO_WORKBOOK)
        if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > self._left_bytes:
            raise InvalidInput(TOO_LARGE)
        if any(part.flag_bits & 1 for part in parts):
            raise InvalidInput(WITH_PASSWORD)
        return by_name

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name.lower() in self._parts

    def read(self, name: str, start: OnStart, end: OnEnd, text: OnText) -> None:
        """Read a part. The functions are called with the names of elements without their prefixes."""
        local = LocalNames()
        named_start, named_end = _by_local_name(local, start), _by_local_name(local, end)
        for _ in self.pieces(name, named_start, named_end, text):
            pass

    def pieces(self, name: str, start: OnStart, end: OnEnd, text: OnText) -> Iterator[None]:
        """Read a part a piece at a time, so that each step knows what was read until then. The functions are called
        with the names of elements as they are written.
        """
        for piece in self._unpacked(name):
            self._count(piece)
        parser = _parser(start, end, text)
        for piece in self._unpacked(name):
            parser.Parse(piece)
            yield
        parser.Parse(b"", True)
        yield

    def _unpacked(self, name: str) -> Iterator[bytes]:
        with self._archive.open(self._parts[name.lower()]) as part:
            while piece := part.read(PIECE_BYTES):
                yield piece

    def _count(self, piece: bytes) -> None:
        """Count what is to be parsed. Raises `InvalidInput` where that is too much."""
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise InvalidInput(TOO_LARGE)
        self._left_elements -= piece.count(b"<") - piece.count(b"</")
        if self._left_elements < 0:
            raise InvalidInput(TOO_MANY_CELLS)


class LocalNames(dict[str, str]):
    """The names of elements without their prefixes, by the names as they are written."""

    def __missing__(self, name: str) -> str:
        self[name] = name.rpartition(":")[2]
        return self[name]


def _by_local_name(local: LocalNames, on_element: Callable[..., object]) -> Callable[..., object]:
    return lambda name, *attributes: on_element(local[name], *attributes)


def _parser(start: OnStart, end: OnEnd, text: OnText) -> expat.XMLParserType:
    """A parser that knows no entities but those of XML itself."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse_document_type
    return parser


def _refuse_document_type(*_: object) -> None:
    raise InvalidInput(UNREADABLE)
