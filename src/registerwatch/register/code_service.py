"""Which UDI-DI or SRN a typed or scanned code means, by what the copy has of it."""

from collections.abc import Collection, Sequence

from registerwatch.errors import InvalidInput
from registerwatch.register.identifiers import ParsedCode, can_be_stored, kind, read_code, subject, udis_like_srn
from registerwatch.register.store.documents import DocumentReader


class AmbiguousCode(InvalidInput):
    """The copy has several devices that a code can mean."""


class CodeService:
    """Reads codes beside one copy."""

    def __init__(self, documents: DocumentReader) -> None:
        self._documents = documents

    async def subject(self, text: str) -> str:
        """The subject that a code means: what the copy has as it is written, else the one candidate that the copy has,
        else the one that the code certainly means, else the text as it is.

        Raises `InvalidInput` for what is no identifier, `AmbiguousCode`.
        """
        read = read_code(text)
        try:
            written = subject(text)
        except InvalidInput:
            if read.subject is None:
                raise
            written = read.subject
        if kind(written) == "srn":
            return await self._first_stored(udis_like_srn(text)) or written
        if set(read.device_spellings) <= {written} or await self._is_stored(written):
            return written
        known = {each for each in read.device_spellings if await self._is_stored(each)}
        return one_of(read, known) or read.subject or written

    async def _first_stored(self, udis: Sequence[str]) -> str | None:
        for udi in udis:
            if await self._is_stored(udi):
                return udi
        return None

    async def _is_stored(self, udi: str) -> bool:
        return can_be_stored(udi) and await self._documents.device(udi) is not None


def one_of(read: ParsedCode, known: Collection[str]) -> str | None:
    """The one candidate of a code that is among the known UDI-DIs, as it is known; None for none.

    Raises `AmbiguousCode` where several are.
    """
    found = [next((each for each in device.spellings if each in known), None) for device in read.devices]
    distinct = list(dict.fromkeys(each for each in found if each))
    if len(distinct) > 1:
        raise AmbiguousCode(f"This code can be {' or '.join(distinct)}. Send the one that you mean.")
    return distinct[0] if distinct else None
