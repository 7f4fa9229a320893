"""Clients that a user signed in from; lines of the audit trail that stand for several."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "known_clients",
        sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "address", name="pk_known_clients"),
    )
    op.create_index("ix_known_clients_last_at", "known_clients", ["last_at"])
    for column in ("repeated", "last_at"):
        op.add_column("audit", sa.Column(column, sa.BigInteger))
    op.create_index("ix_audit_of_actor", "audit", ["account_id", "action", "actor", "id"])
