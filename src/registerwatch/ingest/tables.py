"""The table of checks of the register."""

from sqlalchemy import BigInteger, Boolean, Column, Table, Text

from registerwatch.platform.db.tables import metadata

register_checks = Table(  # the last results of checks of the register
    "register_checks",
    metadata,
    Column("name", Text, primary_key=True, doc="sources.checks.names.CheckName"),
    Column("looked_at", BigInteger, nullable=False, doc="last look, whether the register answered or not"),
    Column("checked_at", BigInteger, doc="last look that it answered, null before the first"),
    Column("is_ok", Boolean, doc="what that look found, null before it"),
    Column("found", Text, nullable=False, doc="what was found: a sentence, or a value such as the build"),
    Column("changed_at", BigInteger, doc="when that last became another, null when it never did"),
    Column(
        "unanswered_since", BigInteger, doc="first look that the register did not answer, null where it answered last"
    ),
    Column("reason", Text, nullable=False, doc="why it did not answer, or empty"),
)
