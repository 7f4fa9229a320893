"""The reader of stored documents for a database's address."""

from registerwatch.db.sqlite import sqlite_path
from registerwatch.register.store.documents import DocumentReader
from registerwatch.register.store.documents_sqlite import SqliteDocumentReader


def open_documents(address: str, *, cache_megabytes: int = 16) -> DocumentReader:
    """The reader that fits a database's address. It connects at its first read."""
    path = sqlite_path(address)
    if path is not None:
        return SqliteDocumentReader(path, cache_megabytes)
    # The driver takes time to load, which commands over SQLite need not spend.
    from registerwatch.register.store.documents_postgresql import PostgresDocumentReader

    return PostgresDocumentReader(address)
