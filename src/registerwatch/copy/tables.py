"""The tables of the stored copy."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from registerwatch.copy.certificates.certificate_numbers import of_inserted_row
from registerwatch.platform.db.tables import ROW_ID, metadata

devices = Table(
    "devices",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("primary_di", Text, nullable=False, doc="UDI-DI; several records can share one"),
    Column("uuid", Text, nullable=False, doc="the register's own id of the record"),
    Column("is_current", Boolean, nullable=False, doc="the one record that answers for its UDI-DI"),
    Column("latest_version", Boolean, nullable=False),
    Column("version_number", Integer, nullable=False, doc="0 when the source does not give it"),
    Column("legislation_code", Text, nullable=False, doc="last segment of the register's code, or empty"),
    Column("detail_version", Integer, doc="version whose detail was read from the register, null if never"),
    Column("revision", BigInteger, nullable=False, index=True, doc="number of the change that stored this"),
    Column(
        "read_at",
        BigInteger,
        nullable=False,
        doc="before the first request of the last read that anybody may know of: not one for watches that brought"
        " nothing new",
    ),
    Column("document", Text, nullable=False, doc="the device as the service serves it"),
    Column("source", Text, nullable=False, doc="the source that brought the document"),
    Column(
        "document_version", Integer, nullable=False, server_default="1", doc="DOCUMENT_VERSION at its last full read"
    ),
    Column("delisted_at", BigInteger, doc="first read in which the register listed it no more, null while it does"),
    Column("detail_read_at", BigInteger, doc="the same of the detail, null if never read"),
    Column("certs_read_at", BigInteger, doc="the same of the certificates, all of them; null as with the detail"),
    Column("first_seen_at", BigInteger, nullable=False, doc="read_at of the read that stored it first"),
    Column("certs_revision", BigInteger, nullable=False, doc="revision of the read of certificates, 0 if never read"),
    Column("lost_certs", Text, doc="JSON: certificates it had and has no more, see scoped_certificates; null for none"),
    Column("basic_key", Text, doc="key in basic_records that its row names (basicUdiDiDataUlid), null where unknown"),
    Column("basic_read_at", BigInteger, doc="read_at of the Basic UDI-DI record that it shows, null if never read"),
    Column("own_revision", BigInteger, nullable=False, doc="revision of what was read of the record itself"),
    Column(
        "watched_read_at", BigInteger, doc="a later read_at, of a read for watches that brought nothing new, or null"
    ),
    Column("watched_certs_at", BigInteger, doc="the certs_read_at of that read; null with watched_read_at"),
    Column("watched_basic_at", BigInteger, doc="a later basic_read_at, of a record that was read for watches, or null"),
    UniqueConstraint("primary_di", "uuid", name="uq_devices_primary_di_uuid"),
    Index(
        "ix_devices_under",
        "basic_key",
        "primary_di",
        sqlite_where=text("basic_key IS NOT NULL"),
        postgresql_where=text("basic_key IS NOT NULL"),
    ),
)

basic_records = Table(  # what all devices under one Basic UDI-DI share
    "basic_records",
    metadata,
    Column("key", Text, primary_key=True, doc="the register's ulid of it"),
    Column("record", Text, nullable=False, doc="BasicRecord in JSON"),
    Column("document_version", Integer, nullable=False, doc="DOCUMENT_VERSION when it was read"),
    Column("read_at", BigInteger, nullable=False, doc="before the request that brought it"),
    Column("revision", BigInteger, nullable=False, doc="copy_state.revision when it was stored last"),
    Column("changed_revision", BigInteger, nullable=False, doc="the same of the last time when it was another one"),
    Column("search", Text, doc="JSON: certificates that the certificate search has for it, null if never searched"),
    Column("searched_at", BigInteger, doc="before the request of that search"),
    Column("search_revision", BigInteger, nullable=False, server_default="0", doc="as revision, of the search"),
    Column("search_changed_revision", BigInteger, nullable=False, server_default="0", doc="as changed_revision"),
    Column("propagated_to", Text, doc="UDI-DI of the last device that was brought up to date, null for all"),
    Column("watched_read_at", BigInteger, doc="as in devices"),
    Column("watched_search_at", BigInteger, doc="the same of searched_at"),
    Column("basic_udi", Text, nullable=False, server_default="", index=True, doc="as record has it, or empty"),
    Column("scoped_at", BigInteger, doc="before the read of certificates whose scopes name it and that changed last"),
    Index(
        "ix_basic_records_propagated",
        "key",
        sqlite_where=text("propagated_to IS NOT NULL"),
        postgresql_where=text("propagated_to IS NOT NULL"),
    ),
)

device_codes = Table(  # what each code of a package, a direct marking and the like belongs to; documents say what it is
    "device_codes",
    metadata,
    Column("code", Text, primary_key=True, doc="never the UDI-DI of the record itself"),
    Column("primary_di", Text, primary_key=True),
    Column("uuid", Text, primary_key=True, doc="with primary_di the record in devices whose document has the code"),
)

actors = Table(
    "actors",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("country", Text, nullable=False, doc="ISO 3166 code of two letters, or empty"),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("device_total", Integer, doc="the register's own count, null when it was never asked"),
    Column("complete", Boolean, nullable=False, doc="whether it was read as an actor, not only named by a device"),
    Column("read_at", BigInteger, nullable=False, doc="last successful reading, unix seconds"),
    Column("reads", BigInteger, nullable=False, server_default="0", doc="how often it was read and stored"),
    Column("source", Text, nullable=False, doc="the source that reported it last"),
    Column("first_seen_at", BigInteger, nullable=False, doc="read_at of the read that stored it first"),
    Column("listed", BigInteger, doc="its records when the copy last had all that the register lists, null if never"),
    Column("listed_at", BigInteger, doc="when the register was last asked for them then"),
    Column("doubted_at", BigInteger, doc="when the first of the counts was read that are doubted, or null"),
    Column("watched_read_at", BigInteger, doc="as in devices"),
    Column("delisted_at", BigInteger, doc="first read in which the register had it no more, null while it has"),
    Column("listing_revision", BigInteger, doc="copy_state.revision when it came, or delisted_at changed last"),
    Index("ix_actors_listing_revision", "listing_revision"),
)

copy_state = Table(
    "copy_state",
    metadata,
    Column("id", Integer, primary_key=True, doc="always 1"),
    Column("copy_id", Text, nullable=False, doc="identifies this copy for its index"),
    Column("revision", BigInteger, nullable=False, doc="number of the last stored change or read"),
    Column("devices", BigInteger, nullable=False, doc="rows of devices"),
    Column("last_read_at", BigInteger, doc="last successful read of the register"),
    Column("history_pruned", BigInteger, doc="last id in record_history whose subject was pruned since"),
    Column("whole_at", BigInteger, doc="began the last load of the whole register that came to its end; null if none"),
)

record_history = Table(
    "record_history",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("kind", Text, nullable=False, doc="device, actor or certificate"),
    Column("subject", Text, nullable=False, doc="UDI-DI, SRN, or id in certificates"),
    Column("record", Text, nullable=False, doc="uuid of the device record, empty where the subject is the record"),
    Column("revision", BigInteger, nullable=False, doc="number of the change, 0 where it has none"),
    Column("observed_at", BigInteger, nullable=False, doc="before the first request of the read that found it"),
    Column("source", Text, doc="the source that brought the new values"),
    Column("old", Text, nullable=False, doc="JSON: the fields that changed, with their values before"),
    Column("dropped_at", BigInteger, doc="observed_at of the change before this one, where that was deleted"),
    Index("ix_record_history_of", "kind", "subject", "id"),
    sqlite_autoincrement=True,
)

certificates = Table(  # every certificate that the register's certificate search lists
    "certificates",
    metadata,
    Column("id", Text, primary_key=True, doc="the register's ulid, else its uuid"),
    Column("uuid", Text, nullable=False, index=True, doc="the register's id of its present version"),
    Column("srn", Text, nullable=False, doc="the manufacturer's, or empty"),
    Column("actor_name", Text, nullable=False),
    Column("notified_body", Text, nullable=False, doc="its number of four digits, or empty"),
    Column("number", Text, nullable=False, index=True),
    Column("revision", Text, nullable=False, doc="empty where the register has none"),
    Column("type_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("issue_date", Text),
    Column("valid_from", Text),
    Column("expiry", Text, index=True, doc="date, null where the register has none"),
    Column("version", Integer),
    Column("is_latest", Boolean, nullable=False),
    Column("last_expiry", Text, doc="the last one that the register had: an expiry that returns is no change"),
    Column(
        "scopes_due_at", BigInteger, nullable=False, server_default="0", index=True, doc="when they are to be read next"
    ),
    Column("first_seen_at", BigInteger, nullable=False, doc="began the walk that listed it first"),
    Column("seen_at", BigInteger, nullable=False, doc="began the walk that listed it last"),
    Column(
        "listed_revision",
        BigInteger,
        nullable=False,
        server_default="0",
        doc="copy_state.revision before the walk that showed its latest version last",
    ),
    Column(
        "unlisted_at", BigInteger, doc="began the first complete walk that did not list it, null while it is listed"
    ),
    Column("scopes_read_at", BigInteger, doc="null where its own record was never read"),
    Column("scopes", Text, doc="JSON: register.certificates.Scope, null as before"),
    Column("facts", Text, doc="JSON: register.certificates.CertificateFacts, null where they were never read"),
    Column(
        "plain_number",
        Text,
        nullable=False,
        server_default="",
        default=of_inserted_row,
        index=True,
        doc="its number without white space, in capitals: how people look for it",
    ),
    Index("ix_certificates_srn", "srn", "number"),
    Index("ix_certificates_notified_body", "notified_body", "number"),
    Index("ix_certificates_status_code", "status_code", "id"),
)

certificate_scopes = Table(
    "certificate_scopes",
    metadata,
    Column("certificate_id", Text, ForeignKey("certificates.id", ondelete="CASCADE"), primary_key=True),
    Column("basic_udi", Text, primary_key=True, index=True, doc="a Basic UDI-DI that its scopes name"),
)

device_certificates = Table(  # certificates that devices list themselves, by the newest read of one
    "device_certificates",
    metadata,
    Column("srn", Text, primary_key=True, doc="the manufacturer's"),
    Column("number", Text, primary_key=True),
    Column("revision", Text, primary_key=True, doc="empty where the register has none"),
    Column("notified_body", Text, primary_key=True, doc="likewise"),
    Column("primary_di", Text, nullable=False, doc="of the device that was read"),
    Column("read_at", BigInteger, nullable=False, doc="before the first request of that read, for its certificates"),
    Column("told", Text, nullable=False, doc="JSON: register.models.Certificate, each that is alike"),
    Column("plain_number", Text, nullable=False, server_default="", index=True, doc="as of a certificate of the list"),
)

certificate_documents = Table(  # documents of certificates that were served, as first seen
    "certificate_documents",
    metadata,
    Column("uuid", Text, primary_key=True, doc="the register's"),
    Column("sha256", Text, nullable=False, doc="of its content, in hexadecimal digits"),
    Column("size", BigInteger, nullable=False, doc="bytes"),
    Column("first_seen_at", BigInteger, nullable=False),
)

refusals = Table(  # refused applications for a certificate
    "refusals",
    metadata,
    Column("id", Text, primary_key=True, doc="the register's ulid, else its uuid"),
    Column("srn", Text, nullable=False, index=True, doc="the manufacturer's, or empty"),
    Column("actor_name", Text, nullable=False),
    Column("notified_body", Text, nullable=False),
    Column("reference", Text, nullable=False, doc="of the application"),
    Column("procedure_code", Text, nullable=False, doc="conformity assessment procedure, the register's full code"),
    Column("refused_on", Text, doc="date"),
    Column("first_seen_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("unlisted_at", BigInteger),
)

notified_bodies = Table(
    "notified_bodies",
    metadata,
    Column("number", Text, primary_key=True, doc="four digits"),
    Column("name", Text, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
)

certificate_news = Table(  # changes of a manufacturer's certificates, in the order in which they were found
    "certificate_news",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("srn", Text, nullable=False),
    Column("certificate_id", Text, nullable=False, doc="in certificates, or in refusals"),
    Column("changes", Text, nullable=False, doc="JSON: array of {field, old, new, certificate}"),
    Column("found_at", BigInteger, nullable=False),
    Column("visible_at", BigInteger, nullable=False, doc="before the request that listed it"),
    Index("ix_certificate_news_srn", "srn", "id"),
    sqlite_autoincrement=True,
)

walks = Table(  # reads of a whole list: certificates, refusals, notified bodies
    "walks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("began_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, doc="null while it goes on, and where its process was killed"),
    Column("complete_at", BigInteger, doc="when the last walk began that saw the whole list, null before the first"),
    Column("leased_until", BigInteger, nullable=False, doc="a node has it until then, 0 when none has"),
    Column("lease_holder", Text, doc="its claim, as platform.leases has them"),
    Column("listed", BigInteger, nullable=False, doc="records that the last walk saw"),
    Column("total", BigInteger, doc="records that the register counted meanwhile"),
    Column("problem", Text, nullable=False, doc="why the last walk was not complete, or empty"),
    Column(
        "unread", Text, nullable=False, server_default="[]", doc="JSON: ids of listed rows that could not be read yet"
    ),
)

device_sweeps = Table(  # manufacturers that are watched, or have watched devices
    "device_sweeps",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("lists_all", Boolean, nullable=False, doc="whether all its devices are listed, since it is watched itself"),
    Column("watched", BigInteger, nullable=False, doc="its UDI-DIs that are watched"),
    Column("added_at", BigInteger, nullable=False, doc="or since when all its devices are to be listed"),
    Column("turn_at", BigInteger, nullable=False, index=True, doc="its last run; 0 when it is due at once"),
    Column("leased_until", BigInteger, nullable=False, doc="a node has it until then, 0 when none has"),
    Column("lease_holder", Text, doc="its claim, as platform.leases has them"),
    Column("walk", BigInteger, nullable=False, doc="number of its present or last walk"),
    Column("walk_began_at", BigInteger, doc="null while no walk is under way"),
    Column("cursor", Text, nullable=False, doc="where the walk goes on: a page, or the last UDI-DI"),
    Column("total", BigInteger, doc="the register's count of its devices, when it was last listed"),
    Column("is_steady", Boolean, nullable=False, doc="whether that count never fell in the present walk"),
    Column("swept_at", BigInteger, doc="when the last walk began that came to its end, null before the first"),
    Column("complete_at", BigInteger, doc="the same of one that listed every device"),
    Column("doubted_at", BigInteger, doc="when the first of the lists began that are doubted, or null"),
    Column("problem", Text, nullable=False, doc="why the last run failed, or what is wrong with the list, or empty"),
    Column(
        "unreadable", Text, nullable=False, server_default="", doc="identifies rows of the walk that cannot be read"
    ),
)

portfolio_devices = Table(  # the devices of watched manufacturers as they were last listed
    "portfolio_devices",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("uuid", Text, primary_key=True),
    Column("primary_di", Text, nullable=False),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("is_latest", Boolean, nullable=False),
    Column("version_number", BigInteger, nullable=False, server_default="0", doc="0 when the row does not give it"),
    Column("walk", BigInteger, nullable=False, doc="number of the last walk that listed it"),
    Column(
        "changed_walk", BigInteger, nullable=False, server_default="0", doc="number of the walk that found it as it is"
    ),
    Column("on_market", Boolean, doc="what the last complete walk found of its UDI-DI, null where it found nothing"),
    Index("ix_portfolio_devices_primary_di", "srn", "primary_di"),
)

portfolio_news = Table(  # changes of these devices, in the order in which they were found
    "portfolio_news",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("srn", Text, nullable=False),
    Column("primary_di", Text, nullable=False),
    Column("name", Text, nullable=False, doc="trade name, or empty"),
    Column("change", Text, nullable=False, doc="registered, off_market or on_market"),
    Column("found_at", BigInteger, nullable=False),
    Column("visible_at", BigInteger, nullable=False, doc="before the request that listed it"),
    Index("ix_portfolio_news_srn", "srn", "id"),
    Index("ix_portfolio_news_found_at", "srn", "found_at"),
    sqlite_autoincrement=True,
)

fills = Table(
    "fills",
    metadata,
    Column("source", Text, primary_key=True, doc="datalake, register, or a file's address"),
    Column("cursor", Text, nullable=False, doc="where to go on: an address, a page, a line"),
    Column("records", BigInteger, nullable=False, doc="records read so far in this run"),
    Column("changed", BigInteger, nullable=False, doc="records stored because they were new or changed"),
    Column("started_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, doc="null while the run is unfinished"),
)

unread_fields = Table(
    "unread_fields",
    metadata,
    Column("record", Text, primary_key=True, doc="the kind of record, such as `device row`"),
    Column("field", Text, primary_key=True, doc="the path of the field in it"),
    Column("records", BigInteger, nullable=False, doc="in how many records it could not be read"),
    Column("example", Text, nullable=False, doc="the first value, shortened"),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False, doc="when that was last stored, within a minute"),
)

nomenclature = Table(
    "nomenclature",
    metadata,
    Column("code", Text, primary_key=True, doc="of the European Medical Device Nomenclature"),
    Column("name", Text, nullable=False, doc="in English"),
)
