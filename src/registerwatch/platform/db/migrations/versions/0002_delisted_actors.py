"""When the register first denied an actor that it had listed, and the number of that change."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actors", sa.Column("delisted_at", sa.BigInteger))
    op.add_column("actors", sa.Column("listing_revision", sa.BigInteger))
    op.create_index("ix_actors_listing_revision", "actors", ["listing_revision"])
