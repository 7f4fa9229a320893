"""Scanned codes on their page: the device or actor, the lot's data in the code, the register's data."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Literal

import msgspec
from starlette.requests import Request

from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, Overloaded, RateLimited
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.addresses import actor_address, device_address
from registerwatch.register.identifiers import ParsedCode, PartName, kind
from registerwatch.register.standing import (
    DELISTED,
    NEEDS_ATTENTION,
    NOT_IN_REGISTER,
    NOTHING_KNOWN,
    Badge,
    SubjectStanding,
    worst_tone,
)
from registerwatch.watches.imports.import_plan import ImportPlan, PlannedLine
from registerwatch.watches.imports.import_table import ListLine
from registerwatch.web.register_reads import device_for

MAX_READ = 5
"""Devices not in the copy that one scan reads from the register; others are read when they are watched."""

State = Literal["listed", "delisted", "unknown", "unread", "failed", "invalid"]
"""What is known of a subject. `failed`: the register could not be read; `invalid`: the code has no subject."""
_TONES: dict[State, str] = {"delisted": DELISTED[1], "unknown": NOT_IN_REGISTER[1], "failed": "warn", "invalid": "bad"}
WORDS: dict[State, str] = {
    "listed": "In the register",
    "delisted": DELISTED[0],
    "unknown": NOT_IN_REGISTER[0],
    "unread": "Not looked up yet",
    "failed": "Could not be read",
    "invalid": "No device",
}


class ScannedCode(msgspec.Struct, frozen=True):
    """A code and its subject."""

    code: str
    parsed: ParsedCode
    line: PlannedLine
    today: date
    is_watched: bool = False
    """Whether its subject is watched."""
    failure: str = ""
    """Why the register could not be read for it."""
    standing: SubjectStanding = NOTHING_KNOWN
    """The standing of its subject, if the copy has it."""
    certificates: str = ""
    """The standing of its device's certificates in words of files; empty if the copy does not have the device."""

    @property
    def state(self) -> State:
        """What is known of its subject."""
        if self.line.fate == "invalid":
            return "invalid"
        if self.line.known.knowledge == "unread" and self.failure:
            return "failed"
        return self.line.known.knowledge

    @property
    def words(self) -> str:
        """Its state in words; for a listed device that is not on the EU market, its market status."""
        is_off_market = self.line.kind == "udi" and self.standing.status[1] in NEEDS_ATTENTION
        return self.standing.status[0] if self.state == "listed" and is_off_market else WORDS[self.state]

    @property
    def badges(self) -> Sequence[Badge]:
        """Badges of its state and of warnings. With a warning no badge has a good tone."""
        if self.state not in ("listed", "delisted"):
            return [(self.words, _TONES.get(self.state, "none"))]
        warnings = self.standing.warnings
        if self.words != WORDS[self.state]:
            return warnings
        tone = _TONES.get(self.state) or ("none" if warnings else self.standing.tone)
        return [(self.words, tone), *warnings]

    @property
    def tone(self) -> str:
        """The worst tone of the badges."""
        return worst_tone(tone for _, tone in self.badges)

    @property
    def address(self) -> str:
        """The page of its subject."""
        subject = self.line.subject
        return actor_address(subject) if kind(subject) == "srn" else device_address(subject)

    @property
    def is_expired(self) -> bool:
        """Whether its expiry date is past; a month expires at its end."""
        return any(self.today.isoformat()[: len(day)] > day for day in self._values("expiry"))

    def said(self, *names: PartName) -> str:
        """The code's value under these names, with dates as in files; empty if it has none."""
        return ", ".join(value for name in names for value in self._values(name))

    def in_words(self, *names: PartName) -> str:
        """As `said`, in words."""
        return ", ".join(part.in_words for name in names for part in self.parsed.parts if part.name == name)

    def _values(self, name: PartName) -> list[str]:
        return [part.value or part.written for part in self.parsed.parts if part.name == name]


