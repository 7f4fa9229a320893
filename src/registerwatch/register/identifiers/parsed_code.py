"""Results of reading a typed or scanned code: its possible identifiers, and its other facts about one device."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from registerwatch.platform.clock import date_in_words

CandidateKind = Literal["udi-di", "basic-udi-di", "srn", "certificate"]
Agency = Literal["gs1", "hibcc", "iccbba", "ifa", "eudamed"]
Verdict = Literal["right", "wrong", "absent", "unknown"]
"""`absent`: the code has none. `unknown`: its form has none, or it is unclear whether it is one."""

PartName = Literal["lot", "serial", "expiry", "production-date", "quantity", "donation", "other"]
LABELS: dict[PartName, str] = {
    "lot": "Lot",
    "serial": "Serial number",
    "expiry": "Expiry date",
    "production-date": "Production date",
    "quantity": "Quantity",
    "donation": "Donation identification number",
}


class CheckDigits(msgspec.Struct, frozen=True):
    """The verdict on an identifier's check digits or characters; `expected` is what they should be."""

    verdict: Verdict
    expected: str = ""
    unit: str = "digit"

    @property
    def problem(self) -> str:
        """A sentence on wrong check digits, else empty."""
        if self.verdict == "wrong":
            return f"The last {self.unit} should be {self.expected}, so it is mistyped or this is something else."
        return ""


UNCHECKED = CheckDigits("unknown")
ABSENT = CheckDigits("absent")


class Candidate(msgspec.Struct, frozen=True):
    """One identifier that a code can mean."""

    kind: CandidateKind
    value: str
    """The identifier as the register writes it, as far as known."""
    form: str
    """The name of its form, such as `GTIN-13`."""
    agency: Agency | None = None
    check: CheckDigits = UNCHECKED
    note: str = ""
    """Further facts about this reading, in sentences."""
    also: tuple[str, ...] = ()
    """Other ways in which the register may write the same identifier."""
    is_marked: bool = False
    """Whether the code itself says its kind, by brackets, a data identifier or the like."""
    is_derived: bool = False
    """Whether it is not another reading of the code, but follows from the candidate before it."""

    @property
    def explanation(self) -> str:
        """Why this is a candidate, and the verdict on its check digits, in sentences."""
        return " ".join(filter(None, (f"{self.form}.", self.note, self.check.problem)))

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every way in which the register may write it, most likely first."""
        return (self.value, *self.also)


class Part(msgspec.Struct, frozen=True):
    """Another fact in a code, of one lot or one device."""

    name: PartName
    written: str
    """The text in the code."""
    value: str | None
    """The readable value: a date as `2028-01-31` or `2028-01`, others unchanged; None for an invalid date."""
    qualifier: str
    """What announces it in the code, such as `17` or `$$3`."""
    title: str = ""
    """Its name, where `name` is `other`."""

    @property
    def label(self) -> str:
        """Its name for people."""
        return LABELS.get(self.name) or self.title or f"Field {self.qualifier}"

    @property
    def in_words(self) -> str:
        """Its value for people: a date as `31 Jan 2028`."""
        return date_in_words(self.value) if self.value and self.value != self.written else self.written


@dataclass(frozen=True)
class ParsedCode:
    """The meaning of a code. `candidates` begin with the likeliest."""

    candidates: tuple[Candidate, ...] = ()
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    is_marked: bool = field(default=False, compare=False)
    """Whether the code itself says its kind; else it may be words or a number of another kind."""

    @property
    def subject(self) -> str | None:
        """The UDI-DI or SRN that the code certainly means; None where it means none, or one of several."""
        readings = [each for each in self.candidates if each.kind != "certificate" and not each.is_derived]
        likely = [each for each in readings if _RANK[each.check.verdict] == _RANK[readings[0].check.verdict]]
        is_wrong = any(each.check.verdict == "wrong" and not each.is_marked for each in likely)
        if is_wrong or len({each.value for each in likely}) != 1:
            return None
        values = [each.value for each in (*likely, *self._derived) if each.kind in {"udi-di", "srn"}]
        return values[0] if values else None

    @property
    def _derived(self) -> list[Candidate]:
        return [each for each in self.candidates if each.is_derived]

    @property
    def devices(self) -> tuple[Candidate, ...]:
        """The candidates that are UDI-DIs."""
        return tuple(each for each in self.candidates if each.kind == "udi-di")

    @property
    def device_spellings(self) -> tuple[str, ...]:
        """Every way in which the register may write a UDI-DI that the code can mean, most likely first."""
        return tuple(dict.fromkeys(spelling for each in self.devices for spelling in each.spellings))

    @property
    def says_more(self) -> bool:
        """Whether the code has facts beside its identifier."""
        distinct = {each.value for each in self.candidates if each.kind != "certificate"}
        is_wrong = any(each.check.verdict == "wrong" for each in self.candidates)
        return bool(self.parts or self.warnings) or len(distinct) > 1 or is_wrong


_RANK: dict[Verdict, int] = {"right": 0, "unknown": 1, "absent": 1, "wrong": 2}


def in_order(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The likeliest first: right check digits before none, none before wrong ones; none twice."""
    distinct: dict[tuple[str, str, str | None], Candidate] = {}
    for each in candidates:
        distinct.setdefault((each.kind, each.value, each.agency), each)
    return tuple(sorted(distinct.values(), key=lambda each: _RANK[each.check.verdict]))
