"""What people in a browser need: a time zone, when they signed in last, when a session last proved the password."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"))
    op.add_column("users", sa.Column("signed_in_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("proved_at", sa.BigInteger))
