"""Standings of many stored subjects: market status, certificates, names."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder
from sqlalchemy import Row, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.documents.documents import seconds_behind
from registerwatch.platform.db.listed_values import LISTED, listed
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import shown_certificates
from registerwatch.register.codes import label
from registerwatch.register.device_names import given_name
from registerwatch.register.identifiers import kind
from registerwatch.register.models import Certificate
from registerwatch.register.standing import NOTHING_KNOWN, SubjectStanding, actor_standing, device_standing

_DEVICES = (
    "SELECT primary_di, document, delisted_at, certs_read_at, read_at FROM devices"
    " WHERE primary_di IN ({listed}) AND is_current"
)
_ACTORS = "SELECT srn, name, status_code, delisted_at FROM actors WHERE srn IN ({listed})"
_CHANGED = text(
    "SELECT primary_di AS subject, revision FROM devices WHERE revision > :revision"
    " UNION ALL SELECT srn, listing_revision FROM actors WHERE listing_revision > :revision"
    " ORDER BY revision LIMIT :limit"
)
_REVISION = text("SELECT revision FROM copy_state")

_CHUNK = 2_000


class StoredStanding(Struct, frozen=True, gc=False):
    """A stored device or actor. An actor, which has no certificates to be read, only has a name and a status."""

    name: str
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    status: str = ""
    status_code: str = ""
    risk_class: str = ""
    certs: Sequence[Certificate] = ()
    certs_read: bool = False
    """Whether all lists of its certificates were read."""
    is_listed: bool = True
    """Whether the register listed it at the last read."""
    is_actor: bool = False
    actor_status_code: str = ""
    certs_behind: int = 0
    """Seconds by which its certificates are older than its record."""

    @property
    def last_status(self) -> str:
        """The last status that was read, in words: also of what the register no longer lists."""
        return self.status or label(self.actor_status_code)

    def certificates_in_file(self, today: date, fresh_for: float) -> str:
        """The standing of a device's certificates, as files have it: `Withdrawn (1 of 2)`. Certificates that are older
        than the record by more than `fresh_for` seconds were not all read with it.
        """
        are_all_read = self.certs_read and self.certs_behind <= fresh_for
        certificates = self.standing(today).certificates
        return certificates.in_file(are_all_read=are_all_read, were_all_read=self.certs_read)

    def standing(self, today: date) -> SubjectStanding:
        """Its standing on a day: without its market status where it is no longer listed."""
        if self.is_actor:
            code = self.actor_status_code if self.is_listed else ""
            return actor_standing(label(code), code)
        found = device_standing(self.status, self.status_code, shown_certificates(self.certs, today))
        status = found.status if self.is_listed else NOTHING_KNOWN.status
        return replace(found, status=status, has_unread=not self.certs_read)


class _Part(Struct, frozen=True, gc=False):
    """The part of a stored device that is read here."""

    trade_name: str = ""
    device_name: str = ""
    device_model: str = ""
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    status: str = ""
    status_code: str = ""
    risk_class: str = ""
    certs: tuple[Certificate, ...] = ()


_part = Decoder(_Part)


async def stored_standings(connection: AsyncConnection, subjects: Collection[str]) -> dict[str, StoredStanding]:
    """The UDI-DIs and SRNs among these that the copy has."""
    found: dict[str, StoredStanding] = {}
    asked = sorted(subjects)
    for rows in [await _rows(connection, _DEVICES, some) for some in _chunks(asked)]:
        found.update(_of_devices(rows))
    srns = [each for each in asked if kind(each) == "srn"]
    for rows in [await _rows(connection, _ACTORS, some) for some in _chunks(srns)]:
        found.update((row.srn, _of_actor(row)) for row in rows)
    return found


async def revision_of_copy(connection: AsyncConnection) -> int:
    """The number of the last stored change."""
    revision: int = (await connection.execute(_REVISION)).scalar_one()
    return revision


async def changed_subjects(connection: AsyncConnection, revision: int, limit: int) -> tuple[Sequence[str], int]:
    """UDI-DIs of records that changed after a revision and SRNs that came, left the register or came back then, in the
    order of their changes, at most `limit`; and the revision that they reach.
    """
    rows = (await connection.execute(_CHANGED, {"revision": revision, "limit": limit})).all()
    return [row.subject for row in rows], rows[-1].revision if rows else revision


def _chunks(asked: Sequence[str]) -> Iterator[Sequence[str]]:
    return (asked[start : start + _CHUNK] for start in range(0, len(asked), _CHUNK))


async def _rows(connection: AsyncConnection, statement: str, asked: Sequence[str]) -> Sequence[Row[Any]]:
    found = _statement(statement, connection.dialect.name)
    return (await connection.execute(found, {"listed": listed(asked)})).all()


@cache
def _statement(statement: str, dialect: str) -> TextClause:
    return text(statement.format(listed=LISTED[dialect]))


def _of_actor(row: Row[Any]) -> StoredStanding:
    told = {"is_listed": row.delisted_at is None, "actor_status_code": row.status_code}
    return StoredStanding(row.name, certs_read=True, is_actor=True, **told)


def _of_devices(rows: Sequence[Row[Any]]) -> Iterator[tuple[str, StoredStanding]]:
    for row in rows:
        part = _part.decode(row.document)
        yield (
            row.primary_di,
            StoredStanding(
                given_name(part),
                part.manufacturer_name,
                part.manufacturer_srn,
                part.status,
                part.status_code,
                part.risk_class,
                part.certs,
                row.certs_read_at is not None,
                row.delisted_at is None,
                certs_behind=seconds_behind(row.certs_read_at, row.read_at),
            ),
        )
