"""Since when the first lists of a manufacturer's devices are doubted."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_sweeps", sa.Column("doubted_at", sa.BigInteger))
