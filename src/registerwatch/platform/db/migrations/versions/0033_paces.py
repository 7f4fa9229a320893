"""Each host has a request budget with a pace that follows what it answers."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("register_budget")
    budgets = op.create_table(
        "request_budgets",
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("sent", sa.Text, nullable=False),
        sa.Column("asking", sa.Text, nullable=False),
        sa.Column("paused_until", sa.BigInteger, nullable=False),
        sa.Column("throttled", sa.Integer, nullable=False),
        sa.Column("pace", sa.Integer),
        sa.Column("quiet_since", sa.BigInteger, nullable=False),
        sa.Column("halved_at", sa.BigInteger, nullable=False),
    )
    unused = {"sent": "{}", "asking": "{}", "paused_until": 0, "throttled": 0, "quiet_since": 0, "halved_at": 0}
    op.bulk_insert(budgets, [{"host": host, **unused} for host in ("register", "data_lake")])
