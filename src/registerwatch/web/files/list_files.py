"""Rows of a list to download: its own columns as they were sent, then ours."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, tzinfo

from registerwatch.accounts.ended_period import in_a_cell
from registerwatch.accounts.models import Caller
from registerwatch.errors import InvalidInput
from registerwatch.files.lists.models import Coverage, FoundTable, LineFilter
from registerwatch.files.lists.service import NOTHING_KEPT, ListService, ShownLine
from registerwatch.files.tables.cell_values import value_of
from registerwatch.files.tables.csv_file import Cell, Row
from registerwatch.register.identifiers import kind
from registerwatch.register.standing import COVERED_UNTIL, DELISTED, FIRST_END
from registerwatch.web.files.spreadsheet import day_or_none

COVERAGE_WORDS: Mapping[Coverage, str] = {
    "found": "Found",
    "certificate_ended": "No valid certificate",
    "off_market": "Off the EU market",
    "delisted": DELISTED[0],
    "unknown": "Not in the stored copy",
    "ambiguous": "Can be several",
    "invalid": "Invalid code",
}
OURS = (
    "UDI-DI or SRN",
    "Result",
    "Why",
    "Name",
    "Manufacturer",
    "Manufacturer SRN",
    "Market status",
    "Risk class",
    "Certificates",
    FIRST_END,
    COVERED_UNTIL,
    "Watched",
)


async def list_rows(
    lists: ListService,
    caller: Caller,
    list_id: int,
    chosen: LineFilter,
    *,
    has_types: bool,
    now: float,
    zone: tzinfo = UTC,
) -> tuple[Sequence[str], AsyncIterator[Row]]:
    """The headings and the rows of a list, with days counted in `zone`; `has_types`: for a file with numbers beside
    texts. Raises `InvalidInput` for no list, and for one without lines.
    """
    kept = (await lists.one(caller, list_id)).item_list.kept
    if kept is None or kept.found is None:
        raise InvalidInput(NOTHING_KEPT)
    found = kept.found
    typed, is_watched = found.typed_columns if has_types else (), in_a_cell("yes", caller.account.ended(now))

    async def rows() -> AsyncIterator[Row]:
        async for shown in lists.every_line(caller, kept, chosen, zone=zone):
            yield _row(shown, found, typed, is_watched)

    return _header(found), rows()


def _header(found: FoundTable) -> Sequence[str]:
    """The headings: those of the file, then ours, which are marked where the file has the same."""
    return [*found.headings, *(f"{each} (Registerwatch)" if each in found.headings else each for each in OURS)]


def _row(shown: ShownLine, found: FoundTable, typed: Sequence[int], is_watched: str) -> Row:
    """One line, with values in the columns of the file that are `typed`; `is_watched` is the text for a watched one."""
    line, stored, certificates = shown.line, shown.stored, shown.standing.certificates
    cells: list[Cell] = [*line.cells, *[""] * (len(found.own_headings) - len(line.cells))]
    cells.insert(found.code_column, line.code)
    for column in typed:
        cells[column] = _value(cells[column])
    ours: Row = ["", "", "", "", ""]
    if stored is not None:
        ours = [
            stored.name,
            stored.manufacturer_name,
            stored.manufacturer_srn,
            shown.standing.status_in_file,
            stored.risk_class,
        ]
    return [
        *cells,
        line.subject,
        COVERAGE_WORDS[line.coverage],
        line.reason,
        *ours,
        certificates_words(shown),
        day_or_none(certificates.first_end),
        day_or_none(certificates.covered_until),
        is_watched if line.is_watched else "no",
    ]


def _value(cell: Cell) -> Cell:
    value = value_of(cell) if isinstance(cell, str) else None
    return cell if value is None else value


def certificates_words(shown: ShownLine) -> str:
    """The certificates of a line's device: `Withdrawn (1 of 2)`; empty for actors, and for devices that the copy does
    not have.
    """
    line = shown.line
    if shown.stored is None or line.subject is None or kind(line.subject) != "udi":
        return ""
    return shown.stored.certificates_in_file(shown.today, shown.fresh_for)
