"""The claim that has a row with a lease."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("walks", "device_sweeps", "list_uploads"):
        op.add_column(table, sa.Column("lease_holder", sa.Text))
