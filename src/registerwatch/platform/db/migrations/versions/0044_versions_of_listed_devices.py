"""Versions of listed devices, which decide with the rest which of several records of a UDI-DI answers for it.

What was found of records that differ was found by any of them: forgotten, so that the first finding by the one that
answers is no news.
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

FORGET = """
    UPDATE portfolio_devices SET on_market = NULL WHERE EXISTS (
        SELECT 1 FROM portfolio_devices AS other WHERE other.srn = portfolio_devices.srn
            AND other.primary_di = portfolio_devices.primary_di AND other.status_code <> portfolio_devices.status_code
    )
"""


def upgrade() -> None:
    column = sa.Column("version_number", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("portfolio_devices", column)
    op.execute(FORGET)
