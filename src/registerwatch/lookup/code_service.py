"""Finds the UDI-DI or SRN that a typed or scanned code means, with the help of the copy."""

from collections.abc import Iterable, Sequence

from registerwatch.copy.documents.documents import CodedDevice, DocumentReader, listed_or_all
from registerwatch.errors import InvalidInput
from registerwatch.lookup.known_devices import one_of, the_owner
from registerwatch.register.identifiers import (
    can_be_stored,
    kind,
    read_code,
    subject,
    udi_spellings,
    udis_like_srn,
)
from registerwatch.register.other_codes import OtherCode


class CodeService:
    """Reads codes beside one copy."""

    def __init__(self, documents: DocumentReader) -> None:
        self._documents = documents

    async def subject(self, text: str) -> str:
        """The subject that a code means: a stored subject as written, else the one stored candidate, else the
        one device with this other code (of a package, for example), else the subject that the code certainly means,
        else the text unchanged.

        Raises `InvalidInput` where the text is not an identifier, `AmbiguousCode`.
        """
        return await self._subject(text, is_asked_next=False)

    async def subject_to_read(self, text: str) -> str:
        """The subject for `DeviceService.read`, which queries the copy itself: a UDI-DI written as registered costs no
        statement here.
        """
        return await self._subject(text, is_asked_next=True)

    async def coded(self, text: str) -> list[CodedDevice]:
        """The devices with this other code; none where it is the UDI-DI of a stored device."""
        spellings = [each for each in read_code(text).device_spellings if can_be_stored(each)]
        found = listed_or_all(await self._documents.coded(spellings)) if spellings else []
        return [] if found and await self._first_stored(spellings) else found

    async def _subject(self, text: str, *, is_asked_next: bool) -> str:
        read = read_code(text)
        try:
            written = subject(text)
        except InvalidInput:
            if read.subject is None:
                raise
            written = read.subject
        if kind(written) == "srn":
            return await self._first_stored(udis_like_srn(text)) or written
        others = [each for each in read.device_spellings if each != written]
        if (is_asked_next and not others) or await self._is_stored(written):
            return written
        known = {each for each in others if await self._is_stored(each)}
        found = one_of([each.spellings for each in read.devices], known)
        if found is None:
            device = await coded_device(self._documents, (written, *others))
            found = device.udi if device else None
        return found or read.subject or written

    async def _first_stored(self, udis: Sequence[str]) -> str | None:
        for udi in udis:
            if await self._is_stored(udi):
                return udi
        return None

    async def _is_stored(self, udi: str) -> bool:
        return can_be_stored(udi) and await self._documents.device(udi) is not None


async def coded_device(documents: DocumentReader, codes: Iterable[str]) -> CodedDevice | None:
    """The one device with one of these other codes, None for none.

    The codes may not be UDI-DIs of stored devices. Raises `AmbiguousCode` where several devices have one.
    """
    asked = [each for each in codes if can_be_stored(each)]
    found = listed_or_all(await documents.coded(asked)) if asked else []
    the_owner([each.udi for each in found])
    return found[0] if found else None


def meanings(text: str, udi: str, codes: Sequence[OtherCode]) -> tuple[OtherCode, ...]:
    """The meanings of a text for a device, where it is one of its other codes and not its UDI-DI."""
    if not codes:
        return ()
    spellings = {*udi_spellings(text)}
    return () if udi in spellings else tuple(each for each in codes if each.code in spellings)
