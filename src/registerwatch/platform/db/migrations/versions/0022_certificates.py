"""Certificates, refused applications and notified bodies of the whole register, and how their lists were last read."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("actor_name", sa.Text, nullable=False),
        sa.Column("notified_body", sa.Text, nullable=False),
        sa.Column("number", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("type_code", sa.Text, nullable=False),
        sa.Column("status_code", sa.Text, nullable=False),
        sa.Column("issue_date", sa.Text),
        sa.Column("valid_from", sa.Text),
        sa.Column("expiry", sa.Text),
        sa.Column("version", sa.Integer),
        sa.Column("is_latest", sa.Boolean, nullable=False),
        sa.Column("last_expiry", sa.Text),
        sa.Column("scopes_due_at", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("first_seen_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("unlisted_at", sa.BigInteger),
        sa.Column("scopes_read_at", sa.BigInteger),
        sa.Column("scopes", sa.Text),
        sa.Column("plain_number", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("id", name="pk_certificates"),
    )
    op.create_index("ix_certificates_scopes_due_at", "certificates", ["scopes_due_at"])
    op.create_index("ix_certificates_uuid", "certificates", ["uuid"])
    op.create_index("ix_certificates_srn", "certificates", ["srn", "number"])
    op.create_index("ix_certificates_number", "certificates", ["number"])
    op.create_index("ix_certificates_notified_body", "certificates", ["notified_body", "number"])
    op.create_index("ix_certificates_expiry", "certificates", ["expiry"])
    op.create_index("ix_certificates_status_code", "certificates", ["status_code", "id"])
    op.create_index("ix_certificates_plain_number", "certificates", ["plain_number"])
    op.create_table(
        "certificate_scopes",
        sa.Column("certificate_id", sa.Text, sa.ForeignKey("certificates.id", ondelete="CASCADE"), nullable=False),
        sa.Column("basic_udi", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("certificate_id", "basic_udi", name="pk_certificate_scopes"),
    )
    op.create_index("ix_certificate_scopes_basic_udi", "certificate_scopes", ["basic_udi"])
    op.create_table(
        "refusals",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("actor_name", sa.Text, nullable=False),
        sa.Column("notified_body", sa.Text, nullable=False),
        sa.Column("reference", sa.Text, nullable=False),
        sa.Column("procedure_code", sa.Text, nullable=False),
        sa.Column("refused_on", sa.Text),
        sa.Column("first_seen_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("unlisted_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_refusals"),
    )
    op.create_index("ix_refusals_srn", "refusals", ["srn"])
    op.create_table(
        "notified_bodies",
        sa.Column("number", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_notified_bodies"),
    )
    op.create_table(
        "certificate_news",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("certificate_id", sa.Text, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("found_at", sa.BigInteger, nullable=False),
        sa.Column("visible_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_certificate_news"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_certificate_news_srn", "certificate_news", ["srn", "id"])
    op.create_table(
        "walks",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("began_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("complete_at", sa.BigInteger),
        sa.Column("leased_until", sa.BigInteger, nullable=False),
        sa.Column("listed", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("problem", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_walks"),
    )
