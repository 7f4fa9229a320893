"""The tables of saved lists."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from registerwatch.platform.db.tables import ROW_ID, metadata, of_account

item_lists = Table(  # lists of articles that an account saves, such as those of its enterprise resource planning
    "item_lists",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("upload_id", BigInteger, doc="in list_uploads: whose lines the list has, null before the first is kept"),
    UniqueConstraint("account_id", "name", name="uq_item_lists_account_id_name"),
    sqlite_autoincrement=True,
)

list_uploads = Table(  # files that were sent for a list: the kept one, and one that waits to be kept
    "list_uploads",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("list_id", BigInteger, ForeignKey("item_lists.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("queued_at", BigInteger, nullable=False, doc="since when it waits to be read, or to be read in another way"),
    Column("filename", Text, nullable=False, doc="what the sender calls the file; it names nothing here"),
    Column("content", LargeBinary, doc="the file, null once the upload is kept"),
    Column("choices", Text, nullable=False, doc="JSON: tables.table.ReadChoices, how the file is to be read"),
    Column("found", Text, doc="JSON: lists.models.FoundTable, how it was read; null before"),
    Column("state", Text, nullable=False, index=True, doc="files.lists.models.UploadState"),
    Column("problem", Text, nullable=False, doc="why it failed, or empty"),
    Column("total", Integer, doc="its lines, null before it was read"),
    Column("matched", Integer, nullable=False, doc="lines that are matched and stored"),
    Column("line_bytes", BigInteger, nullable=False, server_default="0", doc="of the cells of its lines, in UTF-8"),
    Column("keeps_itself", Boolean, nullable=False, doc="whether it is kept as soon as it is ready"),
    Column("leased_until", BigInteger, nullable=False, doc="a node works on it until then, 0 when none does"),
    Column("lease_holder", Text, doc="its claim, as platform.leases has them"),
    Column("revision", BigInteger, nullable=False, doc="of the copy: what its lines tell is as of then, or later"),
    sqlite_autoincrement=True,
)

list_lines = Table(
    "list_lines",
    metadata,
    Column("upload_id", BigInteger, ForeignKey("list_uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, doc="of the row in the file, from 1"),
    Column("code", Text, nullable=False, doc="the cell of the code column"),
    Column("cells", Text, nullable=False, doc="JSON: array of the other cells, without empty ones at the end"),
    Column("key", Text, nullable=False, doc="the same in the next upload of the list for the same code"),
    Column("nth", Integer, nullable=False, doc="of the lines with this key, from 1"),
    Column(
        "subject", Text, index=True, doc="UDI-DI or SRN that the code means, null where it is none or one of several"
    ),
    Column("standing", Text, nullable=False, doc="files.lists.models.Standing"),
    Column("reason", Text, nullable=False, doc="why there is no subject, or empty"),
    Column("certified_until", Text, doc="date after which no certificate counts, empty for none; null where not known"),
    Column("certs_read", Boolean, nullable=False, doc="whether the certificates of the device were read"),
    Column("due_at", BigInteger, index=True, doc="when it is matched again, null for what the copy has"),
    Index("ix_list_lines_key", "upload_id", "key", "nth"),
)
