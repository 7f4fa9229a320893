"""Workbooks for tests, made by openpyxl or of XML as other programs write it."""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openpyxl import Workbook

TYPES = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def saved(workbook: Workbook) -> bytes:
    content = io.BytesIO()
    workbook.save(content)
    return content.getvalue()


def a_workbook(*rows: Sequence[Any], change: Callable[[Any], object] = lambda _sheet: None) -> bytes:
    """A workbook with these rows, after a change of its sheet."""
    workbook = Workbook()
    for row in rows:
        workbook.active.append(list(row))  # type: ignore[union-attr]  # a new workbook has a sheet
    change(workbook.active)
    return saved(workbook)


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    """The workbook with one of its files replaced or added."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        parts = {each: old.read(each) for each in old.namelist()}
    return an_archive({**parts, name: part})


def an_archive(parts: Mapping[str, bytes]) -> bytes:
    """A ZIP archive of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()


def a_written_workbook(
    cells: str,
    *,
    texts: str = "",
    styles: str = "",
    settings: str = "",
    sheets: Sequence[str] = ('name="Sheet"',),
    namespace: str = MAIN,
    folder: str = "xl",
) -> bytes:
    """A workbook whose first sheet has these rows as XML; `sheets` are attributes of further ones, which are empty."""

    def part(element: str, inner: str) -> bytes:
        return f'<?xml version="1.0"?><{element} xmlns="{namespace}" xmlns:r="{RELATIONS}">{inner}</{element}>'.encode()

    def relations(*targets: tuple[str, str]) -> bytes:
        listed = (
            f'<Relationship Id="r{n}" Type="{RELATIONS}/{kind}" Target="{to}"/>' for n, (kind, to) in enumerate(targets)
        )
        return f"<Relationships>{''.join(listed)}</Relationships>".encode()

    numbers = range(len(sheets))
    listed = "".join(f'<sheet {each} sheetId="{n + 1}" r:id="r{n}"/>' for n, each in zip(numbers, sheets, strict=True))
    targets = [("worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": relations(("officeDocument", f"{folder}/workbook.xml")),
        f"{folder}/workbook.xml": part("workbook", f"{settings}<sheets>{listed}</sheets>"),
        f"{folder}/_rels/workbook.xml.rels": relations(
            *targets, ("sharedStrings", "sharedStrings.xml"), ("styles", "/" + folder + "/styles.xml")
        ),
        f"{folder}/sharedStrings.xml": part("sst", texts),
        f"{folder}/styles.xml": part("styleSheet", styles),
        **{f"{folder}/worksheets/sheet{n}.xml": part("worksheet", "<sheetData/>") for n in numbers},
        f"{folder}/worksheets/sheet0.xml": part("worksheet", f"<sheetData>{cells}</sheetData>"),
    }
    return an_archive(parts)


def an_ods(*cells: str, is_encrypted: bool = False) -> bytes:
    """A workbook of OpenDocument whose only sheet has these cells as XML, one below the other."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    prefixes = " ".join(f'xmlns:{each}="{names}:{each}:1.0"' for each in ("office", "table", "text", "manifest"))
    rows = "".join(f"<table:table-row>{each}</table:table-row>" for each in cells)
    sheet = f'<table:table table:name="Liste">{rows}</table:table>'
    encryption = '<manifest:encryption-data manifest:checksum="x"/>' if is_encrypted else ""
    entry = f'<manifest:file-entry manifest:full-path="content.xml">{encryption}</manifest:file-entry>'
    return an_archive(
        {
            "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": (
                f"<office:document-content {prefixes}><office:body><office:spreadsheet>{sheet}</office:spreadsheet>"
                "</office:body></office:document-content>"
            ).encode(),
            "META-INF/manifest.xml": f"<manifest:manifest {prefixes}>{entry}</manifest:manifest>".encode(),
        }
    )


def ods_text(text: str) -> str:
    """A cell of OpenDocument that holds a text."""
    return ods_cell('office:value-type="string"', f"<text:p>{text}</text:p>")


def ods_cell(attributes: str, content: str = "<text:p>as shown</text:p>") -> str:
    """A cell of OpenDocument."""
    return f"<table:table-cell {attributes}>{content}</table:table-cell>"


def an_xlsb(*values: str | float) -> bytes:
    """A binary workbook whose only sheet has these values, one below the other. Source: [MS-XLSB], 2.1.4."""

    def record(number: int, content: bytes = b"") -> bytes:
        head = bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])
        return head + bytes([len(content)]) + content

    def text(written: str) -> bytes:
        return struct.pack("<I", len(written)) + written.encode("utf-16-le")

    def cell(value: str | float) -> bytes:
        where = struct.pack("<II", 0, 0)
        if isinstance(value, str):
            return record(6, where + text(value))
        return record(5, where + struct.pack("<d", value))

    rows = b"".join(record(0, struct.pack("<I13x", row)) + cell(value) for row, value in enumerate(values))
    sheet = record(148, struct.pack("<4I", 0, len(values) - 1, 0, 0)) + record(145) + rows + record(146)
    listed = record(143) + record(156, struct.pack("<2I", 0, 1) + text("r0") + text("Liste")) + record(144)
    relation = f'<Relationship Id="r0" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.bin"/>'
    return an_archive(
        {
            "[Content_Types].xml": TYPES,
            "xl/workbook.bin": record(131) + listed + record(132),
            "xl/_rels/workbook.bin.rels": f"<Relationships>{relation}</Relationships>".encode(),
            "xl/worksheets/sheet1.bin": record(129) + sheet + record(130),
        }
    )
