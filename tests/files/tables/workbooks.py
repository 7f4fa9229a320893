"""Workbooks for tests, made by openpyxl or of XML as other programs write it."""

import io
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
