"""Names of devices without a trade name in search results, whose rows have only trade names."""

from collections.abc import Mapping, Sequence

from registerwatch.bootstrap import Service
from registerwatch.register.models import SearchRow


async def other_names(service: Service, rows: Sequence[SearchRow]) -> Mapping[str, str]:
    """Names of rows without a trade name, by UDI-DI; empty for a device without any name."""
    unnamed = [row.udi for row in rows if not row.trade_name]
    return await service.records.names_of(unnamed) if unnamed else {}
