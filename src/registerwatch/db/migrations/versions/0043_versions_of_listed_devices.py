"""Versions of listed devices, which decide with the rest which of several records of a UDI-DI answers for it."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("portfolio_devices", sa.Column("version_number", sa.BigInteger))
