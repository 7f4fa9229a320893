"""The European Medical Device Nomenclature (EMDN): its codes, and when a list of its terms may be stored. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from registerwatch.errors import InvalidInput

EMDN_CODE = re.compile(r"[A-Z](?:[0-9]{2}){0,6}")
NO_CODE = "is no EMDN code, which is a letter and pairs of digits"
MAX_NAME_LENGTH = 500
MIN_SHARE_OF_STORED = 0.9
"""A list with fewer terms than this share of the stored ones was cut off, rather than shortened."""


class Term(msgspec.Struct, frozen=True):
    """An entry of a list of terms as read: its code and its name, both may be empty or wrong."""

    position: str
    """Location in the list, for people: `Line 3`."""
    code: str
    name: str


class Nomenclature(msgspec.Struct, frozen=True):
    """The result of reading a list of terms."""

    names: Mapping[str, str]
    """Names by code."""
    problems: tuple[str, ...] = ()
    """Why entries could not be read, in a sentence each."""


class NomenclatureSource(Protocol):
    """A source of terms other than a file."""

    async def terms(self) -> list[Term]:
        """All terms. Raises `RegisterFailure` where they, or some of them, could not be read."""


def emdn_levels(code: str) -> Iterator[str]:
    """A code of the nomenclature with all codes above it: `Q010699` as `Q`, `Q01`, `Q0106`, `Q010699`."""
    code = code.upper()
    if EMDN_CODE.fullmatch(code):
        yield from (code[:length] for length in range(1, len(code) + 1, 2))


def nomenclature_of(terms: Iterable[Term]) -> Nomenclature:
    """The names of codes in a list of terms. A repeated code has to have the same name."""
    names: dict[str, str] = {}
    problems: list[str] = []
    for term in terms:
        code, name = "".join(term.code.split()).upper(), " ".join(term.name.split())
        if problem := _problem_of(code, name, names):
            problems.append(f"{term.position}: {problem}.")
        else:
            names[code] = name
    return Nomenclature(names, tuple(problems))


def check_replaces(read: Nomenclature, stored: int, *, is_forced: bool = False) -> None:
    """Raises `InvalidInput` where a list may not replace the `stored` names: it has no term, some of its terms cannot
    be read, or it has far fewer. The last two can be forced.
    """
    first = read.problems[0] if read.problems else ""
    if not read.names:
        raise InvalidInput(f"It has no term with an EMDN code. {first}".rstrip())
    if is_forced:
        return
    if read.problems:
        number = len(read.problems)
        entries = "One term" if number == 1 else f"{number:,} terms"
        raise InvalidInput(f"{entries} of {number + len(read.names):,} cannot be read. {first}")
    if len(read.names) < stored * MIN_SHARE_OF_STORED:
        raise InvalidInput(f"It has {len(read.names):,} of about {stored:,} terms: so many are loaded.")


def _problem_of(code: str, name: str, names: Mapping[str, str]) -> str:
    if not EMDN_CODE.fullmatch(code):
        return f"“{code[:40]}” {NO_CODE}"
    if not name or len(name) > MAX_NAME_LENGTH:
        return f"{code} needs a name of 1 to {MAX_NAME_LENGTH} characters"
    return f"{code} has another name in an earlier entry" if names.get(code, name) != name else ""
