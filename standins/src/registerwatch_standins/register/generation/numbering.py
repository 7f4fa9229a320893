"""UDI-DIs and Basic UDI-DIs of generated devices, and the way back from one to prefix and article.

A GS1 company prefix is the country's three digits and a company number whose first digit says how many digits
are left for the article, so that no prefix begins another: 1 six, 2 five, 3 four, 5 three, 7 two. A HIBCC
labeler code and an ICCBBA facility number are the manufacturer's index, scattered.
"""

from functools import lru_cache

from msgspec import Struct

from registerwatch_standins.register.generation.keys import Scatter
from registerwatch_standins.register.identifiers import check_character_pair, gs1_check_digit
from registerwatch_standins.register.records import IssuingAgency

_ARTICLE_DIGITS = {"1": 6, "2": 5, "3": 4, "5": 3, "7": 2}
_LEADING = {digits: leading for leading, digits in _ARTICLE_DIGITS.items()}
_COMPANY = {digits: Scatter(10 ** (8 - digits), 7_368_787, 31_415) for digits in _LEADING}
_ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = _ALPHANUMERIC[10:]
_LABELER = Scatter(26 * 36**3, 7_368_787, 271_828)
_FACILITY = Scatter(26 * 10**4, 73_687, 27_182)
_PRODUCT = Scatter(10**6, 370_019, 141_421)
_MIN_PREFIX, _MAX_PREFIX = 4, 11


class Prefix(Struct, frozen=True):
    """What the identifiers of a manufacturer begin with. `article_digits` only matter to GS1."""

    agency: IssuingAgency
    text: str
    article_digits: int = 0

    @property
    def basic(self) -> str:
        """What the manufacturer's Basic UDI-DIs begin with."""
        return {"gs1": self.text[1:], "hibcc": f"++{self.text}"}.get(self.agency, self.text)


def gs1_prefix(country_digits: str, manufacturer: int, devices: int) -> Prefix:
    """The prefix of a manufacturer with this many devices."""
    digits = max(2, len(str(devices - 1)))
    company = _COMPANY[digits].there(manufacturer)
    return Prefix("gs1", f"0{country_digits}{_LEADING[digits]}{company:0{8 - digits}d}", digits)


def hibcc_prefix(manufacturer: int) -> Prefix:
    """The labeler code: a letter and three letters or digits."""
    rest, third = divmod(_LABELER.there(manufacturer), 36)
    rest, second = divmod(rest, 36)
    letter, first = divmod(rest, 36)
    return Prefix("hibcc", _LETTERS[letter] + "".join(_ALPHANUMERIC[digit] for digit in (first, second, third)))


def iccbba_prefix(manufacturer: int) -> Prefix:
    """The facility identification number: a letter and four digits."""
    letter, digits = divmod(_FACILITY.there(manufacturer), 10**4)
    return Prefix("iccbba", f"{_LETTERS[letter]}{digits:04d}")


def primary_di(prefix: Prefix, article: int) -> str:
    """The UDI-DI of a manufacturer's article."""
    if prefix.agency == "gs1":
        digits = f"{prefix.text}{article:0{prefix.article_digits}d}"
        return digits + gs1_check_digit(digits)
    if prefix.agency == "hibcc":
        return f"{prefix.text}{_PRODUCT.there(article):06d}1"
    return f"{prefix.text}{article:06d}T{article % 9000 + 1000}"


def article_of(prefix: Prefix, code: str) -> int | None:
    """Which article of the manufacturer this UDI-DI belongs to, if it is one of the manufacturer's."""
    rest = code.removeprefix(prefix.text)
    digits = {"gs1": rest[:-1], "hibcc": rest[:-1], "iccbba": rest[:6]}[prefix.agency]
    if not (digits.isascii() and digits.isdigit()):
        return None
    article = _PRODUCT.back(int(digits)) if prefix.agency == "hibcc" else int(digits)
    return article if primary_di(prefix, article) == code else None


def family_of(code: str) -> int | None:
    """The number of the family that this Basic UDI-DI may belong to."""
    body = code[:-2]
    number = body[len(body.rstrip("0123456789")) :]
    return int(number) if number.isascii() and number else None


def prefixes_of(code: str) -> list[str]:
    """What may be the manufacturer's prefix in a UDI-DI or a Basic UDI-DI, as `Prefix.text` or `Prefix.basic`."""
    return [code[:length] for length in range(_MIN_PREFIX, min(_MAX_PREFIX, len(code)) + 1)]


@lru_cache(maxsize=4096)
def basic_udi(prefix: str, family: int, letters: str) -> str:
    """The Basic UDI-DI of a device family.

    Prefix, three letters of its noun, the family's number, the check pair.
    """
    model = f"{prefix}{letters}{family:02d}"
    return model + check_character_pair(model)
