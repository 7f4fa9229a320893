"""Events have a severity, and a cause where several have the same. Those that are stored get kind and severity."""

import json
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CHUNK = 1_000

KINDS = {
    "certificate": "certificate",
    "cert_status": "certificate",
    "cert_expiry": "expiry",
    "device_total": "portfolio",
}
HIGH = {
    ("cert_status", "Suspended"),
    ("cert_status", "Withdrawn"),
    ("cert_status", "Cancelled"),
    ("cert_status", "Expired"),
    ("cert_status", "Restricted"),
    ("status", "No longer placed on the EU market"),
    ("status", "Not intended for the EU market"),
}
MEDIUM = {"risk_class", "certificate", "cert_expiry", "manufacturer_status"}
ORDER = ["high", "medium", "low"]
"""`watches/event_rules.py` as it was when this was written."""


def upgrade() -> None:
    op.add_column("events", sa.Column("severity", sa.Text))
    op.add_column("events", sa.Column("cause", sa.Text))
    op.create_index("ix_events_cause_id", "events", ["cause", "id"])
    op.create_index("ix_events_account_id_id", "events", ["account_id", "id"])
    if not op.get_context().as_sql:
        _classify_stored(op.get_bind())


def _classify_stored(connection: sa.Connection) -> None:
    """Give kind and severity to every event, in the order of ids."""
    some = sa.text("SELECT id, changes FROM events WHERE id > :after ORDER BY id LIMIT :chunk")
    change = sa.text("UPDATE events SET kind = :kind, severity = :severity WHERE id = :id")
    after = 0
    while rows := connection.execute(some, {"after": after, "chunk": CHUNK}).all():
        connection.execute(change, [_values(*row) for row in rows])
        after = rows[-1].id


def _values(event_id: int, changes: str) -> Mapping[str, object]:
    kind, severity = _classified(json.loads(changes))
    return {"id": event_id, "kind": kind, "severity": severity}


def _classified(changes: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    if not changes:
        return "record", "low"
    most = min(changes, key=lambda change: ORDER.index(_severity(change)))
    return KINDS.get(most["field"], "record"), _severity(most)


def _severity(change: Mapping[str, str]) -> str:
    if not change["old"]:
        return "low"
    if (change["field"], change["new"]) in HIGH:
        return "high"
    return "medium" if change["field"] in MEDIUM else "low"
