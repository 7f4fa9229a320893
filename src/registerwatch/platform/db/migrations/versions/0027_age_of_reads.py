"""Which of two reads of certificates is the younger one, since which walk a record is listed as it is; unread rows."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("devices", sa.Column("certs_revision", sa.BigInteger))
    op.add_column("devices", sa.Column("lost_certs", sa.Text))
    changed_walk = sa.Column("changed_walk", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("portfolio_devices", changed_walk)
    op.add_column("walks", sa.Column("unread", sa.Text, nullable=False, server_default="[]"))
    op.add_column("certificates", sa.Column("listed_revision", sa.BigInteger, nullable=False, server_default="0"))
