"""How much depends on what is watched, as people say."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("watches", sa.Column("importance", sa.Text(), nullable=False, server_default=""))
