"""PostgreSQL: the texts in one table, with a pg_trgm GIN index and with a full-text GIN index."""

from collections.abc import Iterable
from typing import Any, LiteralString

import psycopg

from bench.cluster import Cluster
from bench.peers.contract import ROWS
from bench.questions import ApiRequest
from bench.rows import NamedDevice

Connection = psycopg.Connection[tuple[Any, ...]]
DATABASE = "peers"

SIMILARITY = 0.45
"""One wrong letter in a word of eight leaves a word similarity of 0.5; by the default, 0.6, it finds nothing."""
TRIGRAMS = (
    "PostgreSQL in its own words: one backend on the server's core, asked through psycopg over a Unix socket, no HTTP. "
    "pg_trgm: `ILIKE '%word%'` for every word, without any ranking (a ranking would read every row found); of a typo "
    f"`<%` ordered by word similarity, its threshold {SIMILARITY}."
)
FULL_TEXT = "PostgreSQL tsvector: in the same table, the last word as a prefix, ranked by ts_rank."


def connect(cluster: Cluster) -> Connection:
    """A connection that plans every question by itself."""
    connection = cluster.connect(DATABASE)
    connection.prepare_threshold = None
    return connection


def load(cluster: Cluster, devices: Iterable[NamedDevice]) -> None:
    """Fill a new database with the rows and index them for full-text search."""
    cluster.recreate(DATABASE)
    with cluster.connect(DATABASE) as connection:
        connection.execute(
            "CREATE TABLE device (id bigint, names text, status text, risk text,"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('simple', names)) STORED)"
        )
        with connection.cursor() as cursor, cursor.copy("COPY device (id, names, status, risk) FROM STDIN") as copy:
            for device in devices:
                copy.write_row((device.row_id, device.text, device.status_code, device.risk_class_code))
        connection.execute("CREATE INDEX ON device USING gin (words)")
        connection.execute("VACUUM ANALYZE device")


def index_trigrams(cluster: Cluster) -> None:
    """The index that `Trigrams` needs."""
    with cluster.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE INDEX device_trigrams ON device USING gin (names gin_trgm_ops)")


def size(cluster: Cluster) -> int:
    """Bytes of the table with its indexes."""
    with cluster.connect(DATABASE) as connection:
        row = connection.execute("SELECT pg_total_relation_size('device')").fetchone()
    assert row is not None, "a function has a value"
    return int(row[0])


class Trigrams:
    """Searches by ILIKE over the pg_trgm index; of a typo by word similarity."""

    name = "PostgreSQL pg_trgm"

    def __init__(self, cluster: Cluster) -> None:
        self._connection = connect(cluster)
        self._connection.execute(f"SET pg_trgm.word_similarity_threshold = {SIMILARITY}".encode())

    def search(self, question: ApiRequest) -> int | None:
        if question.typo:
            order = "ORDER BY %s <<-> names"
            return _search(self._connection, question, ["%s <%% names"], [question.text], order)
        likes = [f"%{word}%" for word in question.words]
        return _search(self._connection, question, ["names ILIKE %s"] * len(likes), likes)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class FullText:
    """Searches by the full-text index, ranked by ts_rank."""

    name = "PostgreSQL tsvector"

    def __init__(self, cluster: Cluster) -> None:
        self._connection = connect(cluster)

    def search(self, question: ApiRequest) -> int | None:
        if question.typo:
            return None
        query = " & ".join(f"'{word}'" for word in question.words) + ("" if question.whole else ":*")
        order = "ORDER BY ts_rank(words, to_tsquery('simple', %s)) DESC"
        return _search(self._connection, question, ["words @@ to_tsquery('simple', %s)"], [query], order)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _search(
    connection: Connection,
    question: ApiRequest,
    conditions: list[LiteralString],
    values: list[str],
    order: LiteralString = "",
) -> int:
    """The first rows, then the count. An `order` takes the first of `values` once more."""
    ordered_by = values[:1] if order else []
    conditions, values = list(conditions), list(values)
    if question.status is not None:
        conditions.append("status = %s")
        values.append(question.status.code)
    if question.risk is not None:
        conditions.append("risk = %s")
        values.append(question.risk.code)
    where = " AND ".join(conditions)
    connection.execute(f"SELECT id FROM device WHERE {where} {order} LIMIT {ROWS}", [*values, *ordered_by]).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM device WHERE {where}", values).fetchone()
    assert counted is not None, "an aggregate has a row"
    return int(counted[0])
