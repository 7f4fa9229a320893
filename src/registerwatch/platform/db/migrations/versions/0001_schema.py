"""Every table, as the history of the schema begins. What comes later changes them in migrations of its own."""

import secrets
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_copy()
    _create_certificates()
    _create_sweeps()
    _create_reading()
    _create_accounts()
    _create_sign_in()
    _create_watches()
    _create_lists()
    _create_events()
    _create_notifications()
    _create_billing()
    _create_nomenclature()


def _create_copy() -> None:
    op.create_table(
        "devices",
        sa.Column("id", _ROW_ID, primary_key=True),
        *_required(sa.Text, "primary_di", "uuid"),
        *_required(sa.Boolean, "is_current", "latest_version"),
        *_required(sa.Integer, "version_number"),
        *_required(sa.Text, "legislation_code"),
        *_optional(sa.Integer, "detail_version"),
        *_required(sa.BigInteger, "revision", "read_at"),
        *_required(sa.Text, "document", "source"),
        sa.Column("document_version", sa.Integer, nullable=False, server_default="1"),
        *_optional(sa.BigInteger, "delisted_at", "detail_read_at", "certs_read_at"),
        *_required(sa.BigInteger, "first_seen_at", "certs_revision"),
        *_optional(sa.Text, "lost_certs", "basic_key"),
        *_optional(sa.BigInteger, "basic_read_at"),
        *_required(sa.BigInteger, "own_revision"),
        *_optional(sa.BigInteger, "watched_read_at", "watched_certs_at", "watched_basic_at"),
        sa.UniqueConstraint("primary_di", "uuid", name="uq_devices_primary_di_uuid"),
        sa.Index("ix_devices_revision", "revision"),
        sa.Index("ix_devices_under", "basic_key", "primary_di", **_where("basic_key IS NOT NULL")),
    )
    op.create_table(
        "basic_records",
        sa.Column("key", sa.Text, primary_key=True),
        *_required(sa.Text, "record"),
        *_required(sa.Integer, "document_version"),
        *_required(sa.BigInteger, "read_at", "revision", "changed_revision"),
        *_optional(sa.Text, "search"),
        *_optional(sa.BigInteger, "searched_at"),
        sa.Column("search_revision", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("search_changed_revision", sa.BigInteger, nullable=False, server_default="0"),
        *_optional(sa.Text, "propagated_to"),
        *_optional(sa.BigInteger, "watched_read_at", "watched_search_at"),
        sa.Column("basic_udi", sa.Text, nullable=False, server_default=""),
        *_optional(sa.BigInteger, "scoped_at"),
        sa.Index("ix_basic_records_basic_udi", "basic_udi"),
        sa.Index("ix_basic_records_propagated", "key", **_where("propagated_to IS NOT NULL")),
    )
    op.create_table(
        "device_codes",
        sa.Column("code", sa.Text, primary_key=True),
        sa.Column("primary_di", sa.Text, primary_key=True),
        sa.Column("uuid", sa.Text, primary_key=True),
    )
    op.create_table(
        "actors",
        sa.Column("srn", sa.Text, primary_key=True),
        *_required(sa.Text, "name", "country", "status_code"),
        *_optional(sa.Integer, "device_total"),
        *_required(sa.Boolean, "complete"),
        *_required(sa.BigInteger, "read_at"),
        sa.Column("reads", sa.BigInteger, nullable=False, server_default="0"),
        *_required(sa.Text, "source"),
        *_required(sa.BigInteger, "first_seen_at"),
        *_optional(sa.BigInteger, "listed", "listed_at", "doubted_at", "watched_read_at"),
    )
    copy_state = op.create_table(
        "copy_state",
        sa.Column("id", sa.Integer, primary_key=True),
        *_required(sa.Text, "copy_id"),
        *_required(sa.BigInteger, "revision", "devices"),
        *_optional(sa.BigInteger, "last_read_at", "history_pruned", "whole_at"),
    )
    op.bulk_insert(copy_state, [{"id": 1, "copy_id": secrets.token_hex(8), "revision": 0, "devices": 0}])
    op.create_table(
        "record_history",
        sa.Column("id", _ROW_ID, primary_key=True),
        *_required(sa.Text, "kind", "subject", "record"),
        *_required(sa.BigInteger, "revision", "observed_at"),
        *_optional(sa.Text, "source"),
        *_required(sa.Text, "old"),
        *_optional(sa.BigInteger, "dropped_at"),
        sa.Index("ix_record_history_of", "kind", "subject", "id"),
        sqlite_autoincrement=True,
    )


def _create_certificates() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", sa.Text, primary_key=True),
        *_required(
            sa.Text, "uuid", "srn", "actor_name", "notified_body", "number", "revision", "type_code", "status_code"
        ),
        *_optional(sa.Text, "issue_date", "valid_from", "expiry"),
        *_optional(sa.Integer, "version"),
        *_required(sa.Boolean, "is_latest"),
        *_optional(sa.Text, "last_expiry"),
        sa.Column("scopes_due_at", sa.BigInteger, nullable=False, server_default="0"),
        *_required(sa.BigInteger, "first_seen_at", "seen_at"),
        sa.Column("listed_revision", sa.BigInteger, nullable=False, server_default="0"),
        *_optional(sa.BigInteger, "unlisted_at", "scopes_read_at"),
        *_optional(sa.Text, "scopes", "facts"),
        sa.Column("plain_number", sa.Text, nullable=False, server_default=""),
        sa.Index("ix_certificates_expiry", "expiry"),
        sa.Index("ix_certificates_notified_body", "notified_body", "number"),
        sa.Index("ix_certificates_number", "number"),
        sa.Index("ix_certificates_plain_number", "plain_number"),
        sa.Index("ix_certificates_scopes_due_at", "scopes_due_at"),
        sa.Index("ix_certificates_srn", "srn", "number"),
        sa.Index("ix_certificates_status_code", "status_code", "id"),
        sa.Index("ix_certificates_uuid", "uuid"),
    )
    op.create_table(
        "certificate_scopes",
        _owner("certificate_id", "certificates.id", sa.Text, primary_key=True),
        sa.Column("basic_udi", sa.Text, primary_key=True),
        sa.Index("ix_certificate_scopes_basic_udi", "basic_udi"),
    )
    op.create_table(
        "device_certificates",
        sa.Column("srn", sa.Text, primary_key=True),
        sa.Column("number", sa.Text, primary_key=True),
        sa.Column("revision", sa.Text, primary_key=True),
        sa.Column("notified_body", sa.Text, primary_key=True),
        *_required(sa.Text, "primary_di"),
        *_required(sa.BigInteger, "read_at"),
        *_required(sa.Text, "told"),
    )
    op.create_table(
        "certificate_documents",
        sa.Column("uuid", sa.Text, primary_key=True),
        *_required(sa.Text, "sha256"),
        *_required(sa.BigInteger, "size", "first_seen_at"),
    )
    op.create_table(
        "refusals",
        sa.Column("id", sa.Text, primary_key=True),
        *_required(sa.Text, "srn", "actor_name", "notified_body", "reference", "procedure_code"),
        *_optional(sa.Text, "refused_on"),
        *_required(sa.BigInteger, "first_seen_at", "seen_at"),
        *_optional(sa.BigInteger, "unlisted_at"),
        sa.Index("ix_refusals_srn", "srn"),
    )
    op.create_table(
        "notified_bodies",
        sa.Column("number", sa.Text, primary_key=True),
        *_required(sa.Text, "name"),
        *_required(sa.BigInteger, "seen_at"),
    )
    op.create_table(
        "certificate_news",
        sa.Column("id", _ROW_ID, primary_key=True),
        *_required(sa.Text, "srn", "certificate_id", "changes"),
        *_required(sa.BigInteger, "found_at", "visible_at"),
        sa.Index("ix_certificate_news_srn", "srn", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "walks",
        sa.Column("name", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "began_at"),
        *_optional(sa.BigInteger, "ended_at", "complete_at"),
        *_required(sa.BigInteger, "leased_until", "listed"),
        *_optional(sa.BigInteger, "total"),
        *_required(sa.Text, "problem"),
        sa.Column("unread", sa.Text, nullable=False, server_default="[]"),
    )


def _create_sweeps() -> None:
    op.create_table(
        "device_sweeps",
        sa.Column("srn", sa.Text, primary_key=True),
        *_required(sa.Boolean, "lists_all"),
        *_required(sa.BigInteger, "watched", "added_at", "turn_at", "leased_until", "walk"),
        *_optional(sa.BigInteger, "walk_began_at"),
        *_required(sa.Text, "cursor"),
        *_optional(sa.BigInteger, "total"),
        *_required(sa.Boolean, "is_steady"),
        *_optional(sa.BigInteger, "swept_at", "complete_at", "doubted_at"),
        *_required(sa.Text, "problem"),
        sa.Column("unreadable", sa.Text, nullable=False, server_default=""),
        sa.Index("ix_device_sweeps_turn_at", "turn_at"),
    )
    op.create_table(
        "portfolio_devices",
        sa.Column("srn", sa.Text, primary_key=True),
        sa.Column("uuid", sa.Text, primary_key=True),
        *_required(sa.Text, "primary_di", "status_code"),
        *_required(sa.Boolean, "is_latest"),
        sa.Column("version_number", sa.BigInteger, nullable=False, server_default="0"),
        *_required(sa.BigInteger, "walk"),
        sa.Column("changed_walk", sa.BigInteger, nullable=False, server_default="0"),
        *_optional(sa.Boolean, "on_market"),
        sa.Index("ix_portfolio_devices_primary_di", "srn", "primary_di"),
    )
    op.create_table(
        "portfolio_news",
        sa.Column("id", _ROW_ID, primary_key=True),
        *_required(sa.Text, "srn", "primary_di", "name", "change"),
        *_required(sa.BigInteger, "found_at", "visible_at"),
        sa.Index("ix_portfolio_news_found_at", "srn", "found_at"),
        sa.Index("ix_portfolio_news_srn", "srn", "id"),
        sqlite_autoincrement=True,
    )


def _create_reading() -> None:
    op.create_table(
        "register_checks",
        sa.Column("name", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "looked_at"),
        *_optional(sa.BigInteger, "checked_at"),
        *_optional(sa.Boolean, "is_ok"),
        *_required(sa.Text, "found"),
        *_optional(sa.BigInteger, "changed_at", "unanswered_since"),
        *_required(sa.Text, "reason"),
    )
    op.create_table(
        "fills",
        sa.Column("source", sa.Text, primary_key=True),
        *_required(sa.Text, "cursor"),
        *_required(sa.BigInteger, "records", "changed", "started_at", "updated_at"),
        *_optional(sa.BigInteger, "finished_at"),
    )
    op.create_table(
        "unread_fields",
        sa.Column("record", sa.Text, primary_key=True),
        sa.Column("field", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "records"),
        *_required(sa.Text, "example"),
        *_required(sa.BigInteger, "first_at", "last_at"),
    )
    budgets = op.create_table(
        "request_budgets",
        sa.Column("host", sa.Text, primary_key=True),
        *_required(sa.Text, "sent", "asking"),
        *_required(sa.BigInteger, "paused_until"),
        *_required(sa.Integer, "throttled"),
        *_optional(sa.Integer, "pace"),
        *_required(sa.BigInteger, "quiet_since", "halved_at"),
    )
    unused = {"sent": "{}", "asking": "{}", "paused_until": 0, "throttled": 0, "quiet_since": 0, "halved_at": 0}
    op.bulk_insert(budgets, [{"host": host, **unused} for host in ("register", "data_lake")])


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", _ROW_ID, primary_key=True),
        *_required(sa.Text, "email", "name", "plan"),
        *_required(sa.BigInteger, "expires_at", "created_at"),
        *_optional(sa.BigInteger, "paused_until"),
        sa.Index("ix_accounts_paused_until", "paused_until"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "users",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "email", "role"),
        *_optional(sa.Text, "password_hash"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "confirmed_at", "key_set_password_at"),
        sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"),
        *_optional(sa.BigInteger, "signed_in_at"),
        sa.Column("events_seen_through", sa.BigInteger, nullable=False, server_default="0"),
        sa.UniqueConstraint("email", name="uq_users_email"),
        sa.Index("ix_users_account_id", "account_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "api_keys",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "label", "prefix", "digest"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "revoked_at"),
        sa.Column("scope", sa.Text, nullable=False, server_default="manage"),
        *_optional(sa.BigInteger, "expires_at", "last_used_at"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
        sa.Index("ix_api_keys_account_id", "account_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.BigInteger, "created_at", "expires_at"),
        *_optional(sa.BigInteger, "last_used_at", "proved_at"),
        sa.Index("ix_sessions_expires_at", "expires_at"),
        sa.Index("ix_sessions_user_id", "user_id"),
    )
    op.create_table(
        "confirmation_tokens",
        sa.Column("digest", sa.Text, primary_key=True),
        *_required(sa.Text, "address"),
        *_required(sa.BigInteger, "created_at", "expires_at"),
        sa.Index("ix_confirmation_tokens_address", "address"),
        sa.Index("ix_confirmation_tokens_expires_at", "expires_at"),
    )
    op.create_table(
        "invitations",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "email", "invited_by"),
        *_required(sa.BigInteger, "created_at", "expires_at"),
        sa.Index("ix_invitations_account_id", "account_id"),
        sa.Index("ix_invitations_expires_at", "expires_at"),
    )
    op.create_table(
        "mail_counts",
        sa.Column("digest", sa.Text, primary_key=True),
        *_required(sa.Integer, "mails"),
        *_required(sa.BigInteger, "expires_at"),
        sa.Index("ix_mail_counts_expires_at", "expires_at"),
    )
    op.create_table(
        "deletion_notices",
        _owner("account_id", "accounts.id", primary_key=True),
        *_required(sa.BigInteger, "noticed_at"),
    )
    op.create_table(
        "reset_tokens",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.BigInteger, "created_at", "expires_at"),
        sa.Index("ix_reset_tokens_expires_at", "expires_at"),
        sa.Index("ix_reset_tokens_user_id", "user_id"),
    )
    op.create_table(
        "audit",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.BigInteger, "created_at"),
        *_required(sa.Text, "actor", "action", "subject"),
        *_optional(sa.BigInteger, "repeated", "last_at"),
        sa.Index("ix_audit_account_id", "account_id"),
        sa.Index("ix_audit_created_at", "created_at"),
        sa.Index("ix_audit_of_actor", "account_id", "action", "actor", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "known_clients",
        _owner("user_id", "users.id", primary_key=True),
        sa.Column("address", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "last_at"),
        *_optional(sa.BigInteger, "signed_in_at"),
        sa.Index("ix_known_clients_last_at", "last_at"),
    )


def _create_sign_in() -> None:
    op.create_table(
        "totp_factors",
        _owner("user_id", "users.id", primary_key=True),
        *_required(sa.Text, "secret"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "confirmed_at"),
        *_required(sa.BigInteger, "last_step"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.BigInteger, "created_at"),
        sa.Index("ix_recovery_codes_user_id", "user_id"),
    )
    op.create_table(
        "guessed_codes",
        _owner("user_id", "users.id", primary_key=True),
        sa.Column("network", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "since"),
        *_required(sa.Integer, "codes"),
    )
    op.create_table(
        "passkeys",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.Text, "credential_id", "public_key"),
        *_required(sa.BigInteger, "sign_count"),
        *_required(sa.Text, "label"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "last_used_at"),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
        sa.Index("ix_passkeys_user_id", "user_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "passkey_challenges",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id", nullable=True),
        *_required(sa.BigInteger, "expires_at"),
        sa.Index("ix_passkey_challenges_expires_at", "expires_at"),
        sa.Index("ix_passkey_challenges_user_id", "user_id"),
    )
    op.create_table(
        "sign_in_steps",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.BigInteger, "expires_at"),
        *_required(sa.Integer, "tries"),
        sa.Index("ix_sign_in_steps_expires_at", "expires_at"),
        sa.Index("ix_sign_in_steps_user_id", "user_id"),
    )
    op.create_table(
        "provider_links",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("user_id", "users.id"),
        *_required(sa.Text, "issuer", "subject", "email"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "last_used_at"),
        sa.UniqueConstraint("issuer", "subject", name="uq_provider_links_issuer_subject"),
        sa.Index("ix_provider_links_user_id", "user_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "provider_requests",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("user_id", "users.id", nullable=True),
        *_required(sa.Text, "nonce", "verifier", "next"),
        *_required(sa.BigInteger, "expires_at"),
        sa.Index("ix_provider_requests_expires_at", "expires_at"),
        sa.Index("ix_provider_requests_user_id", "user_id"),
    )


def _create_watches() -> None:
    op.create_table(
        "watches",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "kind", "subject", "label"),
        *_required(sa.Boolean, "is_renamed"),
        *_optional(sa.Text, "snapshot"),
        *_optional(sa.BigInteger, "last_sync"),
        *_required(sa.BigInteger, "tried_at"),
        *_required(sa.Text, "last_error"),
        *_optional(sa.BigInteger, "failing_since"),
        *_required(sa.BigInteger, "created_at"),
        sa.Column("notes", sa.Text, nullable=False, server_default=""),
        sa.Column("options", sa.Text, nullable=False, server_default="{}"),
        sa.Column("manufacturer_srn", sa.Text, nullable=False, server_default=""),
        sa.Column("basic_udi", sa.Text, nullable=False, server_default=""),
        *_optional(sa.BigInteger, "portfolio_seen", "certificates_seen", "news_since"),
        sa.UniqueConstraint("account_id", "subject", name="uq_watches_account_id_subject"),
        sa.Index("ix_watches_basic_udi", "basic_udi"),
        sa.Index("ix_watches_manufacturer_srn", "manufacturer_srn"),
        sa.Index("ix_watches_subject", "subject"),
        sa.Index("ix_watches_tried_at", "tried_at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "expiry_notices",
        _owner("watch_id", "watches.id", primary_key=True),
        sa.Column("certificate", sa.Text, primary_key=True),
        sa.Column("expiry", sa.Text, primary_key=True),
        *_required(sa.Integer, "days"),
    )


def _create_lists() -> None:
    op.create_table(
        "work_used",
        _owner("account_id", "accounts.id", primary_key=True),
        *_required(sa.BigInteger, "began_at", "milliseconds"),
    )
    op.create_table(
        "item_lists",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "name"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "upload_id"),
        sa.UniqueConstraint("account_id", "name", name="uq_item_lists_account_id_name"),
        sa.Index("ix_item_lists_account_id", "account_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "list_uploads",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("list_id", "item_lists.id"),
        *_required(sa.BigInteger, "created_at", "queued_at"),
        *_required(sa.Text, "filename"),
        *_optional(sa.LargeBinary, "content"),
        *_required(sa.Text, "choices"),
        *_optional(sa.Text, "found"),
        *_required(sa.Text, "state", "problem"),
        *_optional(sa.Integer, "total"),
        *_required(sa.Integer, "matched"),
        sa.Column("line_bytes", sa.BigInteger, nullable=False, server_default="0"),
        *_required(sa.Boolean, "keeps_itself"),
        *_required(sa.BigInteger, "leased_until", "revision"),
        sa.Index("ix_list_uploads_created_at", "created_at"),
        sa.Index("ix_list_uploads_list_id", "list_id"),
        sa.Index("ix_list_uploads_state", "state"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "list_lines",
        _owner("upload_id", "list_uploads.id", primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        *_required(sa.Text, "code", "cells", "key"),
        *_required(sa.Integer, "nth"),
        *_optional(sa.Text, "subject"),
        *_required(sa.Text, "standing", "reason"),
        *_optional(sa.Text, "certified_until"),
        *_required(sa.Boolean, "certs_read"),
        *_optional(sa.BigInteger, "due_at"),
        sa.Index("ix_list_lines_due_at", "due_at"),
        sa.Index("ix_list_lines_key", "upload_id", "key", "nth"),
        sa.Index("ix_list_lines_subject", "subject"),
    )


def _create_events() -> None:
    op.create_table(
        "watch_tags",
        _owner("watch_id", "watches.id", primary_key=True),
        sa.Column("tag", sa.Text, primary_key=True),
        _owner("account_id", "accounts.id"),
        sa.Index("ix_watch_tags_account_id_tag", "account_id", "tag"),
    )
    op.create_table(
        "sync_runs",
        _owner("account_id", "accounts.id", primary_key=True),
        *_required(sa.Text, "run"),
        *_required(sa.BigInteger, "started_at", "ends_by"),
        *_required(sa.Integer, "total", "done", "failed", "events"),
        *_optional(sa.BigInteger, "finished_at"),
        *_required(sa.Text, "error"),
    )
    op.create_table(
        "read_failures",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("watch_id", "watches.id"),
        *_required(sa.Text, "reason"),
        *_required(sa.BigInteger, "first_at", "last_at"),
        *_required(sa.Integer, "times"),
        *_optional(sa.BigInteger, "ended_at"),
        sa.Index("ix_read_failures_watch_id", "watch_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "recheck_turns",
        _owner("account_id", "accounts.id", primary_key=True),
        *_optional(sa.BigInteger, "rechecked_at", "first_reads_at"),
    )
    op.create_table(
        "events",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.BigInteger, "watch_id"),
        *_required(sa.Text, "subject", "label"),
        *_required(sa.BigInteger, "created_at"),
        *_required(sa.Text, "summary", "changes"),
        *_required(sa.Boolean, "awaits_sync"),
        sa.Column("kind", sa.Text, nullable=False, server_default="record"),
        *_required(sa.Text, "severity"),
        *_optional(sa.Text, "cause"),
        *_required(sa.Text, "fields"),
        *_optional(sa.BigInteger, "archived_at", "visible_at"),
        sa.Index("ix_events_account_id", "account_id"),
        sa.Index("ix_events_account_id_id", "account_id", "id"),
        sa.Index("ix_events_account_id_watch_id_id", "account_id", "watch_id", "id"),
        sa.Index("ix_events_cause_id", "cause", "id"),
        sa.Index(
            "ix_events_listing",
            "account_id",
            "id",
            "archived_at",
            "severity",
            "kind",
            "watch_id",
            "subject",
            "created_at",
            "fields",
        ),
        sa.Index("ix_events_severity", "account_id", "severity", "id", "archived_at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "event_marks",
        _owner("user_id", "users.id", primary_key=True),
        sa.Column("event_id", sa.BigInteger, primary_key=True),
        *_required(sa.Boolean, "is_seen"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "idempotent_requests",
        sa.Column("digest", sa.Text, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "fingerprint"),
        *_required(sa.BigInteger, "started_at"),
        *_optional(sa.Integer, "status"),
        *_optional(sa.Text, "body"),
        sa.Column("places", sa.Text, nullable=False, server_default=""),
        sa.Index("ix_idempotent_requests_account_id", "account_id"),
        sa.Index("ix_idempotent_requests_started_at", "started_at"),
    )


def _create_notifications() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        sa.Column("channel", sa.Text, nullable=False, server_default="webhook"),
        *_required(sa.Text, "url", "secret"),
        *_optional(sa.Text, "old_secret"),
        *_optional(sa.BigInteger, "old_secret_until"),
        *_required(sa.Boolean, "is_first"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "last_at"),
        *_optional(sa.Boolean, "last_ok"),
        *_optional(sa.Text, "last_error"),
        _owner("user_id", "users.id", nullable=True),
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        *_optional(sa.Text, "choice"),
        sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"),
        sa.Column("repeats", sa.Boolean, nullable=False, server_default=sa.false()),
        *_optional(sa.BigInteger, "failing_since", "paused_at"),
        sa.Column("paused_reason", sa.Text, nullable=False, server_default=""),
        sa.Index("ix_webhooks_account_id", "account_id"),
        sa.Index("ix_webhooks_user_id", "user_id", "channel", unique=True),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text, primary_key=True),
        _owner("account_id", "accounts.id"),
        _owner("webhook_id", "webhooks.id"),
        sa.Column("channel", sa.Text, nullable=False, server_default="webhook"),
        *_required(sa.Text, "type", "batch"),
        *_required(sa.BigInteger, "created_at"),
        *_optional(sa.BigInteger, "due_at"),
        *_required(sa.BigInteger, "leased_until"),
        *_optional(sa.Text, "body"),
        *_required(sa.Integer, "attempts"),
        *_optional(sa.BigInteger, "finished_at"),
        *_optional(sa.Boolean, "is_accepted"),
        *_optional(sa.Integer, "status"),
        *_required(sa.Text, "error"),
        *_optional(sa.BigInteger, "milliseconds"),
        sa.Column("is_scheduled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("round", sa.Integer, nullable=False, server_default="0"),
        *_optional(sa.BigInteger, "handed_over_at"),
        sa.UniqueConstraint("webhook_id", "batch", name="uq_deliveries_webhook_id_batch"),
        sa.Index("ix_deliveries_account_id", "account_id"),
        sa.Index("ix_deliveries_batch", "batch"),
        sa.Index("ix_deliveries_due_at", "due_at"),
        sa.Index("ix_deliveries_is_scheduled", "is_scheduled", "due_at"),
        sa.Index("ix_deliveries_of_webhook", "webhook_id", "created_at", "is_accepted", "finished_at"),
    )
    op.create_table(
        "delivery_events",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("delivery_id", "deliveries.id", sa.Text),
        *_required(sa.Text, "events"),
        sa.Index("ix_delivery_events_delivery_id_id", "delivery_id", "id"),
    )
    op.create_table(
        "feeds",
        sa.Column("id", _ROW_ID, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "prefix", "digest"),
        *_required(sa.BigInteger, "created_at"),
        sa.UniqueConstraint("digest", name="uq_feeds_digest"),
        sa.Index("ix_feeds_account_id", "account_id"),
        sqlite_autoincrement=True,
    )
    op.create_table("ticks", sa.Column("name", sa.Text, primary_key=True), *_required(sa.BigInteger, "slot"))


def _create_billing() -> None:
    op.create_table(
        "checkouts",
        sa.Column("attempt", sa.Text, primary_key=True),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="SET NULL")),
        *_required(sa.Text, "terms"),
        *_optional(sa.Text, "session_id"),
        *_required(sa.BigInteger, "started_at", "asked_at"),
        *_required(sa.Boolean, "is_settled"),
        sa.UniqueConstraint("session_id", name="uq_checkouts_session_id"),
        sa.Index("ix_checkouts_account_id", "account_id"),
        sa.Index("ix_checkouts_started_at", "started_at"),
    )
    op.create_table(
        "payers",
        _owner("account_id", "accounts.id", primary_key=True),
        *_required(sa.BigInteger, "version"),
        *_required(sa.Text, "granted_plan"),
        *_required(sa.BigInteger, "granted_until"),
        *_required(sa.Text, "set_plan"),
        *_required(sa.BigInteger, "set_until"),
    )
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.Text, primary_key=True),
        _owner("account_id", "accounts.id"),
        *_required(sa.Text, "customer_id", "status", "price_id", "plan"),
        *_required(sa.Boolean, "cancel_at_period_end"),
        *_required(sa.BigInteger, "period_start", "period_end"),
        *_optional(sa.BigInteger, "ended_at"),
        *_required(sa.Boolean, "had_trial"),
        *_required(sa.BigInteger, "read_at"),
        sa.Index("ix_subscriptions_account_id", "account_id"),
    )
    op.create_table(
        "cancellations",
        sa.Column("subscription_id", sa.Text, primary_key=True),
        *_required(sa.BigInteger, "asked_at", "tried_at"),
    )
    op.create_table(
        "payment_events",
        sa.Column("id", sa.Text, primary_key=True),
        *_required(sa.Text, "type"),
        *_required(sa.BigInteger, "received_at"),
        sa.Index("ix_payment_events_received_at", "received_at"),
    )


def _create_nomenclature() -> None:
    op.create_table("nomenclature", sa.Column("code", sa.Text, primary_key=True), *_required(sa.Text, "name"))


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _owner(name: str, target: str, kind: Any = sa.BigInteger, **options: Any) -> sa.Column[Any]:
    """The row that a row belongs to and goes away with."""
    reference = sa.ForeignKey(target, ondelete="CASCADE")
    return sa.Column(name, kind, reference, **{"nullable": False, **options})


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
