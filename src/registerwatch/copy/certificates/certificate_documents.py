"""Documents of certificates that this service has served, as they were when first seen."""

from collections.abc import Collection, Mapping

import msgspec
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from registerwatch.copy.tables import certificate_documents
from registerwatch.platform.db.engine import Database


class SeenDocument(msgspec.Struct, frozen=True):
    """A document when first seen: the SHA-256 of its content in hexadecimal digits, its bytes, unix seconds."""

    uuid: str
    sha256: str
    size: int
    first_seen_at: int


class SeenDocuments:
    """The documents that were seen, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, uuids: Collection[str]) -> Mapping[str, SeenDocument]:
        """The seen ones among these documents, by uuid."""
        if not uuids:
            return {}
        found = select(certificate_documents).where(certificate_documents.c.uuid.in_(sorted(uuids)))
        async with self._database.reading() as connection:
            return {row.uuid: SeenDocument(*row) for row in await connection.execute(found)}

    async def note(self, seen: SeenDocument) -> SeenDocument:
        """Note a document that was seen. An earlier note of it stays and is returned."""
        async with self._database.transaction() as connection:
            insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
            values = msgspec.structs.asdict(seen)
            await connection.execute(insert(certificate_documents).values(values).on_conflict_do_nothing())
            noted = select(certificate_documents).where(certificate_documents.c.uuid == seen.uuid)
            return SeenDocument(*(await connection.execute(noted)).one())
