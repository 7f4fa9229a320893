"""What stored records were before they changed, and since when the copy has them."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "record_history",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("observed_at", sa.BigInteger, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("old", sa.Text, nullable=False),
        sa.Column("dropped_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_record_history"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_record_history_of", "record_history", ["kind", "subject", "id"])
    op.add_column("devices", sa.Column("first_seen_at", sa.BigInteger))
    op.add_column("actors", sa.Column("first_seen_at", sa.BigInteger))
    op.add_column("copy_state", sa.Column("history_since", sa.BigInteger))
    op.add_column("copy_state", sa.Column("history_pruned", sa.BigInteger))
    since = sa.text("UPDATE copy_state SET history_since = ( SELECT :now)")
    op.execute(since.bindparams(now=int(time.time())))
