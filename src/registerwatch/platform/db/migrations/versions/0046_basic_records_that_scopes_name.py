"""The Basic UDI-DI of each Basic UDI-DI record, by which scopes of certificates name it."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

FILL = {
    "sqlite": "UPDATE basic_records SET basic_udi = ( SELECT coalesce(json_extract(record, '$.basic_udi'), ''))",
    "postgresql": "UPDATE basic_records SET basic_udi = ( SELECT coalesce(record::json ->> 'basic_udi', ''))",
}


def upgrade() -> None:
    op.add_column("basic_records", sa.Column("basic_udi", sa.Text, nullable=False, server_default=""))
    op.add_column("basic_records", sa.Column("scoped_at", sa.BigInteger))
    op.execute(FILL[op.get_context().dialect.name])
    op.create_index("ix_basic_records_basic_udi", "basic_records", ["basic_udi"])
