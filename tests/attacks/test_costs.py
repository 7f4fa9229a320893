"""What reading a foreign text costs as it grows: the worst texts that a search finds, read by the real parsers.

A parser may take so much longer for a text of 4 or 16 times the length as a sorting would; what takes the square of the
length lets a short text hold up everybody. Texts are made of few pieces that mean something to the parser.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest

from registerwatch.accounts.validation import email_address, label
from registerwatch.errors import InvalidInput
from registerwatch.files.scan.codes import read_codes
from registerwatch.files.tables.table import ReadChoices
from registerwatch.files.tables.table_reader import read_table
from registerwatch.mail.clean_text import clean, unlinked
from registerwatch.notifications.bounces.bounce_report import report_of
from registerwatch.register.identifiers import gs1_messages, hibc, iccbba, ifa, parse
from registerwatch.watches.events.word_difference import word_difference
from registerwatch.watches.imports.import_list import _lines_of
from registerwatch.watches.tags import tags_of_text
from tests.attacks.service import Length

YEAR = 2027
GROWTHS = (4, 16)
TOLERANCE = 2.5
"""How much more than n log n is noise of a machine that does other work."""
LEAST_SECONDS = 0.002
"""What takes less is not compared."""
MAX_SECONDS = 3.0
TEXTS = 6, 60
"""Of each parser, in the short form and in the full one: the one that takes longest is looked at."""


@dataclass(frozen=True)
class Parser:
    """A parser of foreign text. `length` is what it reads at most, `pieces` are what texts are made of."""

    read: Callable[[str], object]
    length: int
    pieces: Sequence[str]


MARKS = ("+", "$", "/", "$$", "+$", "A99", "1", "9", " ", "%", "S", "Q", "14D", "0", "Z")
CELLS = ('"', ",", ";", "\t", "\n", "\r", "a", "1", " ", '""', "\n\n", ",,,", "é", "=1", "E+12", "udi", "<")
PARSERS: Mapping[str, Parser] = {
    "any code": Parser(
        lambda text: parse(text, YEAR), 500, (*MARKS, "(01)", "(10)", "\x1d", "]C1", "=/", "9N", "<GS>")
    ),
    "HIBC": Parser(lambda text: hibc.parse(f"+{text}", YEAR), 16_000, MARKS),
    "GS1 in brackets": Parser(
        lambda text: gs1_messages.bracketed(f"(01){text}", YEAR), 16_000, ("(10)", "(17)", "(", ")", "1", "A")
    ),
    "GS1 as scanned": Parser(
        lambda text: gs1_messages.scanned(text, YEAR), 16_000, ("10", "17", "21", "11", "\x1d", "1", "A", "260101")
    ),
    "GS1 Digital Link": Parser(
        lambda text: gs1_messages.digital_link(f"https://id.gs1.org/01/{text}", YEAR),
        16_000,
        ("/", "10", "?", "&", "=", "%", "%2F", "a"),
    ),
    "ICCBBA": Parser(lambda text: iccbba.parse(f"={text}", YEAR), 16_000, ("=", "&", "/", ",", "1", "A", ">")),
    "IFA": Parser(lambda text: ifa.parse(f"9N{text}", YEAR), 16_000, ("9N", "1T", "D", "S", "\x1d", "1", "A")),
    "an imported text": Parser(lambda text: _lines_of(text), 200_000, CELLS),
    "a table": Parser(lambda text: read_table(text.encode(), ReadChoices()), 500_000, CELLS),
    "scanned codes": Parser(read_codes, 60_000, ("\r\n", "\n", "1", "+", " ", "\x1d")),
    "tags": Parser(tags_of_text, 20_000, (",", " ", "a", "é", "\u0301")),
    "a name": Parser(label, 20_000, (" ", "\n", "a", "\u0301", "\u200b", "é")),
    "an address": Parser(email_address, 20_000, ("@", ".", "a", "-", '"', " ", "é")),
    "a name in a mail": Parser(
        lambda text: unlinked(clean(text, 10**6)), 100_000, (".", "/", ":", "@", "a", "www.", "http://", " ")
    ),
    "two texts": Parser(lambda text: word_difference(text, text[::-1]), 16_000, ("a", " ", ".", "ab", "\n", "é")),
    "a report of a mail": Parser(
        lambda text: report_of(text.encode()),
        200_000,
        (
            "\n",
            ": ",
            "Content-Type: multipart/report; boundary=a\n\n",
            "--a\n",
            "--a--",
            "a",
            "Status: 5.1.1\n",
            " ",
            "=?utf-8?q?",
            "?=",
        ),
    ),
}


@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_of_foreign_text_takes_much_longer_than_its_length(name: str, length: Length) -> None:
    parser = PARSERS[name]
    slowest = _slowest(parser, length.times(*TEXTS))
    full = _seconds(parser, _text(slowest, parser.length))
    assert full < MAX_SECONDS, f"{name} takes {full:.1f} s for {slowest!r} repeated"
    for growth in GROWTHS:
        short = _seconds(parser, _text(slowest, parser.length // growth))
        if short >= LEAST_SECONDS:
            ratio = full / short
            assert ratio < growth * TOLERANCE, f"{name}: {growth} times {slowest!r} takes {ratio:.0f} times as long"


def _slowest(parser: Parser, texts: int) -> str:
    """The unit of the text that takes longest, of random ones."""
    chance = random.Random(7)  # no secret
    units = ["".join(chance.choices(parser.pieces, k=chance.randint(1, 6))) for _ in range(texts)]
    sample = max(200, parser.length // 20)
    return max((*parser.pieces, *units), key=lambda unit: _once(parser, _text(unit, sample)))


def _text(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _seconds(parser: Parser, text: str) -> float:
    return min(_once(parser, text) for _ in range(3))


def _once(parser: Parser, text: str) -> float:
    began = time.thread_time()
    with suppress(InvalidInput):
        parser.read(text)
    return time.thread_time() - began
