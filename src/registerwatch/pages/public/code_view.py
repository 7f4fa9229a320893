"""The data in a code beside its device identifier, for pages. Nothing of it is stored."""

from datetime import UTC, datetime

import msgspec

from registerwatch.pages.addresses import actor_address, device_address, search_address
from registerwatch.platform.clock import Clock
from registerwatch.register.identifiers import Candidate, ParsedCode, parse

KINDS = {"udi-di": "UDI-DI", "basic-udi-di": "Basic UDI-DI", "srn": "SRN", "certificate": "Certificate"}


class CodeView(msgspec.Struct, frozen=True):
    """A code with more data than its identifier."""

    parsed: ParsedCode

    @classmethod
    def of(cls, text: str, clock: Clock) -> "CodeView | None":
        """The code in a text, None for words and for a plain identifier."""
        parsed = parse(text, datetime.fromtimestamp(clock.now(), UTC).year)
        is_code = parsed.is_marked or any(each.kind != "certificate" for each in parsed.candidates)
        return cls(parsed) if is_code and parsed.says_more else None

    @property
    def readings(self) -> list[tuple[str, Candidate, str]]:
        """For each identifier that the code can mean: its kind, the candidate, and the address of its page."""
        return [(KINDS[each.kind], each, _address(each)) for each in self.parsed.candidates]


def _address(candidate: Candidate) -> str:
    if candidate.kind == "udi-di":
        return device_address(candidate.value)
    return actor_address(candidate.value) if candidate.kind == "srn" else search_address(candidate.value)
