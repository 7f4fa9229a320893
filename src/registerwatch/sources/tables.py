"""The table of request budgets."""

from sqlalchemy import BigInteger, Column, Integer, Table, Text

from registerwatch.platform.db.tables import metadata

request_budgets = Table(
    "request_budgets",
    metadata,
    Column("host", Text, primary_key=True, doc="register or data_lake"),
    Column(
        "sent",
        Text,
        nullable=False,
        doc="JSON: of each kind of request, how many were sent in each of the last seconds",
    ),
    Column(
        "asking", Text, nullable=False, doc="JSON: of each kind, since when and when last it asked, when it was served"
    ),
    Column("paused_until", BigInteger, nullable=False, doc="no request before this; the host throttled us"),
    Column("throttled", Integer, nullable=False, doc="pauses in a row"),
    Column("pace", Integer, doc="requests that may leave in a minute, null before the first"),
    Column("quiet_since", BigInteger, nullable=False, doc="since then it neither throttled nor was the pace changed"),
    Column("halved_at", BigInteger, nullable=False, doc="when the pace was halved last, 0 for never"),
)
