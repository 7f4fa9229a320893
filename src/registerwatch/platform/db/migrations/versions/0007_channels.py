"""Targets and deliveries have a channel; deliveries hold what they tell."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("events", sa.Text))
    for table in ("webhooks", "deliveries"):
        op.add_column(table, sa.Column("channel", sa.Text, nullable=False, server_default="webhook"))
