"""The tables of watches and their events."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from registerwatch.platform.db.tables import ROW_ID, metadata, of_account

watches = Table(
    "watches",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False, doc="udi or srn"),
    Column("subject", Text, nullable=False, doc="the UDI-DI or SRN", index=True),
    Column("label", Text, nullable=False),
    Column("is_renamed", Boolean, nullable=False, doc="whether a person gave the label"),
    Column("snapshot", Text, doc="watches.snapshot.Snapshot in JSON, null before the first successful read"),
    Column(
        "last_sync", BigInteger, doc="before the first request of the last successful read, null when there was none"
    ),
    Column(
        "tried_at", BigInteger, nullable=False, index=True, doc="last try to read it, 0 or less when it is due at once"
    ),
    Column("last_error", Text, nullable=False, doc="why the last read failed, empty when it did not"),
    Column("failing_since", BigInteger, doc="first failure since the last success, null when there was none"),
    Column("created_at", BigInteger, nullable=False),
    Column("notes", Text, nullable=False, server_default="", doc="what people wrote down beside it"),
    Column("options", Text, nullable=False, server_default="{}", doc="watches.options.WatchOptions in JSON"),
    Column(
        "manufacturer_srn", Text, nullable=False, server_default="", index=True, doc="of the device, or the subject"
    ),
    Column("basic_udi", Text, nullable=False, server_default="", index=True, doc="of the device, or empty"),
    Column("portfolio_seen", BigInteger, doc="last id of portfolio_news that it reported, null without a baseline"),
    Column("certificates_seen", BigInteger, doc="last id of certificate_news, likewise"),
    Column("news_since", BigInteger, doc="earlier lists are not a baseline of news; null stands for created_at"),
    UniqueConstraint("account_id", "subject", name="uq_watches_account_id_subject"),
    sqlite_autoincrement=True,
)

expiry_notices = Table(  # how near the end of a certificate was when a watch last reported it
    "expiry_notices",
    metadata,
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), primary_key=True),
    Column("certificate", Text, primary_key=True, doc="notified body, number and revision"),
    Column("expiry", Text, primary_key=True, doc="date"),
    Column("days", Integer, nullable=False, doc="the last notice: so many days before, or more at the baseline"),
)

watch_tags = Table(
    "watch_tags",
    metadata,
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True, doc="as the account spelled it first"),
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Index("ix_watch_tags_account_id_tag", "account_id", "tag"),
)

sync_runs = Table(  # the last sync that a person of the account started on a page
    "sync_runs",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, nullable=False, doc="differs from the next run of the account"),
    Column("started_at", BigInteger, nullable=False),
    Column("ends_by", BigInteger, nullable=False, doc="a run that has not finished by then was interrupted"),
    Column("total", Integer, nullable=False, doc="watches that it is to read"),
    Column("done", Integer, nullable=False, doc="those that were tried so far"),
    Column("failed", Integer, nullable=False, doc="those of them that were tried in vain"),
    Column("events", Integer, nullable=False, doc="the account's events since it started"),
    Column("finished_at", BigInteger, doc="null while it goes on, and for ever where its process was killed"),
    Column("error", Text, nullable=False, doc="why it did not try all, or empty"),
)

read_failures = Table(  # reads of a watch that failed; several in a row for the same reason are one row
    "read_failures",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("reason", Text, nullable=False, doc="as `watches.last_error` had it"),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("times", Integer, nullable=False),
    Column("ended_at", BigInteger, doc="when a read went well, or failed for another reason; null before that"),
    sqlite_autoincrement=True,
)

recheck_turns = Table(  # when the recheck last served each account; an account without a row waits since it was created
    "recheck_turns",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("rechecked_at", BigInteger, doc="when last served, in microseconds, null before the first"),
    Column("first_reads_at", BigInteger, doc="when last served for watches that were never read, likewise"),
)

events = Table(
    "events",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("watch_id", BigInteger, nullable=False, doc="the watch, which the event survives"),
    Column("subject", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("summary", Text, nullable=False),
    Column("changes", Text, nullable=False, doc="JSON: array of {field, old, new}"),
    Column("awaits_sync", Boolean, nullable=False, doc="whether the account's next sync lists it"),
    Column("kind", Text, nullable=False, server_default="record", doc="watches.models.EventKind"),
    Column("severity", Text, nullable=False, doc="watches.models.EventSeverity"),
    Column("cause", Text, doc="watches.causes: the same for events that feeds tell as one"),
    Column("fields", Text, nullable=False, doc="names of the changed fields: ',status,trade_name,'"),
    Column("archived_at", BigInteger, doc="null while the account lists it among its events"),
    Column("visible_at", BigInteger, doc="before the first request that showed the change; null where not noted"),
    Index("ix_events_cause_id", "cause", "id"),
    Index("ix_events_account_id_id", "account_id", "id"),
    Index("ix_events_account_id_watch_id_id", "account_id", "watch_id", "id"),
    Index(  # every column that the page of events filters by: it finds and counts without reading the rows
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
    Index("ix_events_severity", "account_id", "severity", "id", "archived_at"),
    sqlite_autoincrement=True,
)

event_marks = Table(  # what differs from users.events_seen_through
    "event_marks",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("event_id", BigInteger, primary_key=True, doc="an event of the user's account"),
    Column("is_seen", Boolean, nullable=False, doc="true only after events_seen_through, false only up to it"),
    sqlite_with_rowid=False,
)
