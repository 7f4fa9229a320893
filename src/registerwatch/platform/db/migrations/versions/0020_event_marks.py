"""Users have seen events, accounts have archived some, and the names of changed fields can be searched."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

CHUNK = 1_000


def upgrade() -> None:
    op.add_column("users", sa.Column("events_seen_through", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("events", sa.Column("fields", sa.Text))
    op.add_column("events", sa.Column("archived_at", sa.BigInteger))
    op.create_table(
        "event_marks",
        sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("event_id", sa.BigInteger, primary_key=True),
        sa.Column("is_seen", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    if not op.get_context().as_sql:
        _name_fields(op.get_bind())
    listed = ["account_id", "id", "archived_at", "severity", "kind", "watch_id", "subject", "created_at", "fields"]
    op.create_index("ix_events_listing", "events", listed)
    op.create_index("ix_events_severity", "events", ["account_id", "severity", "id", "archived_at"])
    without = sa.text("fields IS NULL")
    op.create_index("ix_events_unclassified", "events", ["account_id"], sqlite_where=without, postgresql_where=without)


def _name_fields(connection: sa.Connection) -> None:
    """Store the names of the changed fields of events, in the order of ids.

    Those without a severity are left out: the service classifies what has no names of fields.
    """
    some = sa.text("SELECT id, changes FROM events WHERE id > :after AND severity IS NOT NULL ORDER BY id LIMIT :chunk")
    change = sa.text("UPDATE events SET fields = :fields WHERE id = :id")
    after = 0
    while rows := connection.execute(some, {"after": after, "chunk": CHUNK}).all():
        connection.execute(change, [{"id": row.id, "fields": _fields(row.changes)} for row in rows])
        after = rows[-1].id


def _fields(changes: str) -> str:
    names = dict.fromkeys(change["field"] for change in json.loads(changes))
    return "".join(f",{name}" for name in names) + ","
