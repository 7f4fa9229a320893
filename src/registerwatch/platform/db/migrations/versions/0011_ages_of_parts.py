"""Each part of a record has its own age: the detail, the certificates."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in ("detail_read_at", "certs_read_at"):
        op.add_column("devices", sa.Column(column, sa.BigInteger))
