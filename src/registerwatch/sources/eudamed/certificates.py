"""Certificates of earlier searches, for reads that cannot search for certificates.

The certificate search is used only while a control probe proves that its filter works. Meanwhile the certificates
that it last found are kept and marked, for as long as that takes: only a search shows that one is gone.
"""

from collections.abc import Iterable

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate


def unconfirmed(stored: Iterable[Certificate], now: float) -> list[Certificate]:
    """The stored certificates that a search found, for a read that could not search."""
    return [
        replace(each, confirmed=False, unconfirmed_since=each.unconfirmed_since or iso_utc(int(now)))
        for each in stored
        if each.listed_in != "record" and not each.scoped
    ]
