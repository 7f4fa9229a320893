"""How long receivers take to answer; an index for the log of deliveries by outcome."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("milliseconds", sa.BigInteger))
    op.create_index(
        "ix_deliveries_of_webhook", "deliveries", ["webhook_id", "created_at", "is_accepted", "finished_at"]
    )
