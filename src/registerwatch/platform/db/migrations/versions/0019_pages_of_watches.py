"""Notes and options of a watch, and the log of its reads that failed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("watches", sa.Column("notes", sa.Text, nullable=False, server_default=""))
    op.add_column("watches", sa.Column("options", sa.Text, nullable=False, server_default="{}"))
    op.create_table(
        "read_failures",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("watch_id", sa.BigInteger, sa.ForeignKey("watches.id", ondelete="CASCADE"), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_read_failures"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_read_failures_watch_id", "read_failures", ["watch_id"])
