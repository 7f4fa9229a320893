"""The plan of an import: what becomes of each line, given the watches and the copy. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import PROBLEMS
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import Kind, kind
from registerwatch.register.standing import DELISTED, NOT_IN_REGISTER, Badge
from registerwatch.watches.imports.import_table import ListLine
from registerwatch.watches.imports.list_codes import NO_CODES, CodedDevices, CodeOfList

MAX_SHOWN = 120
"""Characters of a line that are repeated in the answer."""

PlannedFate = Literal["new", "watched", "twice", "left", "invalid"]
"""`twice`: an earlier line has the same subject. `left`: the plan allows no more watches."""

Knowledge = Literal["listed", "delisted", "unknown", "unread"]
"""What is known of a subject: the register lists it; no longer lists it; had no such record when last asked; was never
asked.
"""


class ReadLine(msgspec.Struct, frozen=True):
    """A line of a list with its code."""

    number: int
    typed: str
    code: CodeOfList | None
    """None if the line is not an identifier."""
    reason: str
    """Why it is not an identifier, or why its certain meaning cannot be a device or an actor."""

    @classmethod
    def of(cls, line: ListLine, read: CodeOfList | str) -> "ReadLine":
        """A line with what was read of its cell: a code, or why it is none."""
        if line.problem:
            read = PROBLEMS[line.problem]
        typed = _shown(line.cell)
        if isinstance(read, str):
            return cls(line.number, typed, None, read)
        return cls(line.number, typed, read, read.problem)

    @property
    def doubtful(self) -> Sequence[str]:
        """Subjects that the line may mean, if only the copy can decide."""
        return self.code.spellings if self.code is not None and self.code.is_doubtful else ()

    @property
    def possible_udis(self) -> Sequence[str]:
        """Every UDI-DI that the line can mean."""
        return self.code.possible_udis if self.code is not None else ()


class KnownSubject(msgspec.Struct, frozen=True):
    """What the copy, or a watch of the account, says of a subject."""

    knowledge: Knowledge
    name: str = ""
    manufacturer: str = ""
    is_of_watch: bool = False
    """Whether only a watch of the account says that the register does not have it."""
    as_of: int | None = None
    """When a read of that watch said so, unix seconds; None if that is not stored."""

    @property
    def badge(self) -> Badge | None:
        """The badge of a subject that the register does not list."""
        return {"delisted": DELISTED, "unknown": NOT_IN_REGISTER}.get(self.knowledge)

    @property
    def is_of_now(self) -> bool:
        """Whether the copy has it, or the register was asked for it within the last minute."""
        return self.knowledge != "unread" and not self.is_of_watch


NOT_LOOKED = KnownSubject("unread")


class PlannedLine(msgspec.Struct, frozen=True):
    """One line of a list."""

    number: int
    typed: str
    subject: str
    """The identifier, or an invalid text."""
    fate: PlannedFate
    reason: str = ""
    """Why the line is not used."""
    known: KnownSubject = NOT_LOOKED

    @property
    def kind(self) -> Kind:
        """The kind of the subject, if the line is used."""
        return kind(self.subject)


@dataclass(frozen=True)
class ImportPlan:
    """The fate of each line of an import."""

    lines: Sequence[PlannedLine]
    present: int
    """Watches before the import."""
    cap: int

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many lines have each fate."""
        return Counter(line.fate for line in self.lines)

    def of(self, *fates: PlannedFate) -> Sequence[PlannedLine]:
        """The lines with one of these fates, in order."""
        return [line for line in self.lines if line.fate in fates]

    @property
    def free(self) -> int:
        """How many watches the plan allowed beyond those that were there."""
        return max(0, self.cap - self.present)

    def with_known(self, known: Mapping[str, KnownSubject]) -> "ImportPlan":
        """The plan with what the copy says of each subject."""
        lines = [replace(line, known=known.get(line.subject, NOT_LOOKED)) for line in self.lines]
        return ImportPlan(lines, self.present, self.cap)


def plan_lines(
    lines: Iterable[ReadLine],
    present: Collection[str],
    known: Collection[str],
    cap: int,
    coded: CodedDevices = NO_CODES,
) -> list[PlannedLine]:
    """What becomes of each line. Whatever is watched (`present`) or in the copy (`known`) is an identifier in any
    form. `coded` has devices by other codes, such as those of packages.
    """
    known = {*known, *(udi for udis in coded.values() for udi in udis)}
    planned: list[PlannedLine] = []
    new: set[str] = set()
    listed: set[str] = set()
    for each in lines:
        line = _planned(each, present, known, coded)
        if line.fate == "new":
            if line.subject in present or line.subject in new:  # it needs no free watch
                line = replace(line, fate="twice" if line.subject in listed else "watched")
            elif len(present) + len(new) >= cap:
                line = replace(line, fate="left", reason=_cap_reason(cap))
            else:
                new.add(line.subject)
            listed.add(line.subject)
        planned.append(line)
    return planned


def _planned(line: ReadLine, present: Collection[str], known: Collection[str], coded: CodedDevices) -> PlannedLine:
    """A line that can be added, or is invalid."""
    if line.code is None:
        return PlannedLine(line.number, line.typed, line.typed, "invalid", line.reason)
    try:
        subject = line.code.meaning(present, known, coded=coded)
    except InvalidInput as error:
        return PlannedLine(line.number, line.typed, line.typed, "invalid", str(error))
    reason = "" if subject in present or subject in known else line.reason
    return PlannedLine(line.number, line.typed, subject, "invalid" if reason else "new", reason)


def _shown(cell: str) -> str:
    """The beginning of a cell, without lone surrogates, which no answer can hold."""
    return cell[:MAX_SHOWN].encode("utf-8", "replace").decode()


def _cap_reason(cap: int) -> str:
    return f"the plan allows {cap:,} watches; the rest was left."
