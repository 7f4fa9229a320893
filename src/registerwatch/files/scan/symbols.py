"""The symbols in a photo, and the codes that they form together. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from registerwatch.register.identifiers import MAX_CODE_LENGTH, ParsedCode, read_code

MAX_SYMBOLS = 40
"""Enough for a sheet of labels."""
GS = "\x1d"
OF_GS1 = frozenset({"]C1", "]d2", "]Q3"})
"""Symbology identifiers of GS1 element strings, among the symbols that are read."""


class Symbol(Struct, frozen=True, array_like=True):
    """One symbol in a photo."""

    form: str
    """The name of its symbology, such as `Data Matrix`."""
    identifier: str
    """Its symbology identifier (ISO/IEC 15424), such as `]d2`, which says whether it holds GS1 element strings."""
    text: str

    @property
    def code(self) -> str:
        """The text, with the symbology identifier before it if that announces GS1, as some hand scanners send it."""
        return f"{self.identifier}{self.text}" if self.identifier in OF_GS1 else self.text

    @property
    def names_device(self) -> bool:
        """Whether the code names a device."""
        return bool(read_code(self.code).devices)


def codes_of(symbols: Sequence[Symbol]) -> list[str]:
    """The codes in the symbols of one photo.

    Symbols with the same text are one code. If the photo shows one device only, symbols with its device identifier, lot
    and dates are one code.
    """
    distinct = list({each.text: each for each in reversed(symbols)}.values())[::-1]
    read = [(each, read_code(each.code)) for each in distinct if len(each.text) <= MAX_CODE_LENGTH]
    devices = [each for each in read if each[1].devices]
    rest = [each for each in read if not each[1].devices and each[1].parts and each[0].identifier in OF_GS1]
    others = [each for each in read if each not in devices and each not in rest]
    if rest and len({parsed.subject for _, parsed in devices}) == 1:
        primary = next((each for each, _ in devices if each.identifier in OF_GS1), None)
        if primary is not None:
            joined = Symbol(primary.form, primary.identifier, GS.join([primary.text, *(each.text for each, _ in rest)]))
            devices = [(joined, read_code(joined.code)), *(each for each in devices if each[0] is not primary)]
            rest = []
    return [each.code for each, parsed in (*devices, *rest, *others) if not _is_said_elsewhere(parsed, devices)]


def _is_said_elsewhere(parsed: ParsedCode, devices: Sequence[tuple[Symbol, ParsedCode]]) -> bool:
    """Whether another symbol names the same device and says more."""
    return (
        parsed.subject is not None
        and not parsed.parts
        and any(other.subject == parsed.subject and other.parts for _, other in devices)
    )
