"""Bytes of the lines of uploads, which count against what an account may have stored."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("list_uploads", sa.Column("line_bytes", sa.BigInteger, nullable=False, server_default="0"))
