"""Values of saved lists, their uploads and their lines."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from registerwatch.files.tables.table import ReadChoices, Table

UploadState = Literal["waiting", "working", "failed", "ready", "kept"]
"""`waiting` for a node; `working`: a node reads and matches it; `failed`: it cannot be read; `ready` to be kept or
discarded; `kept`: its lines are those of the list.
"""

Standing = Literal["found", "off_market", "delisted", "unknown", "ambiguous", "invalid"]
"""What the copy has for a code, whatever the date: a listed device or actor; a device not on the EU market; one that
the register no longer lists; nothing, though the code is valid; several devices; or the code is invalid.
"""

Coverage = Literal["found", "certificate_ended", "off_market", "delisted", "unknown", "ambiguous", "invalid"]
"""A `Standing` on a day. `certificate_ended`: it is found, and all of its certificates have ended."""

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
"""A line of an upload compared with the present list: not in it, in it with other cells, or the same."""

MAX_NAME_LENGTH = 80
MAX_LISTS = 50
MAX_WAITING = 5
"""The most uploads of an account that are not kept yet."""


class FoundTable(Struct, frozen=True):
    """How a file was read, as far as users can correct it."""

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
        """The headings of all columns but the code's."""
        return [each for column, each in enumerate(self.headings) if column != self.code_column]

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
    """The revision of the copy that its lines reflect at least."""
    is_stored: bool
    """Whether the file itself is still stored. The file of a kept or failed upload is not."""
    waits_until: int | None
    """Until when it is not read, for the reason `problem`; None if it does not wait for a time."""

    @property
    def is_under_way(self) -> bool:
        """Whether a node works on it or will work on it."""
        return self.state in ("waiting", "working")


class ClaimedUpload(msgspec.Struct, frozen=True):
    """An upload that this node works on: its file, its account, and the holder of its lease."""

    upload: Upload
    content: bytes
    account_id: int
    holder: str


class CoverageCounts(msgspec.Struct, frozen=True):
    """How many lines have each coverage."""

    of: Mapping[Coverage, int]
    watched: int = 0
    """Lines whose subject the account watches."""
    certs_unread: int = 0
    """Devices among `found` whose certificates were never read."""

    @property
    def total(self) -> int:
        """All lines."""
        return sum(self.of.values())


class Differences(msgspec.Struct, frozen=True):
    """How many lines of an upload differ from the present list."""

    new: int
    changed: int
    same: int
    gone: int


class ItemList(msgspec.Struct, frozen=True):
    """A saved list, with up to two uploads: the kept one, and the waiting one."""

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
    """Cells of all columns but the code's, in the order of the file; empty ones at the end are left out."""
    subject: str | None
    coverage: Coverage
    reason: str
    certified_until: str | None
    """The last day covered by certificates, which may have passed. Empty if none counted on the day before it was
    stored; None if none has an end, or that is not known."""
    certs_read: bool
    is_watched: bool


class LineFilter(msgspec.Struct, frozen=True):
    """Which lines: by coverage, text in code or cells, watched or not, change since the present list."""

    coverage: Coverage | None = None
    text: str = ""
    is_watched: bool | None = None
    change: LineChange | None = None

    @property
    def has_words(self) -> bool:
        """Whether it has words to search."""
        return bool(self.text.strip())

    @property
    def reads_cells(self) -> bool:
        """Whether it needs the cells of every line."""
        return self.has_words or self.change is not None


class SubjectCounts(msgspec.Struct, frozen=True):
    """How many devices and actors lines mean, each counted once, and how many of these are watched."""

    all: int
    watched: int


class WatchedLines(msgspec.Struct, frozen=True):
    """The result of watching lines: subjects newly watched, watched before, and beyond the plan's limit."""

    added: int
    watched: int
    left: int
    invalid: int = 0
