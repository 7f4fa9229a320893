"""Among whose requests with an Idempotency-Key each is counted. Those of before are counted among none, for a day."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("idempotent_requests", sa.Column("places", sa.Text, nullable=False, server_default=""))
