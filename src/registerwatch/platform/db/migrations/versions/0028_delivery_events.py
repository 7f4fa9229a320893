"""Events that wait for a delivery have rows of their own: adding some does not write those that wait already."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "delivery_events",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("delivery_id", sa.Text, sa.ForeignKey("deliveries.id", ondelete="CASCADE"), nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery_events"),
    )
    op.create_index("ix_delivery_events_delivery_id_id", "delivery_events", ["delivery_id", "id"])
