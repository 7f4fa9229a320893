"""The UDI-DI or SRN that a code of a list means, given what is known. Pure."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.lookup.code_service import one_of, the_owner
from registerwatch.register.identifiers import (
    ParsedCode,
    as_registered,
    can_be_stored,
    read_code,
    udi_spellings,
    udis_like_srn,
)
from registerwatch.watches.subjects import subject as subject_of

CodedDevices = Mapping[str, Sequence[str]]
"""The UDI-DIs of devices by another code of theirs, such as that of a package."""
NO_CODES: CodedDevices = {}


class CodeOfList(msgspec.Struct, frozen=True):
    """A code as it stands in a list, read once."""

    text: str
    parsed: ParsedCode
    written: str
    """The identifier as it is written."""
    certain: str
    """Its certain meaning, else what is written."""

    @classmethod
    def of(cls, text: str) -> "CodeOfList":
        """Read a code. Raises `InvalidInput` if it is not an identifier."""
        parsed = read_code(text)
        try:
            written = subject_of(text)
        except InvalidInput:
            if parsed.subject is None:
                raise
            written = parsed.subject
        return cls(text, parsed, written, parsed.subject or as_registered(written))

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every UDI-DI and SRN under which the meant record may be stored."""
        meant = (self.written, *udis_like_srn(self.text), *udi_spellings(self.text, self.parsed))
        return tuple(dict.fromkeys(each for each in meant if can_be_stored(each)))

    def meaning(self, *known: Collection[str], coded: CodedDevices = NO_CODES) -> str:
        """The identifier that the code means. In this order: the written one if it is known; the only known candidate
        (the first collection that has one decides); the device that has it as another code; what it certainly means;
        what is written.

        Raises `AmbiguousCode` if several known identifiers fit.
        """
        for each in (*udis_like_srn(self.text), self.written):
            if any(each in some for some in known):
                return each
        candidates = (one_of(self.parsed, some) for some in known)
        found = next(filter(None, candidates), None)
        if found is None:
            named = (self.written, *self.parsed.device_spellings)
            found = the_owner([udi for each in named for udi in coded.get(each, ())])
        return found or self.certain
