"""What each target is told of, and when; deliveries that wait for days, and those that must arrive once."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE webhooks ADD COLUMN user_id BIGINT REFERENCES users (id) ON DELETE CASCADE")
    op.add_column("webhooks", sa.Column("name", sa.Text, nullable=False, server_default=""))
    op.add_column("webhooks", sa.Column("choice", sa.Text))
    op.add_column("webhooks", sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"))
    op.add_column("webhooks", sa.Column("repeats", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("webhooks", sa.Column("failing_since", sa.BigInteger))
    op.add_column("webhooks", sa.Column("paused_at", sa.BigInteger))
    op.add_column("webhooks", sa.Column("paused_reason", sa.Text, nullable=False, server_default=""))
    op.create_index("ix_webhooks_user_id", "webhooks", ["user_id", "channel"], unique=True)
    op.add_column("deliveries", sa.Column("is_scheduled", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("deliveries", sa.Column("round", sa.Integer, nullable=False, server_default="0"))
    op.add_column("deliveries", sa.Column("handed_over_at", sa.BigInteger))
    op.add_column("accounts", sa.Column("paused_until", sa.BigInteger))
    op.create_index("ix_deliveries_is_scheduled", "deliveries", ["is_scheduled", "due_at"])
    op.create_index("ix_accounts_paused_until", "accounts", ["paused_until"])
