"""Codes of devices beside their UDI-DIs, by which devices are found. Records get them as they are read again."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "device_codes",
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("primary_di", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("code", "primary_di", "uuid", name="pk_device_codes"),
    )
