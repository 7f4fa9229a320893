"""When records were read for watches, beside when anybody is told that they were read."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

COLUMNS = {
    "devices": ("watched_read_at", "watched_certs_at", "watched_basic_at"),
    "basic_records": ("watched_read_at", "watched_search_at"),
    "actors": ("watched_read_at",),
}


def upgrade() -> None:
    for table, names in COLUMNS.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.BigInteger))
