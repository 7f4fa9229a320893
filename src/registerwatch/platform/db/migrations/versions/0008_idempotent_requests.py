"""POSTs that carry an Idempotency-Key, with their answers."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotent_requests",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("body", sa.Text),
    )
    op.create_index("ix_idempotent_requests_account_id", "idempotent_requests", ["account_id"])
    op.create_index("ix_idempotent_requests_started_at", "idempotent_requests", ["started_at"])
