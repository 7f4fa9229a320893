"""What the symbols of one photo say together."""

import pytest

from registerwatch.files.scan.symbols import Symbol, codes_of

UDI, OTHER = "0104012345678901", "0104012345678918"
DATES = "1728013110A1"


def matrix(text: str) -> Symbol:
    return Symbol("Data Matrix", "]d2", text)


def bars(text: str, identifier: str = "]C1") -> Symbol:
    return Symbol("Code 128", identifier, text)


CASES = {
    "separators and the symbology are kept": ([matrix(f"{UDI}10A1\x1d21X")], [f"]d2{UDI}10A1\x1d21X"]),
    "the same in two symbols is one code": ([matrix(UDI + DATES), bars(UDI + DATES)], [f"]d2{UDI}{DATES}"]),
    "device and dates in two symbols are one code": ([bars(DATES), bars(UDI)], [f"]C1{UDI}\x1d{DATES}"]),
    "dates beside two devices stay alone": (
        [bars(UDI), bars(OTHER), bars(DATES)],
        [f"]C1{UDI}", f"]C1{OTHER}", f"]C1{DATES}"],
    ),
    "dates alone stay alone": ([bars(DATES)], [f"]C1{DATES}"]),
    "a GTIN beside the whole UDI says nothing more": (
        [Symbol("EAN-13", "]E0", "4012345678901"), matrix(UDI + DATES)],
        [f"]d2{UDI}{DATES}"],
    ),
    "HIBC and other codes stay as they are": (
        [Symbol("Code 39", "]A0", "+A99912345/$$52001510X3G"), Symbol("QR Code", "]Q1", "https://example.com/x")],
        ["+A99912345/$$52001510X3G", "https://example.com/x"],
    ),
    "what no code is long enough for is dropped": ([Symbol("QR Code", "]Q1", "1" * 501)], []),
    "nothing": ([], []),
}


@pytest.mark.parametrize(("symbols", "codes"), CASES.values(), ids=CASES)
def test_codes_of_one_photo(symbols: list[Symbol], codes: list[str]) -> None:
    assert codes_of(symbols) == codes
