"""PostgreSQL: the texts in one table, with a pg_trgm GIN index and with a full-text GIN index."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg
from tests.parts.postgresql import binaries, cluster

from bench.machine import SERVER_CORE, Others, memory_bytes
from bench.peers.contract import ROWS
from bench.questions import Question
from bench.rows import NamedDevice

Connection = psycopg.Connection[tuple[int]]


def memory_settings() -> dict[str, str]:
    """Memory for a server that has the machine almost to itself: a quarter of it for shared buffers, at most 4 GB."""
    megabytes = memory_bytes() // 1_000_000
    return {
        "shared_buffers": f"{min(4_000, megabytes // 4)}MB",
        "effective_cache_size": f"{megabytes // 2}MB",
        "work_mem": "256MB",
        "maintenance_work_mem": f"{min(1_000, megabytes // 8)}MB",
        "max_wal_size": "8GB",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
    }


def description() -> str:
    """How it is set up."""
    settings = ", ".join(f"{name} = {value}" for name, value in memory_settings().items())
    return (
        f"PostgreSQL: {settings}; one backend on the server's core, asked through psycopg over a Unix socket, no HTTP. "
        "pg_trgm: `ILIKE '%word%'` for every word, without any ranking (a ranking would read every row found); of a "
        "typo `<%` ordered by word similarity."
    )


FULL_TEXT = "PostgreSQL tsvector: in the same table, the last word as a prefix, ranked by ts_rank."


@contextmanager
def server() -> Iterator[str]:
    """A fresh server with these settings; gives the folder of its socket."""
    with cluster() as sockets:
        with psycopg.connect(host=sockets, user="postgres", dbname="postgres", autocommit=True) as connection:
            for name, value in memory_settings().items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        cluster_dir = Path(sockets) / "data"
        _restart(cluster_dir)
        postmaster = int((cluster_dir / "postmaster.pid").read_text().splitlines()[0])
        Others.guests.add(postmaster)
        try:
            yield sockets
        finally:
            Others.guests.discard(postmaster)


def _restart(cluster_dir: Path) -> None:
    folder = binaries()
    assert folder is not None, "the cluster was made by them"
    command: Sequence[str] = [str(folder / "pg_ctl"), "-D", str(cluster_dir), "-m", "fast", "-w", "restart", "-l"]
    command = [*command, str(cluster_dir.parent / "log")]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    subprocess.run(command, check=True, capture_output=True, cwd="/")


def is_installed() -> bool:
    """Whether there is a PostgreSQL to start."""
    return binaries() is not None


def connect(sockets: str) -> Connection:
    """A connection whose backend runs on the server's core, where we are allowed to say so."""
    connection = psycopg.connect(host=sockets, user="postgres", dbname="postgres", autocommit=True)
    connection.prepare_threshold = None  # a plan of its own for every question
    with suppress(psutil.Error):  # another user's process, where we are not root: the system decides where it runs
        psutil.Process(connection.info.backend_pid).cpu_affinity([SERVER_CORE])
    return connection


def load(sockets: str, devices: Iterable[NamedDevice]) -> int:
    """Fill an empty server and index it; the bytes of the table with its indexes."""
    with psycopg.connect(host=sockets, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
        connection.execute(
            "CREATE TABLE device (id bigint, names text, status text, risk text,"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('simple', names)) STORED)"
        )
        with connection.cursor() as cursor, cursor.copy("COPY device (id, names, status, risk) FROM STDIN") as copy:
            for device in devices:
                copy.write_row((device.row_id, device.text, device.status_code, device.risk_class_code))
        connection.execute("CREATE INDEX ON device USING gin (names gin_trgm_ops)")
        connection.execute("CREATE INDEX ON device USING gin (words)")
        connection.execute("VACUUM ANALYZE device")
        size = connection.execute("SELECT pg_total_relation_size('device')").fetchone()
    assert size is not None, "an aggregate has a row"
    return int(size[0])


class Trigrams:
    """Searches by ILIKE over the pg_trgm index; of a typo by word similarity."""

    name = "PostgreSQL pg_trgm"

    def __init__(self, sockets: str) -> None:
        self._connection = connect(sockets)

    def search(self, question: Question) -> int | None:
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

    def __init__(self, sockets: str) -> None:
        self._connection = connect(sockets)

    def search(self, question: Question) -> int | None:
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
    question: Question,
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
    return counted[0]
