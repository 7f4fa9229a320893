"""Certificates that an earlier search found, while the certificate search cannot be read.

It can be read only while a control probe proves that its filter filters. In between, what it found last is kept and
marked.
"""

from collections.abc import Iterable

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate

UNCONFIRMED_SECONDS = 30 * 24 * 3600
"""A certificate that no search could confirm for so long is left out."""


def unconfirmed(stored: Iterable[Certificate], now: float) -> list[Certificate]:
    """Of the certificates that are stored those that a search brought, for a read that could not search."""
    marked = [
        replace(each, confirmed=False, unconfirmed_since=each.unconfirmed_since or iso_utc(int(now)))
        for each in stored
        if each.listed_in != "record" and not each.scoped
    ]
    oldest = iso_utc(int(now) - UNCONFIRMED_SECONDS)
    return [each for each in marked if (each.unconfirmed_since or "") > oldest]
