"""Example searches, made from stored records, so that each finds something."""

from collections.abc import Sequence

import msgspec

from registerwatch.copy.search.filters import Filters
from registerwatch.pages.addresses import search_address
from registerwatch.register.codes import label
from registerwatch.register.models import SearchRow

MIN_WORD_LENGTH = 4


class Example(msgspec.Struct, frozen=True):
    """A search: its kind, its query, its address."""

    match_kind: str
    text: str
    address: str


def examples(rows: Sequence[SearchRow], filters: Filters) -> list[Example]:
    """Searches by name, UDI-DI, SRN and filter. `rows` are devices that match `filters`."""
    row = next((each for each in rows if _word(each)), rows[0] if rows else None)
    if row is None:
        return []
    chosen = [label(each.code) for each in (filters.risk, filters.status) if each is not None]
    typed = (("Name", _word(row)), ("UDI-DI", row.udi), ("Manufacturer’s SRN", row.manufacturer_srn))
    return [
        *(Example(match_kind, text, search_address(text)) for match_kind, text in typed if text),
        Example("Filters", ", ".join(chosen), search_address("", filters)),
    ]


def _word(row: SearchRow) -> str:
    """The first word of the trade name that is long enough for a search, empty if there is none."""
    words = (word.strip("-–.,;:()®™") for word in row.trade_name.split())
    return next((word for word in words if len(word) >= MIN_WORD_LENGTH and word.isalpha()), "")
