"""Since when the register's counts of an actor's devices are doubted."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actors", sa.Column("doubted_at", sa.BigInteger))
