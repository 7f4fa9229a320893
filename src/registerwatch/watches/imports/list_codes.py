"""Which UDI-DI or SRN a code of a list means, beside what is known of some. Pure."""

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
"""UDI-DIs of the devices of which something is another code, such as that of a package, by that code."""
NO_CODES: CodedDevices = {}


class CodeOfList(msgspec.Struct, frozen=True):
    """A code as it stands in a list, read once."""

    text: str
    parsed: ParsedCode
    written: str
    """The identifier as it is written."""
    certain: str
    """What it certainly means, else what is written."""

    @classmethod
    def of(cls, text: str) -> "CodeOfList":
        """Read a code. Raises `InvalidInput` for what is no identifier."""
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
        """Every UDI-DI and SRN under which a record may be that the code means."""
        meant = (self.written, *udis_like_srn(self.text), *udi_spellings(self.text, self.parsed))
        return tuple(dict.fromkeys(each for each in meant if can_be_stored(each)))

    def meaning(self, *known: Collection[str], coded: CodedDevices = NO_CODES) -> str:
        """What the code means: what is known as it is written, else the one candidate that is known (of several
        collections the first that has one decides), else the device of which it is another code, else what it
        certainly means, else what is written.

        Raises `AmbiguousCode` for a code that can be several of those that are known.
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
