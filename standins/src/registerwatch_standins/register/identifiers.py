"""Check characters of UDI-DIs and Basic UDI-DIs.

Where the rules come from:

- GS1 UDI-DI: a GTIN-14, whose last digit is the GS1 modulo-10 check digit (weights 3, 1, 3, … from the left).
- GS1 Basic UDI-DI: a Global Model Number, whose last two characters are the GS1 check character pair (GS1
  General Specifications, section 7.9.5: prime weights, modulo 1021, written in a 32-character alphabet).
- HIBCC Basic UDI-DI: `++`, the labeler code, the model, then the same pair computed over everything before
  it, the two plus signs included. Real ones (`++E494ZIRKON5F5`, `++E494ARTEX7L`) bear this out.
- HIBCC UDI-DI: labeler code, product code and unit of measure, without the `+` and the check character of a label.
- ICCBBA Basic UDI-DI: its own rule is not known here. The stand-in uses the GS1 pair, so that every generated
  Basic UDI-DI can be checked alike.
"""

_GMN_ALPHABET = "!\"%&'()*+,-./0123456789:;<=>?ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_GMN_VALUES = {character: value for value, character in enumerate(_GMN_ALPHABET)}
_GMN_WEIGHTS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)
_GMN_CHECK_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def gs1_check_digit(digits: str) -> str:
    """The check digit that follows these digits, for any GS1 number that ends in one (GTIN-8 to GTIN-14)."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def is_gtin14(code: str) -> bool:
    """Whether this is a 14-digit GTIN with the right check digit."""
    return len(code) == 14 and code.isascii() and code.isdigit() and gs1_check_digit(code[:-1]) == code[-1]


def check_character_pair(model: str) -> str:
    """The pair that makes a Basic UDI-DI of at most 25 characters out of these at most 23 of the GS1 alphabet."""
    total = sum(weight * _GMN_VALUES[letter] for weight, letter in zip(_GMN_WEIGHTS, reversed(model), strict=False))
    high, low = divmod(total % 1021, 32)
    return _GMN_CHECK_ALPHABET[high] + _GMN_CHECK_ALPHABET[low]


def is_basic_udi(code: str) -> bool:
    """Whether the last two characters are the check pair of those before."""
    return check_character_pair(code[:-2]) == code[-2:]


def sibling_udi_di(udi_di: str, ordinal: int) -> str:
    """Another valid UDI-DI of the same issuer, the `ordinal`-th after this one (from 1).

    A GTIN gets another packaging indicator first and then another item number; other codes get another
    ending.
    """
    if is_gtin14(udi_di):
        indicator, turn = ordinal % 9, ordinal // 9
        item = (int(udi_di[1:13]) + turn) % 10**12
        digits = f"{(int(udi_di[0]) + indicator) % 10}{item:012d}"
        return digits + gs1_check_digit(digits)
    return f"{udi_di[:-1]}{ordinal}{udi_di[-1]}"
