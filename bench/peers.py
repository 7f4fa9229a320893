"""What people would search the copy with instead: SQLite's full-text search, PostgreSQL."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from math import inf
from typing import Any

import psycopg

from bench.figures import Figure, latencies
from bench.postgresql import DESCRIPTION, Cluster
from bench.processes import LOAD_CORE, SERVER_CORE, pinned
from bench.questions import Question, Sample
from bench.setup import Setup, timed

Connection = psycopg.Connection[tuple[Any, ...]]
Search = Callable[[Question], int]
"""Finds the first rows and gives the number of all."""
ROWS = 8
ASKED = 1 / 3  # part of a round that a peer is asked at most, and
ASKED_SECONDS = 5.0  # for so long
FTS5 = "SQLite FTS5"
POSTGRESQL = "PostgreSQL tsvector, pg_trgm"
DATABASE = "peers"
TRIGRAMS_UP_TO = 320_000  # records; of more, indexing the trigrams takes too long
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

    def asked(search: Search, core: int, *, finds_typos: bool) -> list[Figure | None]:
        most = round(setup.requests * ASKED)
        with pinned(core):
            return [
                timed_search(search, each, most, ASKED_SECONDS) if finds_typos or not each.typo else None
                for each in questions
            ]

    with timed(f"searching by {FTS5}"), closing(sqlite3.connect(sample.file)) as file:
        file.execute("PRAGMA cache_size = -1000000")
        yield FTS5, asked(partial(_fts5, file), SERVER_CORE, finds_typos=False), f"{FTS5}: {sample.loaded}"
    if cluster is not None:
        has_trigrams = setup.devices <= TRIGRAMS_UP_TO
        remark = f"{_loaded(setup, sample, cluster, trigrams=has_trigrams)} {DESCRIPTION}"
        with timed(f"searching by {POSTGRESQL}"), cluster.connect(DATABASE) as connection:
            connection.prepare_threshold = None  # every question is planned by itself
            connection.execute(f"SET pg_trgm.word_similarity_threshold = {SIMILARITY}".encode())
            yield POSTGRESQL, asked(partial(_postgresql, connection), LOAD_CORE, finds_typos=has_trigrams), remark


def timed_search(search: Search, question: Question, most: int, seconds: float = inf) -> Figure:
    """How long a search takes, again and again for that many times or seconds, after once that does not count."""
    total, times, ends = search(question), list[float](), time.perf_counter() + seconds
    while not times or (len(times) < most and time.perf_counter() < ends):
        began = time.perf_counter()
        search(question)
        times.append(time.perf_counter() - began)
    return latencies(times, total=total)


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


def _loaded(setup: Setup, sample: Sample, cluster: Cluster, *, trigrams: bool) -> str:
    """Load the rows into a table of PostgreSQL and index them, unless that was done before; how it went."""
    mark = setup.path("peers.txt")
    if not mark.exists():
        cluster.recreate(DATABASE)
        began = time.monotonic()
        with timed("loading and indexing in PostgreSQL"), cluster.connect(DATABASE) as connection:
            _load(sample, connection, trigrams=trigrams)
        mark.write_text(f"{POSTGRESQL}: loaded and indexed in {time.monotonic() - began:,.0f} s.", encoding="utf-8")
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


def _postgresql(connection: Connection, question: Question) -> int:
    """Words by full-text search, a typo by trigrams; the first rows, then the count."""
    if question.typo:
        asked, condition, order = question.text, "%s <%% names", "%s <<-> names"
    else:
        asked = " & ".join(f"'{word}'" for word in question.words) + ("" if question.whole else ":*")
        condition, order = "words @@ to_tsquery('simple', %s)", "ts_rank(words, to_tsquery('simple', %s)) DESC"
    where = " AND ".join([condition, *(f"{column} = %s" for column in question.codes)])
    values = [asked, *question.codes.values()]
    rows = f"SELECT id FROM device WHERE {where} ORDER BY {order} LIMIT {ROWS}"
    connection.execute(rows.encode(), [*values, asked]).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM device WHERE {where}".encode(), values).fetchone()
    return int(counted[0]) if counted else 0
