"""Fields of the search index, and how texts are split into words.

A document is the current record of one UDI-DI. `names` holds the words of every trade name (four times, so that a hit
there outranks one in the device name or the manufacturer's name, which count once). `filtered` holds the same words
again under the market status, and under the risk class, separately for devices on the market and for the others: the
usual filters then read one list of postings instead of intersecting long ones. Every filter has a field of its
values (EMDN one for each level), which are counted for facets.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import msgspec
import tantivy
from tantivy import Document

from registerwatch.copy.search.filters import EMDN_LEVELS, Facet, FilteredDevice, emdn_level, filter_values
from registerwatch.register.codes import RISK_BY_CODE, STATUS_BY_CODE, RiskFilter, StatusFilter

LAYOUT = "v4"
"""Changes with the fields or the way words are split; an index of another layout is rebuilt."""

TRADE_NAME_WEIGHT = 4
MAX_WORD_LENGTH = 60
"""Letters of a word that count, in names and in queries; the rest is cut off."""


class IndexedDevice(FilteredDevice, frozen=True, gc=False, kw_only=True):
    """The fields of a stored document that are searched."""

    udi: str
    trade_name: str = ""
    trade_names: dict[str, str] = msgspec.field(default_factory=dict)
    device_name: str = ""
    device_model: str = ""
    manufacturer_name: str = ""
    reference: str = ""
    basic_udi: str = ""


_indexed = msgspec.json.Decoder(IndexedDevice)


_MARKS = dict.fromkeys(map(ord, "™℠®©"), " ")
"""Signs after names that are not letters of them."""


def indexable(text: str) -> str:
    """A text for the index, in names and queries alike: folded, no word longer than the longest one."""
    text = folded(text)
    if len(text) <= MAX_WORD_LENGTH or not _LONG.search(text):
        return text
    return " ".join(word[:MAX_WORD_LENGTH] for word in _words.analyze(text))


def folded(text: str) -> str:
    """A text without case and diacritics: `Ceramïll ΆΛΦΑ` as `ceramill αλφα`."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.translate(_MARKS))
    return "".join(character for character in apart if not unicodedata.combining(character)).casefold()


def reference_key(text: str) -> str:
    """A catalogue reference or identifier for comparison: capitals, no white space, no leading `+`."""
    return "".join(text.split()).upper().lstrip("+")


GS1_DIGITS = 14
_AFTER_GS1 = 10**14
_ORDER = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = len(_ORDER) + 1  # any other character counts as one letter before all
_ORDERED_LETTERS = 11
_REST = 64


def udi_order(udi: str) -> int:
    """A number that sorts as UDI-DIs do: GS1's first, by their digits; others by their first letters and digits.

    The rest of a long one only fixes the order among those that begin alike.
    """
    if len(udi) == GS1_DIGITS and udi.isascii() and udi.isdigit():
        return int(udi)
    number = 0
    for character in udi.upper()[:_ORDERED_LETTERS].ljust(_ORDERED_LETTERS):
        number = number * _LETTERS + _ORDER.find(character) + 1
    return _AFTER_GS1 + number * _REST + crc32(udi[_ORDERED_LETTERS:].encode("utf-8", "replace")) % _REST


def filter_field(facet: Facet, value: str) -> str:
    """The field with a filter's values."""
    return facet if facet is not Facet.EMDN else f"emdn_{emdn_level(value)}"


FILTER_FIELDS = [
    *(facet.value for facet in Facet if facet is not Facet.EMDN),
    *(f"emdn_{level}" for level in range(1, EMDN_LEVELS + 1)),
]


def schema() -> tantivy.Schema:
    """The fields of the index."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", fast=True)
    builder.add_unsigned_field("order", fast=True)
    builder.add_text_field("udi", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("identifier", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("reference", tokenizer_name="raw", index_option="basic")
    for name in FILTER_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_text_field("names", tokenizer_name="words", index_option="freq")
    builder.add_json_field("filtered", tokenizer_name="words", index_option="freq")
    return builder.build()


def analyzer() -> tantivy.TextAnalyzer:
    """Splits texts into words at every character that is not a letter or digit."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return words.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()


_words = analyzer()
_LONG = re.compile(rf"\S{{{MAX_WORD_LENGTH + 1}}}")
"""A word that may be too long; only the analyzer knows where words end."""


def to_document(row_id: int, stored: bytes) -> tuple[str, Document]:
    """The index document of a stored device, and its UDI-DI."""
    device = _indexed.decode(stored)
    entry = Document()
    entry.add_unsigned("row", row_id)
    entry.add_unsigned("order", udi_order(device.udi))
    entry.add_text("udi", device.udi)
    for identifier in {device.udi, reference_key(device.udi), reference_key(device.basic_udi)}:
        if identifier:
            entry.add_text("identifier", identifier)
    values = filter_values(device)
    for code in values.pop(Facet.EMDN):
        entry.add_text(filter_field(Facet.EMDN, code), code)
    for facet, of_facet in values.items():
        for value in of_facet:
            entry.add_text(facet, value)
    if device.reference:
        entry.add_text("reference", reference_key(device.reference))
    names = _names(device)
    entry.add_text("names", names)
    filtered = dict.fromkeys(_narrowed_by(device.status_code, device.risk_class_code), names)
    if filtered:
        entry.add_json("filtered", filtered)
    return device.udi, entry


def _names(device: IndexedDevice) -> str:
    """The words of all names, as often as they count. In one text, since each further value of a field costs more."""
    trade = dict.fromkeys(map(indexable, dict.fromkeys((device.trade_name, *device.trade_names.values()))))
    others = map(indexable, (device.device_name, device.device_model, device.manufacturer_name))
    return " ".join((*(*trade,) * TRADE_NAME_WEIGHT, *others))


@lru_cache
def _narrowed_by(status_code: str, risk_code: str) -> Sequence[str]:
    """The fields `filtered` for the words of a device with these codes."""
    status, risk = STATUS_BY_CODE.get(status_code), RISK_BY_CODE.get(risk_code)
    of_status = [narrowed(status)] if status is not None else []
    return [*of_status, narrowed(risk, on_market=status is StatusFilter.ON)] if risk is not None else of_status


def narrowed(value: StatusFilter | RiskFilter, *, on_market: bool = False) -> str:
    """The field `filtered` for a filter value; for a risk class among devices on the market, or the others."""
    name = value.value.replace("-", "_")
    if isinstance(value, StatusFilter):
        return f"s_{name}"
    return f"{'on' if on_market else 'rest'}_{name}"
