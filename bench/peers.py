"""What people would search the copy with instead: Datasette, SQLite's full-text search, PostgreSQL."""

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg

from bench.figures import Figure, latencies
from bench.load import Client, Request
from bench.postgresql import DESCRIPTION, Cluster
from bench.processes import LOAD_CORE, SERVER_CORE, Server, answering, pinned
from bench.questions import Question, Sample
from bench.setup import Setup, timed

Connection = psycopg.Connection[tuple[Any, ...]]
Search = Callable[[Question], int]
"""Finds the first rows and gives the number of all."""
ROWS = 8
ASKED = 1 / 3  # part of a round that a peer is asked at most, and
ASKED_SECONDS = 5.0  # for so long
DATASETTE = "Datasette"
SETTINGS = {"sql_time_limit_ms": "120000", "num_sql_threads": "1", "cache_size_kb": "16384", "suggest_facets": "off"}
DATASETTE_REMARK = f"Datasette: {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}."
TABLE = "/peers/devices.json"
PLAIN = {"_nofacet": "1", "_nosuggest": "1"}
METADATA = {"databases": {"peers": {"tables": {"devices": {"fts_table": "name", "fts_pk": "id"}}}}}
DATABASE = "peers"
TRIGRAMS_UP_TO = 320_000  # records; PostgreSQL takes hours to index the trigrams of ten times as many
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

    def asked(
        peer: str, search: Search, remark: str, *, core: int = LOAD_CORE, finds_typos: bool = False
    ) -> tuple[str, list[Figure | None], str]:
        most = round(setup.requests * ASKED)
        with pinned(core), timed(f"searching by {peer}"):
            figures = [
                None if each.typo and not finds_typos else timed_search(search, each, most, ASKED_SECONDS)
                for each in questions
            ]
        return peer, figures, remark

    with datasette_over(setup, sample) as datasette, closing(Client(datasette.port, timeout=300)) as client:
        yield asked(DATASETTE, partial(_datasette, client), DATASETTE_REMARK)
    with closing(sqlite3.connect(sample.file)) as file:
        file.execute("PRAGMA cache_size = -1000000")
        yield asked("SQLite FTS5", partial(_fts5, file), f"SQLite FTS5: {sample.loaded}", core=SERVER_CORE)
    if cluster is not None:
        remark = f"Tables for the peers in PostgreSQL: {_loaded(setup, sample, cluster)} {DESCRIPTION}"
        with cluster.connect(DATABASE) as connection:
            connection.prepare_threshold = None  # every question is planned by itself
            if setup.devices <= TRIGRAMS_UP_TO:
                connection.execute(f"SET pg_trgm.word_similarity_threshold = {SIMILARITY}".encode())
                yield asked("PostgreSQL pg_trgm", partial(_trigrams, connection), "", finds_typos=True)
            yield asked("PostgreSQL tsvector", partial(_full_text, connection), remark)


def timed_search(search: Search, question: Question, most: int, seconds: float = inf) -> Figure:
    """How long a search takes, again and again for that many times or seconds, after once that does not count."""
    total, times, ends = search(question), list[float](), time.perf_counter() + seconds
    while not times or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        search(question)
        times.append(time.perf_counter() - began)
    return latencies(times, total=total)


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


def _datasette(client: Client, question: Question) -> int:
    asked = {"_search": _match(question), "_searchmode": "raw", "_size": ROWS, "_shape": "objects", **PLAIN}
    asked |= {f"{column}__exact": code for column, code in question.codes.items()}
    return int(client.json(f"{TABLE}?{urlencode(asked)}")["filtered_table_rows_count"])


def _fts5(connection: sqlite3.Connection, question: Question) -> int:
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
    """Load the rows into a table of PostgreSQL and index them, unless that was done before; how it went."""
    mark = setup.path("peers.txt")
    if not mark.exists():
        cluster.recreate(DATABASE)
        began = time.monotonic()
        with timed("loading and indexing in PostgreSQL"), cluster.connect(DATABASE) as connection:
            _load(sample, connection, trigrams=setup.devices <= TRIGRAMS_UP_TO)
        mark.write_text(f"Loaded and indexed in {time.monotonic() - began:,.0f} s.", encoding="utf-8")
    return mark.read_text(encoding="utf-8")


def _load(sample: Sample, connection: Connection, *, trigrams: bool) -> None:
    connection.execute(WORDS)
    columns = "COPY device (id, names, status, risk) FROM STDIN"
    with closing(sqlite3.connect(sample.file)) as source, connection.cursor().copy(columns) as copy:
        for row in source.execute(TEXTS):
            copy.write_row(row)
    connection.execute("CREATE INDEX ON device USING gin (words)")
    if trigrams:
        connection.execute("CREATE EXTENSION pg_trgm")
        connection.execute("CREATE INDEX ON device USING gin (names gin_trgm_ops)")
    connection.execute("VACUUM ANALYZE device")


def _trigrams(connection: Connection, question: Question) -> int:
    if question.typo:
        return _searched(connection, question, ["%s <%% names"], [question.text], "ORDER BY %s <<-> names")
    likes = [f"%{word}%" for word in question.words]
    return _searched(connection, question, ["names ILIKE %s"] * len(likes), likes)


def _full_text(connection: Connection, question: Question) -> int:
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
