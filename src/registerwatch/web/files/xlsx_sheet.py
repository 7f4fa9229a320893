"""An Excel workbook with one sheet, written row by row (ECMA-376). Every text is written as text.

It is packed while it is written, so that the given file is the only one.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time
from typing import IO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

from registerwatch.files.tables.csv_file import Cell, Row
from registerwatch.files.tables.formula_guard import FORMULA, NOT_IN_XML
from registerwatch.files.tables.table import column_letters

MAX_CELL_LENGTH = 32_767
"""Excel's limit."""
FIRST_YEAR = 1900
"""Earlier dates are text: Excel has no others."""
BEFORE_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001  # workbooks have no zones
"""Days are counted from here. Excel has a 29 February 1900, so earlier days are one less."""
NO_LEAP_DAY = 60
ESCAPED = "_x005F_"
_LIKE_ESCAPES = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Excel reads `_x000D_` as the character of this number."""
MAX_WIDTH, MIN_WIDTH = 60, 8
"""Column widths in characters."""
PLAIN, LIKE_FORMULA, DAY, INSTANT, HEADING, HEADING_LIKE_FORMULA = range(6)
"""Indexes of formats in `cellXfs`. A text that looks like a formula stays text also when it is edited."""

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_SHEET = "xl/worksheets/sheet1.xml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/{_SHEET}" ContentType="{_KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_LINKS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_LINKS}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="2">'
    '<numFmt numFmtId="164" formatCode="yyyy-mm-dd"/><numFmt numFmtId="165" formatCode="yyyy-mm-dd hh:mm:ss"/>'
    '</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="6">'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" quotePrefix="1" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}


class XlsxSheet:
    """A workbook with one sheet. Only the rows that are being written are in memory."""

    def __init__(self, file: IO[bytes], title: str, header: Sequence[str]) -> None:
        self._archive = ZipFile(file, "w", ZIP_DEFLATED)
        self._title = title
        self._header = header
        self._letters = [column_letters(position) for position in range(len(header))]
        self._rows = 0
        self._sheet: IO[bytes] | None = None

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows. The first ones set the widths of the columns."""
        sheet = self._sheet or self._begin(rows)
        sheet.write("".join(map(self._row, rows)).encode())

    def finish(self) -> None:
        """Write the end of the file."""
        sheet = self._sheet or self._begin([])
        area = f"A1:{column_letters(len(self._header) - 1)}{self._rows}"
        sheet.write(f'</sheetData><autoFilter ref="{area}"/></worksheet>'.encode())
        sheet.close()
        workbook = (
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><bookViews><workbookView/></bookViews><sheets>'
            f'<sheet name={quoteattr(self._title)} sheetId="1" r:id="rId1"/></sheets></workbook>'
        )
        for name, content in {**_PARTS, "xl/workbook.xml": workbook}.items():
            self._archive.writestr(name, _XML + content)
        self._archive.close()

    def discard(self) -> None:
        """Discard the file."""
        for each in (self._sheet, self._archive):
            if each is not None:
                with suppress(OSError, ValueError):
                    each.close()

    def _begin(self, rows: Sequence[Row]) -> IO[bytes]:
        sheet = self._sheet = self._archive.open(_SHEET, "w")
        columns = []
        for position, name in enumerate(self._header, start=1):
            longest = max((len(str(row[position - 1] or "")) for row in rows), default=0)
            width = min(MAX_WIDTH, max(MIN_WIDTH, len(name), longest) + 2)
            columns.append(f'<col min="{position}" max="{position}" width="{width}" customWidth="1"/>')
        head = (
            f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView tabSelected="1" workbookViewId="0">'
            '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
            f"<cols>{''.join(columns)}</cols><sheetData>"
        )
        sheet.write((head + self._row(self._header, is_heading=True)).encode())
        return sheet

    def _row(self, row: Row, *, is_heading: bool = False) -> str:
        self._rows += 1
        number, letters = self._rows, self._letters
        letters += [column_letters(position) for position in range(len(letters), len(row))]
        cells = [_cell(f"{letters[position]}{number}", value, is_heading) for position, value in enumerate(row)]
        return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(reference: str, value: Cell, is_heading: bool) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return f'<c r="{reference}" t="b"><v>{value:d}</v></c>'
    if isinstance(value, date):
        if value.year >= FIRST_YEAR:
            form = INSTANT if isinstance(value, datetime) else DAY
            return f'<c r="{reference}" s="{form}"><v>{_days(value)}</v></c>'
        value = str(value)
    if not isinstance(value, str):
        return f'<c r="{reference}"><v>{value}</v></c>'
    text = _LIKE_ESCAPES.sub(ESCAPED, NOT_IN_XML.sub("", value)[:MAX_CELL_LENGTH])
    form = (HEADING if is_heading else PLAIN) + (1 if FORMULA.match(text) else 0)
    style = f' s="{form}"' if form else ""
    return f'<c r="{reference}"{style} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _days(value: date) -> float | int:
    """A day or an instant as workbooks count it."""
    instant = value if isinstance(value, datetime) else datetime.combine(value, time())
    passed = instant - BEFORE_FIRST_DAY
    days = passed.days - 1 if passed.days <= NO_LEAP_DAY else passed.days
    return days + passed.seconds / 86_400 if isinstance(value, datetime) else days
