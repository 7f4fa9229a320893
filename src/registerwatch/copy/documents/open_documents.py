"""Opens the reader of stored documents for a database's address."""

from registerwatch.copy.documents.documents import DocumentReader
from registerwatch.copy.documents.documents_sqlite import SqliteDocumentReader
from registerwatch.platform.db.sqlite import sqlite_path


def open_documents(address: str, *, cache_megabytes: int = 16) -> DocumentReader:
    """The reader that fits a database's address. It connects at its first read."""
    path = sqlite_path(address)
    if path is not None:
        return SqliteDocumentReader(path, cache_megabytes)
    # The driver takes time to load, which commands over SQLite need not spend.
    from registerwatch.copy.documents.documents_postgresql import PostgresDocumentReader

    return PostgresDocumentReader(address)
