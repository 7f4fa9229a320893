"""What devices without a trade name are called in lists of search results, whose rows have trade names alone."""

from collections.abc import Mapping, Sequence

from registerwatch.bootstrap import Service
from registerwatch.register.models import SearchRow


async def other_names(service: Service, rows: Sequence[SearchRow]) -> Mapping[str, str]:
    """Names of those rows that have no trade name, by UDI-DI; empty for a device without any name."""
    unnamed = [row.udi for row in rows if not row.trade_name]
    return await service.records.names_of(unnamed) if unnamed else {}
