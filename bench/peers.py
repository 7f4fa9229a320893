"""What people would search the copy with instead: Datasette, SQLite's full-text search, PostgreSQL."""

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg

from bench.figures import Figure, latencies
from bench.load import Client, Request
from bench.postgresql import DESCRIPTION, Cluster
from bench.processes import LOAD_CORE, SERVER_CORE, Server, answering, pinned
from bench.questions import Question, Sample
from bench.setup import Setup, say, timed

Connection = psycopg.Connection[tuple[Any, ...]]
Search = Callable[[Question], int | None]
"""Finds the first rows and counts all; gives the count, None where the peer cannot answer such a question."""
ROWS = 8
UNCOUNTED = -1  # what is given for the count by a peer that is asked for rows alone
ASKED = 1 / 3  # part of a round that a peer is asked at most, and
ASKED_SECONDS = 5.0  # for so long, but
MIN_ASKED = 3  # times at least, or once where asking once takes longer than that
DATASETTE = "Datasette"
SETTINGS = {"sql_time_limit_ms": "120000", "num_sql_threads": "1", "cache_size_kb": "16384", "suggest_facets": "off"}
DATASETTE_REMARK = f"Datasette: {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}."
TABLE = "/peers/devices.json"
PLAIN = {"_nofacet": "1", "_nosuggest": "1"}
METADATA = {"databases": {"peers": {"tables": {"devices": {"fts_table": "name", "fts_pk": "id"}}}}}
DATABASE = "peers"
SIMILARITY = 0.45
"""One wrong letter in a word of eight leaves a word similarity of 0.5; by the default, 0.6, it finds nothing."""
TEXTS = "SELECT id, trade || ' ' || device || ' ' || manufacturer, status, risk FROM texts JOIN device USING (id)"
WORDS = (
    "CREATE TABLE device (id bigint, names text, status text, risk text,"
    " words tsvector GENERATED ALWAYS AS (to_tsvector('simple', names)) STORED)"
)


def ask_peers(
    setup: Setup, sample: Sample, questions: Sequence[Question], cluster: Cluster | None
) -> Iterator[tuple[str, list[Figure | None], str]]:
    """Every peer's name, its figures, one for each question or None where it cannot answer it, and a remark."""

    def asked(peer: str, search: Search, remark: str, core: int = LOAD_CORE) -> tuple[str, list[Figure | None], str]:
        with pinned(core), timed(f"searching by {peer}"):
            return peer, [_answered(search, each, setup) for each in questions], remark

    with datasette_over(setup, sample) as datasette, closing(Client(datasette.port, timeout=300)) as client:
        yield asked(DATASETTE, partial(_datasette, client, counts=True), DATASETTE_REMARK)
        yield asked(f"{DATASETTE}, no count", partial(_datasette, client, counts=False), "")
    with closing(sqlite3.connect(sample.file)) as file:
        file.execute("PRAGMA cache_size = -1000000")
        yield asked("SQLite FTS5", partial(_fts5, file), f"SQLite FTS5: {sample.loaded}", SERVER_CORE)
    if cluster is None:
        return
    loaded = _loaded(setup, sample, cluster)
    with cluster.connect(DATABASE) as connection:
        connection.prepare_threshold = None  # every question is planned by itself
        if setup.devices <= setup.trigrams_up_to:
            indexed = _built(setup.path("trigrams.txt"), "indexing trigrams in PostgreSQL", cluster, _index_trigrams)
            connection.execute(f"SET pg_trgm.word_similarity_threshold = {SIMILARITY}".encode())
            yield asked("PostgreSQL pg_trgm", partial(_trigrams, connection), f"PostgreSQL pg_trgm: {indexed}")
        else:
            say(f"pg_trgm is left out above {setup.trigrams_up_to:,} records")
        remark = f"PostgreSQL tsvector: {loaded} {DESCRIPTION}"
        yield asked("PostgreSQL tsvector", partial(_full_text, connection), remark)


def _answered(search: Search, question: Question, setup: Setup) -> Figure | None:
    began = time.perf_counter()
    total = search(question)  # once before it counts
    if total is None:
        return None
    least = MIN_ASKED if time.perf_counter() - began < ASKED_SECONDS else 1
    most, times = round(setup.requests * ASKED), list[float]()
    ends = time.perf_counter() + ASKED_SECONDS
    while len(times) < least or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        search(question)
        times.append(time.perf_counter() - began)
    return latencies(times, **({} if total == UNCOUNTED else {"total": total}))


def datasette_over(setup: Setup, sample: Sample) -> AbstractContextManager[Server]:
    """Datasette over the file of SQLite FTS5, on the server's core."""
    folder = setup.path("datasette")
    folder.mkdir(exist_ok=True)
    shown, metadata = folder / "peers.db", folder / "metadata.json"  # the file's name becomes part of every address
    shown.unlink(missing_ok=True)
    shown.hardlink_to(Path(sample.file))
    metadata.write_text(json.dumps(METADATA), encoding="utf-8")
    command = [sys.executable, "-m", "datasette", "serve", shown, "--metadata", metadata]
    command += [word for name, value in SETTINGS.items() for word in ("--setting", name, value)]
    return answering(command, setup.path("datasette.log"), "/-/versions.json", cores=[SERVER_CORE])


