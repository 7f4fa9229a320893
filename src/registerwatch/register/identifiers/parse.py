"""Reads the identifiers that any text can mean, and its other facts. Pure, and never raises."""

import re
from collections.abc import Iterator

from registerwatch.register.identifiers import eudamed, gs1_messages, gs1_numbers, hibc, iccbba, ifa
from registerwatch.register.identifiers.check_digits import is_number
from registerwatch.register.identifiers.parsed_code import Candidate, ParsedCode, in_order

MAX_CODE_LENGTH = 500
"""Longest text that is read; a UDI with every production identifier has about 150 characters."""
MAX_CERTIFICATE_LENGTH = 120
ANY_YEAR = 2000
"""A year for callers that need no dates: the identifiers in a code do not depend on it."""

_TAGS = re.compile(r"[<{](GS|FNC1|FNC|RS|EOT)[>}]|\\x1[de]|\\u001[de]|[␝␞␄]", re.IGNORECASE)
_CONTROLS = {"rs": "\x1e", "␞": "\x1e", "\\x1e": "\x1e", "\\u001e": "\x1e", "eot": "\x04", "␄": "\x04"}
_BLANKS = re.compile(r"[^\S\x1c-\x1f]+")
_UNSEEN = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\u00ad"))
_SYMBOLOGY = re.compile(r"\]([A-Za-z])([0-9A-Za-z])")
_OF_GS1 = frozenset({"C1", "e0", "e1", "e2", "d2", "Q3", "J1", "z1"})
"""Symbology identifiers that announce GS1 element strings (GS1 General Specifications 5.1.2)."""
_LABEL = re.compile(
    r"^(?:basic[ -]?)?(?:udi(?:[ -]di)?|gtin(?:-?[0-9]{1,2})?|ean|srn|ppn|hpc)\s*[:=]\s*", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_UNBRACKETED = re.compile(r"01[0-9]{14}|00[0-9]{18}$")
_IN_BRACKETS = re.compile(r"\([0-9]{8,14}\)")
_INNER_BLANK = re.compile(r"\s")
_MARK_OF_LETTERS = re.compile("9N|0[01][0-9]{14}")
_DIGIT = re.compile("[0-9]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MEANINGFUL = re.compile("[0-9A-Za-z]")


def parse(text: str, this_year: int) -> ParsedCode:
    """The possible meanings of a typed or scanned text. `this_year` decides the century of dates."""
    if len(text) > MAX_CODE_LENGTH:
        return ParsedCode(warnings=(f"This has {len(text)} characters; codes have at most {MAX_CODE_LENGTH}.",))
    if not _DIGIT.search(text) and "+" not in text:
        return ParsedCode()  # the same result as below, for most searches
    if text.isascii() and text.isalnum() and not _MARK_OF_LETTERS.match(text):
        return _unmarked(text)  # quickly, since most requested UDI-DIs are written like that
    plain = _LABEL.sub("", eudamed.with_plain_dashes(text.translate(_UNSEEN)).lstrip(" \t\r\n\u00a0"), count=1)
    code = _TAGS.sub(_control, plain).rstrip("\t\r\n\u00a0")
    symbology = _SYMBOLOGY.match(code)
    if symbology:
        code = code[3:]
    found = _marked(code, this_year, is_gs1=symbology is not None and symbology.group()[1:] in _OF_GS1)
    return found if found is not None else _unmarked(code.strip())


def _control(tag: re.Match[str]) -> str:
    return _CONTROLS.get((tag.group(1) or tag.group()).lower(), gs1_messages.GS)


def _marked(code: str, this_year: int, *, is_gs1: bool) -> ParsedCode | None:
    """Read a code that itself says how it is to be read; None for any other."""
    bare = _BLANKS.sub("", code)
    separated = bare.replace("^", gs1_messages.GS)
    if _ADDRESS.match(bare) or bare.lower().startswith("id.gs1.org/"):
        return gs1_messages.digital_link(bare if _ADDRESS.match(bare) else f"https://{bare}", this_year)
    if ifa.is_message(separated):
        return ifa.parse(separated, this_year)
    if gs1_messages.is_bracketed(bare):
        return gs1_messages.bracketed(bare, this_year)
    stars = code.strip().strip("*")
    if stars.startswith("+") and _MEANINGFUL.match(stars.lstrip("+/$ ")[:1]):
        return hibc.parse(code.strip("* ") if "*" in code else code, this_year)
    if hibc.is_concatenated(bare) and bare.isascii():
        return hibc.parse(f"+{bare}", this_year)
    if iccbba.starts(bare):
        return iccbba.parse(bare, this_year)
    if is_gs1 or gs1_messages.GS in separated or _UNBRACKETED.match(bare):
        return gs1_messages.scanned(separated.strip(gs1_messages.GS), this_year)
    return None


def _unmarked(text: str) -> ParsedCode:
    """Read a text that says nothing about itself."""
    bare = "".join(text.split())
    if _IN_BRACKETS.fullmatch(bare):
        text = bare = bare[1:-1]
    candidates = in_order(_possible(text, bare))
    if any(each.check.verdict == "right" or each.kind == "srn" for each in candidates):
        candidates = tuple(each for each in candidates if each.kind == "udi-di" or each.check.verdict != "wrong")
    else:
        candidates = (*candidates, *_certificates(text))
    warnings = _odd_number(_digits(bare)) if not any(each.kind != "certificate" for each in candidates) else ()
    return ParsedCode(candidates, warnings=warnings)


def _possible(text: str, bare: str) -> Iterator[Candidate]:
    """Every identifier that the text can be, whatever its check digits say."""
    digits = _digits(bare)
    if digits:
        yield from gs1_numbers.unmarked_digits(digits)
    yield from eudamed.of_legacy_device(bare)
    readers = (ifa.unmarked, ifa.basic_udi_di, gs1_numbers.model_number, iccbba.unmarked, hibc.unmarked)
    spelled = digits or bare
    found = (eudamed.srn(text), *(read(spelled) for read in readers))
    is_words = bool(_INNER_BLANK.search(text.strip())) and not digits
    yield from (each for each in found if each and not (is_words and each.kind != "srn" and _is_unproven(each)))


def _is_unproven(candidate: Candidate) -> bool:
    """Whether only its form supports a candidate: words with blanks between them can have it by chance."""
    return candidate.check.verdict != "right"


def _digits(bare: str) -> str:
    """The digits of a number that may be written with dashes, empty for another text."""
    digits = bare.replace("-", "")
    return digits if is_number(digits) and not bare.startswith("-") else ""


def _odd_number(digits: str) -> tuple[str, ...]:
    if not digits or len(digits) < min(gs1_numbers.GTIN_LENGTHS) - 1:
        return ()
    return (f"This has {len(digits)} digits; a GTIN has 8, 12, 13 or 14.",)


def may_be_certificate_number(text: str) -> bool:
    """Whether a text may be the number of a certificate, whose form every notified body decides for itself: it has a
    digit, no character that a database cannot store, and a possible length.
    """
    return 3 <= len(text) <= MAX_CERTIFICATE_LENGTH and bool(_DIGIT.search(text)) and not _UNSTORABLE.search(text)


def _certificates(text: str) -> Iterator[Candidate]:
    """The number of a certificate, whose form every notified body decides for itself: it has a digit."""
    number = " ".join(text.split())
    if may_be_certificate_number(number) and number.isprintable():
        note = "Every notified body has its own form of them, so this may be something else."
        yield Candidate("certificate", number, "Number of a certificate", note=note)
