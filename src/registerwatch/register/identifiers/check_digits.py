"""Check digits and characters of the issuing agencies, each a function over the characters before them.

Sources: GS1 General Specifications 7.9.1 (modulo 10) and 7.9.5 (check character pair); ANSI/HIBC 2.6 appendix B
(modulo 43); HIBC Basic UDI-DI; IFA, Technical Notes - Check Digit Calculations (modulo 97); ICCBBA ST-001 appendix A
(ISO/IEC 7064 modulo 37-2).
"""

from itertools import accumulate

_CHARACTERS_82 = "!\"%&'()*+,-./0123456789:;<=>?ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_VALUES_82 = {character: value for value, character in enumerate(_CHARACTERS_82)}
_CHARACTERS_32 = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)
MAX_PAIRED = len(_PRIMES)
"""Characters before the longest check character pair."""

_CHARACTERS_43 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-. $/+%"
_VALUES_43 = {character: value for value, character in enumerate(_CHARACTERS_43)}
_CHARACTERS_37 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*"


def is_number(text: str) -> bool:
    """Whether a text has only digits from 0 to 9: `isdigit` also accepts `²` and `٣`, which no code has."""
    return text.isascii() and text.isdigit()


def gs1_digit(digits: str) -> str:
    """The digit after the others of a GTIN: modulus 10, weights 3 and 1 from the right."""
    total = sum(int(digit) * (3 if position % 2 == 0 else 1) for position, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def has_gs1_check_digit(digits: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    return gs1_digit(digits[:-1]) == digits[-1]


def character_pair(text: str) -> str | None:
    """The pair after a GS1 or HIBC Basic UDI-DI and a EUDAMED DI: modulus 1021, prime weights from the right.

    None for a text that is too long or has a character that such codes cannot have.
    """
    if len(text) > MAX_PAIRED or not all(character in _VALUES_82 for character in text):
        return None
    total = sum(weight * _VALUES_82[character] for weight, character in zip(_PRIMES, reversed(text), strict=False))
    high, low = divmod(total % 1021, 32)
    return _CHARACTERS_32[high] + _CHARACTERS_32[low]


def hibc_character(text: str) -> str | None:
    """The character after a HIBC bar code, its `+` included: modulus 43. None where it has other characters."""
    if not all(character in _VALUES_43 for character in text):
        return None
    return _CHARACTERS_43[sum(_VALUES_43[character] for character in text) % 43]


class HibcSums:
    """Sums over the beginnings of a text, which give the check character of any part of it at once."""

    def __init__(self, text: str) -> None:
        values = [_VALUES_43.get(character) for character in text]
        self._text = text
        self._sums = [0, *accumulate(value or 0 for value in values)]
        self._strange = [0, *accumulate(value is None for value in values)]

    def is_checked(self, start: int, end: int) -> bool:
        """Whether the last character of a part, which has at least two, is the check character of the others."""
        if self._strange[end] > self._strange[start]:
            return False
        return self._text[end - 1] == _CHARACTERS_43[(self._sums[end - 1] - self._sums[start]) % 43]


def ifa_digits(text: str) -> str:
    """The two digits after a PPN, HPC, Master UDI-DI or Basic UDI-DI of IFA: modulus 97, weights from 2 on."""
    return f"{sum(ord(character) * weight for weight, character in enumerate(text, start=2)) % 97:02}"


def donation_value(number: str) -> int | None:
    """The checksum of the 13 characters of a donation identification number, 0 to 36: modulus 37-2."""
    total = 0
    for character in number:
        value = _CHARACTERS_37.find(character)
        if value < 0:
            return None
        total = (total + value) * 2 % 37
    return (38 - total) % 37
