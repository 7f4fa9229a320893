"""Kinds of requests have parts of the request budget; accounts take turns in the recheck."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("register_budget", sa.Column("by_kind", sa.Text, nullable=False, server_default="{}"))
    op.create_table(
        "recheck_turns",
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("rechecked_at", sa.BigInteger),
        sa.Column("first_reads_at", sa.BigInteger),
    )