class ScannedCodes(msgspec.Struct, frozen=True):
    """The collected codes, and those just scanned."""

    collected: Sequence[ScannedCode] = ()
    latest: Sequence[ScannedCode] = ()

    @property
    def subjects(self) -> list[str]:
        """The subjects of the collected codes, each once: UDI-DIs and SRNs."""
        return list(dict.fromkeys(each.line.subject for each in self.collected))

    @property
    def unwatched(self) -> list[str]:
        """Subjects that are not watched."""
        return list(dict.fromkeys(each.line.subject for each in self.collected if not each.is_watched))


async def scanned_codes(
    request: Request, service: Service, visitor: Visitor, collected: Sequence[str], latest: Sequence[str] = ()
) -> ScannedCodes:
    """Look up codes. For the latest codes, devices not in the copy are read from the register, few at a time. If the
    account's share of the processor is used, too many lists are being read, or they take too long, codes are returned
    without a lookup.
    """
    codes = list(dict.fromkeys([*collected, *latest]))
    if not codes:
        return ScannedCodes()
    today = visitor.day_of(service.clock.now())
    try:
        plan = await _planned(service, visitor, codes)
        by_code = dict(zip(codes, plan.lines, strict=True))
        if await _read_unread(request, service, [by_code[each] for each in latest]):
            plan = await _planned(service, visitor, codes)
            by_code = dict(zip(codes, plan.lines, strict=True))
        caller = visitor.caller
        read = await service.watches.code_reader.parse(codes, today.year, caller.account.id, caller.network)
    except (InvalidInput, Overloaded, RateLimited) as error:
        return _not_looked_at(collected, latest, today, str(error))
    parsed = dict(zip(codes, read, strict=True))
    watched = await service.watches.service.ids_of(visitor.caller, [line.subject for line in plan.lines])
    standings = await service.records.standings([line.subject for line in plan.lines if line.fate != "invalid"])

    fresh_for = service.settings.fresh_seconds

    def scanned(code: str) -> ScannedCode:
        line = by_code[code]
        stored = standings.get(line.subject)
        standing = NOTHING_KNOWN if stored is None else stored.standing(today)
        certificates = ""
        if stored is not None and line.kind == "udi":
            certificates = stored.certificates_in_file(today, fresh_for)
        failure = service.refresher.failure(line.subject) or ""
        is_watched = line.subject in watched
        return ScannedCode(code, parsed[code], line, today, is_watched, failure, standing, certificates)

    return ScannedCodes(
        [each for each in map(scanned, collected) if each.state != "invalid"],
        [scanned(code) for code in latest],
    )


def _not_looked_at(collected: Sequence[str], latest: Sequence[str], today: date, why: str) -> ScannedCodes:
    def unread(code: str) -> ScannedCode:
        return ScannedCode(code, ParsedCode(), PlannedLine(0, code, code, "new"), today, failure=why)

    return ScannedCodes(list(map(unread, collected)), list(map(unread, latest)))


async def _planned(service: Service, visitor: Visitor, codes: Sequence[str]) -> ImportPlan:
    return await service.watches.imports.plan(visitor.caller, [ListLine(n, code) for n, code in enumerate(codes, 1)])


async def _read_unread(request: Request, service: Service, lines: Iterable[PlannedLine]) -> bool:
    """Read devices that the copy does not have from the register, except for those just asked for. Returns whether the
    register was asked.
    """
    unread = [each for each in lines if each.fate != "invalid" and not each.known.is_of_now]
    subjects = list(dict.fromkeys(each.subject for each in unread if each.kind == "udi"))[:MAX_READ]
    await asyncio.gather(*(_read(request, service, subject) for subject in subjects))
    return bool(subjects)


async def _read(request: Request, service: Service, subject: str) -> None:
    try:
        await device_for(request, service, subject)
    except RateLimited:
        return  # the code is shown as not looked up yet
