"""Seconds of the processor that accounts have used."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "work_used",
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("began_at", sa.BigInteger, nullable=False),
        sa.Column("milliseconds", sa.BigInteger, nullable=False),
    )
