"""Stored facts about subjects for a line each: name, manufacturer, whether the register still lists it, and since when
the copy has it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder
from sqlalchemy import Row, bindparam, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.device_names import given_name

_DEVICES = text(
    "SELECT primary_di, document, delisted_at FROM devices WHERE primary_di IN :subjects AND is_current"
).bindparams(bindparam("subjects", expanding=True))
_ACTORS = text("SELECT srn, name, delisted_at FROM actors WHERE srn IN :subjects").bindparams(
    bindparam("subjects", expanding=True)
)
_FIRST_SEEN = text(
    "SELECT min(first_seen_at) FROM (SELECT first_seen_at FROM devices WHERE primary_di = :subject"
    " UNION ALL SELECT first_seen_at FROM actors WHERE srn = :subject) AS seen"
)

_CHUNK = 5_000


class StoredName(Struct, frozen=True):
    """A subject in the copy. `manufacturer` is empty for actors."""

    name: str
    """Its name, also that of a watch on it; empty for a device without any name."""
    manufacturer: str = ""
    is_listed: bool = True
    """Whether the register listed it at the last read."""
    manufacturer_srn: str = ""
    basic_udi: str = ""


class _Names(Struct, frozen=True):
    """The part of a stored device that is read here."""

    trade_name: str = ""
    device_name: str = ""
    device_model: str = ""
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    basic_udi: str = ""


_names = Decoder(_Names)


async def stored_names(connection: AsyncConnection, subjects: Sequence[str]) -> dict[str, StoredName]:
    """The UDI-DIs and SRNs among these that the copy has."""
    found: dict[str, StoredName] = {}
    for start in range(0, len(subjects), _CHUNK):
        asked = {"subjects": list(subjects[start : start + _CHUNK])}
        found.update(_of_devices((await connection.execute(_DEVICES, asked)).all()))
        of_actors = await connection.execute(_ACTORS, asked)
        found.update((row.srn, StoredName(row.name, is_listed=row.delisted_at is None)) for row in of_actors)
    return found


async def first_seen_at(connection: AsyncConnection, subject: str) -> int | None:
    """When the copy first had a UDI-DI or an SRN (unix seconds); None where it never had it."""
    found: int | None = (await connection.execute(_FIRST_SEEN, {"subject": subject})).scalar_one()
    return found


def _of_devices(rows: Sequence[Row[Any]]) -> Iterator[tuple[str, StoredName]]:
    for row in rows:
        names = _names.decode(row.document)
        yield (
            row.primary_di,
            StoredName(
                given_name(names),
                names.manufacturer_name,
                row.delisted_at is None,
                names.manufacturer_srn,
                names.basic_udi,
            ),
        )
