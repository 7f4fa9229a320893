"""The UDI-DI or SRN that a code of a list means, given what is known. Pure.

A code can be made to be slow to read: half a millisecond. So the service reads codes in a separate process
(`code_process.py`). What it keeps of them is quick to use.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.lookup.known_devices import one_of, the_owner
from registerwatch.register.identifiers import (
    as_registered,
    can_be_stored,
    kind,
    read_code,
    udi_spellings,
    udis_like_srn,
    why_none,
)
from registerwatch.watches.subjects import subject as subject_of

CodedDevices = Mapping[str, Sequence[str]]
"""The UDI-DIs of devices by another code of theirs, such as that of a package."""
NO_CODES: CodedDevices = {}


class CodeOfList(msgspec.Struct, frozen=True, array_like=True):
    """The meanings of a code of a list."""

    written: str
    """The identifier as it is written."""
    subject: str | None
    """Its certain meaning, None if it means one of several or none."""
    certain: str
    """Its certain meaning, else what is written."""
    problem: str
    """Why `certain` cannot be a device or an actor; empty if it can."""
    like_srn: tuple[str, ...]
    """The UDI-DIs that it can be as it is written, if it can also be an SRN."""
    devices: tuple[tuple[str, ...], ...]
    """The spellings of each device that it can mean."""
    spellings: tuple[str, ...]
    """Every UDI-DI and SRN under which the meant record may be stored."""

    @classmethod
    def of(cls, text: str) -> "CodeOfList":
        """Read a code. Raises `InvalidInput` if it is not an identifier."""
        parsed = read_code(text)
        subject = parsed.subject
        try:
            written = subject_of(text)
        except InvalidInput:
            if subject is None:
                raise
            written = subject
        certain, like_srn = subject or as_registered(written), udis_like_srn(text)
        return cls(
            written,
            subject,
            certain,
            why_none(certain, parsed if certain == text else None) or "",
            like_srn,
            tuple(each.spellings for each in parsed.devices),
            _storable((written, *like_srn, *udi_spellings(text, parsed))),
        )

    @property
    def udis(self) -> tuple[str, ...]:
        """What is written, and every UDI-DI that it can mean."""
        return (self.written, *(each for spellings in self.devices for each in spellings))

    @property
    def possible_udis(self) -> tuple[str, ...]:
        """Every UDI-DI that it can mean: the copy may have it as another code of a device."""
        return _storable(self.udis) if kind(self.written) == "udi" else ()

    @property
    def is_doubtful(self) -> bool:
        """Whether only the copy can decide what it means."""
        return bool(self.problem or self.like_srn) or len({*self.udis}) > 1

    def meaning(self, *known: Collection[str], coded: CodedDevices = NO_CODES) -> str:
        """The identifier that the code means. In this order: the written one if it is known; the only known candidate
        (the first collection that has one decides); the device that has it as another code; what it certainly means;
        what is written.

        Raises `AmbiguousCode` if several known identifiers fit.
        """
        for each in (*self.like_srn, self.written):
            if any(each in some for some in known):
                return each
        candidates = (one_of(self.devices, some) for some in known)
        found = next(filter(None, candidates), None)
        if found is None:
            found = the_owner([udi for each in self.udis for udi in coded.get(each, ())])
        return found or self.certain


def _storable(subjects: Collection[str]) -> tuple[str, ...]:
    return tuple(each for each in dict.fromkeys(subjects) if can_be_stored(each))
