"""SQLite FTS5: a contentless table over the texts beside a table of the filtered columns."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bench.peers.contract import ROWS
from bench.questions import ApiRequest
from bench.rows import NamedDevice
from registerwatch.db.sqlite import quoted

BATCH = 10_000
DESCRIPTION = (
    "SQLite FTS5: contentless, unicode61 remove_diacritics 2, prefix='2 3', optimised after loading; bm25 with trade "
    "names weighing 4; filters by a join on the rowid; 1 GB of page cache; in the measuring process, no HTTP."
)


class Fts5:
    """Searches by FTS5. One connection, in this process."""

    name = "SQLite FTS5"

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{quoted(path)}", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA cache_size = -1000000")

    def load(self, devices: Iterable[NamedDevice]) -> None:
        """Fill the empty database."""
        execute = self._connection.execute
        execute("PRAGMA journal_mode = OFF")
        execute("PRAGMA synchronous = OFF")
        execute("CREATE TABLE device (id INTEGER PRIMARY KEY, status TEXT, risk TEXT)")
        execute(
            "CREATE VIRTUAL TABLE name USING fts5(trade, device, manufacturer, content='', prefix='2 3',"
            " tokenize='unicode61 remove_diacritics 2')"
        )
        for batch in _batches(devices):
            execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO device VALUES (?, ?, ?)",
                [(each.row_id, each.status_code, each.risk_class_code) for each in batch],
            )
            self._connection.executemany(
                "INSERT INTO name (rowid, trade, device, manufacturer) VALUES (?, ?, ?, ?)",
                [(each.row_id, each.trade_names, each.device_name, each.manufacturer_name) for each in batch],
            )
            execute("COMMIT")
        execute("INSERT INTO name (name) VALUES ('optimize')")

    def add_documents(self, copy: Path) -> None:
        """A table of what the service serves for each device, from the copy's database, for who shows it over HTTP."""
        execute = self._connection.execute
        execute("ATTACH ? AS copy", [f"file:{quoted(copy)}?mode=ro"])
        execute("CREATE TABLE devices (id INTEGER PRIMARY KEY, udi TEXT, status TEXT, risk TEXT, document TEXT)")
        execute(
            "INSERT INTO devices SELECT device.id, primary_di, status, risk, document"
            " FROM device JOIN copy.devices USING (id)"
        )
        execute("CREATE UNIQUE INDEX devices_udi ON devices (udi)")
        execute("DETACH copy")

    def search(self, question: ApiRequest) -> int | None:
        if question.typo:
            return None
        conditions, values = ["name MATCH ?"], [match(question)]
        if question.status is not None:
            conditions.append("device.status = ?")
            values.append(question.status.code)
        if question.risk is not None:
            conditions.append("device.risk = ?")
            values.append(question.risk.code)
        join = "JOIN device ON device.id = name.rowid" if len(values) > 1 else ""
        found = f"FROM name {join} WHERE {' AND '.join(conditions)}"
        self._connection.execute(
            f"SELECT name.rowid {found} ORDER BY bm25(name, 4.0, 1.0, 1.0) LIMIT {ROWS}", values
        ).fetchall()
        return int(self._connection.execute(f"SELECT count(*) {found}", values).fetchone()[0])

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def match(question: ApiRequest) -> str:
    """Every word, the last one as a beginning too."""
    return " ".join(f'"{word}"' for word in question.words) + ("" if question.whole else " *")


def _batches(devices: Iterable[NamedDevice]) -> Iterator[list[NamedDevice]]:
    source = iter(devices)
    while batch := list(islice(source, BATCH)):
        yield batch
