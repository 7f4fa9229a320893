"""Certificates of earlier searches, for reads that cannot search for certificates.

The certificate search is used only while a control probe proves that its filter works. Meanwhile the certificates
that it last found are kept and marked.
"""

from collections.abc import Iterable

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate

UNCONFIRMED_SECONDS = 30 * 24 * 3600
"""A certificate that no search could confirm for this long is left out."""


def unconfirmed(stored: Iterable[Certificate], now: float) -> list[Certificate]:
    """The stored certificates that a search found, for a read that could not search."""
    marked = [
        replace(each, confirmed=False, unconfirmed_since=each.unconfirmed_since or iso_utc(int(now)))
        for each in stored
        if each.listed_in != "record" and not each.scoped
    ]
    oldest = iso_utc(int(now) - UNCONFIRMED_SECONDS)
    return [each for each in marked if (each.unconfirmed_since or "") > oldest]
