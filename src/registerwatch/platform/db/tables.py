"""Shared parts of the tables of all domains, and the table of none. Each domain has its own in its `tables.py`;
migrations lead to exactly these, and a test compares them.

Instants are whole unix seconds (UTC). JSON is kept as text, ready to be sent.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, Table, Text

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s"},
)


ROW_ID = BigInteger().with_variant(Integer, "sqlite")


def of_account() -> Column[int]:
    """A reference to the account with which a row is deleted."""
    return Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True)


def of_user() -> Column[int]:
    """A reference to the user with whom a row is deleted."""
    return Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True)


ticks = Table(
    "ticks",
    metadata,
    Column("name", Text, primary_key=True, doc="what is done once in a while over the whole fleet"),
    Column("slot", BigInteger, nullable=False, doc="the last slot of time that somebody claimed"),
)
