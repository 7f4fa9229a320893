"""What is known of saved lists, their uploads and their lines."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from registerwatch.files.tables.table import ReadChoices, Table

UploadState = Literal["waiting", "working", "failed", "ready", "kept"]
"""`waiting` for a node; `working`, a node reads and matches it; `failed`, it cannot be read; `ready` to be kept or
discarded; `kept`, its lines are those of the list.
"""

Standing = Literal["found", "off_market", "delisted", "unknown", "ambiguous", "invalid"]
"""What the copy has for a code, whatever the date: a device or an actor that it lists; a device that is not on the EU
market; one that the register lists no more; nothing, though the code can be one; several devices; or the code is none.
"""

Coverage = Literal["found", "certificate_ended", "off_market", "delisted", "unknown", "ambiguous", "invalid"]
"""The same on a day: of what is found, `certificate_ended` has certificates of which none counts any more."""

COVERAGES: Sequence[Coverage] = (
    "found",
    "certificate_ended",
    "off_market",
    "delisted",
    "unknown",
    "ambiguous",
    "invalid",
)

LineChange = Literal["new", "changed", "same"]
"""A line of an upload beside the list as it is: not there, there with other cells, there as it is."""

MAX_NAME_LENGTH = 80
MAX_LISTS = 50
MAX_WAITING = 5
"""Uploads of an account that are not kept yet."""


class FoundTable(Struct, frozen=True):
    """How a file was read, and what can be corrected."""

    headings: Sequence[str]
    code_column: int
    choices: ReadChoices
    is_encoding_guessed: bool
    sheets: Sequence[str]
    code_columns: Sequence[int]
    left_out_columns: int = 0
    typed_columns: Sequence[int] = ()

    @classmethod
    def of(cls, table: Table) -> "FoundTable":
        """How a table was read."""
        return cls(
            table.headings,
            table.choices.code_column or 0,
            table.choices,
            table.is_encoding_guessed,
            table.sheets,
            table.code_columns,
            table.left_out_columns,
            table.typed_columns,
        )

    @property
    def own_headings(self) -> Sequence[str]:
        """The headings of the columns beside the code."""
        return [each for place, each in enumerate(self.headings) if place != self.code_column]

    @property
    def code_heading(self) -> str:
        """The heading of the column with the codes."""
        return self.headings[self.code_column]


class Upload(msgspec.Struct, frozen=True):
    """A file that was sent for a list."""

    id: int
    list_id: int
    created_at: int
    filename: str
    choices: ReadChoices
    found: FoundTable | None
    """None before it was read."""
    state: UploadState
    problem: str
    total: int | None
    matched: int
    keeps_itself: bool
    revision: int
    """The revision of the copy as of which its lines are, at least."""
    is_stored: bool
    """Whether the file itself is still there. One that is kept or cannot be read is not."""
    waits_until: int | None
    """Until when it is not read for the reason that `problem` says; None where it waits for no time."""

    @property
    def is_under_way(self) -> bool:
        """Whether a node works on it or will."""
        return self.state in ("waiting", "working")


class CoverageCounts(msgspec.Struct, frozen=True):
    """How many lines stand how."""

    of: Mapping[Coverage, int]
    watched: int = 0
    """Lines whose subject the account watches."""
    certs_unread: int = 0
    """Devices among `found` whose certificates nobody has read yet."""

    @property
    def total(self) -> int:
        """All lines."""
        return sum(self.of.values())


class Differences(msgspec.Struct, frozen=True):
    """How an upload differs from the list as it is, in lines."""

    new: int
    changed: int
    same: int
    gone: int


class ItemList(msgspec.Struct, frozen=True):
    """A saved list, with its uploads where there are any: the one that it has, and the one that waits."""

    id: int
    name: str
    created_at: int
    kept: Upload | None = None
    waiting: Upload | None = None


class ListLine(msgspec.Struct, frozen=True):
    """One line of a list."""

    number: int
    code: str
    cells: Sequence[str]
    """Of the columns beside the code, in the order of the file; empty ones at the end are left out."""
    subject: str | None
    coverage: Coverage
    reason: str
    certified_until: str | None
    """Date, which may have passed; empty where no certificate counted on the day before it was stored; None where there
    is none with an end, or where that is not known."""
    certs_read: bool
    is_watched: bool


class LineFilter(msgspec.Struct, frozen=True):
    """Which lines: of one coverage, of a text in code or cells, watched or not, of a change since the list as it is."""

    coverage: Coverage | None = None
    text: str = ""
    is_watched: bool | None = None
    change: LineChange | None = None

    @property
    def has_words(self) -> bool:
        """Whether words are looked for."""
        return bool(self.text.strip())

    @property
    def reads_cells(self) -> bool:
        """Whether the cells of every line have to be read for it."""
        return self.has_words or self.change is not None


class SubjectCounts(msgspec.Struct, frozen=True):
    """How many devices and actors some lines mean, each counted once, and how many of these are watched."""

    all: int
    watched: int


class WatchedLines(msgspec.Struct, frozen=True):
    """What watching lines brought: subjects newly watched, watched before, and those that the plan had no room for."""

    added: int
    watched: int
    left: int
    invalid: int = 0