def datasette_requests(udis: Sequence[str]) -> list[Request]:
    """A read of each device: its row as JSON, without counting what one row is."""
    asked = urlencode({"_shape": "array", "_nocount": "1", **PLAIN})
    return [Request(f"{TABLE}?udi__exact={quote(udi, safe='')}&{asked}") for udi in udis]


def _datasette(client: Client, question: Question, *, counts: bool) -> int | None:
    if question.typo:
        return None
    asked = {"_search": _match(question), "_searchmode": "raw", "_size": ROWS, "_shape": "objects", **PLAIN}
    asked |= {f"{column}__exact": code for column, code in question.codes.items()}
    asked |= {} if counts else {"_nocount": "1"}
    found = client.json(f"{TABLE}?{urlencode(asked)}")
    return int(found["filtered_table_rows_count"]) if counts else UNCOUNTED


def _fts5(connection: sqlite3.Connection, question: Question) -> int | None:
    if question.typo:
        return None
    values = [_match(question), *question.codes.values()]
    join = "JOIN device ON device.id = name.rowid" if question.codes else ""
    conditions = " AND ".join(["name MATCH ?", *(f"device.{column} = ?" for column in question.codes)])
    found = f"FROM name {join} WHERE {conditions}"
    ordered = f"SELECT name.rowid {found} ORDER BY bm25(name, 4.0, 1.0, 1.0) LIMIT {ROWS}"
    connection.execute(ordered, values).fetchall()
    return int(connection.execute(f"SELECT count(*) {found}", values).fetchone()[0])


def _match(question: Question) -> str:
    """Every word, the last one as a beginning too."""
    return " ".join(f'"{word}"' for word in question.words) + ("" if question.whole else " *")


def _loaded(setup: Setup, sample: Sample, cluster: Cluster) -> str:
    """Load the rows into a table of PostgreSQL and index its words, unless that was done before; how it went."""
    mark = setup.path("tsvector.txt")
    if not mark.exists():
        setup.path("trigrams.txt").unlink(missing_ok=True)
        cluster.recreate(DATABASE)
    return _built(mark, "loading PostgreSQL, indexing words", cluster, partial(_load, sample))


def _load(sample: Sample, connection: Connection) -> None:
    columns = "COPY device (id, names, status, risk) FROM STDIN"
    connection.execute(WORDS)
    with closing(sqlite3.connect(sample.file)) as source, connection.cursor().copy(columns) as copy:
        for row in source.execute(TEXTS):
            copy.write_row(row)
    connection.execute("CREATE INDEX ON device USING gin (words)")
    connection.execute("VACUUM ANALYZE device")


def _index_trigrams(connection: Connection) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    connection.execute("CREATE INDEX device_trigrams ON device USING gin (names gin_trgm_ops)")


def _built(mark: Path, what: str, cluster: Cluster, build: Callable[[Connection], None]) -> str:
    if not mark.exists():
        size, began = "SELECT pg_database_size(current_database())", time.monotonic()
        with cluster.connect(DATABASE) as connection, timed(what):
            (before,) = connection.execute(size).fetchone() or (0,)
            build(connection)
            (after,) = connection.execute(size).fetchone() or (0,)
        seconds = time.monotonic() - began
        mark.write_text(f"Loaded and indexed in {seconds:,.0f} s, {(after - before) / 1e6:,.0f} MB.", encoding="utf-8")
    return mark.read_text(encoding="utf-8")


def _trigrams(connection: Connection, question: Question) -> int:
    if question.typo:
        return _searched(connection, question, ["%s <%% names"], [question.text], "ORDER BY %s <<-> names")
    likes = [f"%{word}%" for word in question.words]
    return _searched(connection, question, ["names ILIKE %s"] * len(likes), likes)


def _full_text(connection: Connection, question: Question) -> int | None:
    if question.typo:
        return None
    query = " & ".join(f"'{word}'" for word in question.words) + ("" if question.whole else ":*")
    order = "ORDER BY ts_rank(words, to_tsquery('simple', %s)) DESC"
    return _searched(connection, question, ["words @@ to_tsquery('simple', %s)"], [query], order)


def _searched(
    connection: Connection, question: Question, conditions: list[str], values: list[str], order: str = ""
) -> int:
    """The first rows, then the count. An `order` takes the first of `values` once more."""
    found = [*values, *question.codes.values()]
    where = " AND ".join([*conditions, *(f"{column} = %s" for column in question.codes)])
    rows = f"SELECT id FROM device WHERE {where} {order} LIMIT {ROWS}"
    connection.execute(rows.encode(), [*found, *(values[:1] if order else [])]).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM device WHERE {where}".encode(), found).fetchone()
    return int(counted[0]) if counted else 0
