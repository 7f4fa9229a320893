"""The bare loop that filling is compared with: `python -m bench.bareload RECORDS DATABASE` prints its seconds.

It reads the same lines, parses the JSON of each and inserts it with its two identifiers into one SQLite table.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

BATCH = 1_000


def load(records: Path, database: Path) -> int:
    """Insert every line; the number of them."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE record (uuid TEXT, primary_di TEXT, document TEXT)")
    count = 0
    with open(records, "rb") as file:
        rows = _rows(file)
        while batch := list(islice(rows, BATCH)):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO record VALUES (?, ?, ?)", batch)
            connection.execute("COMMIT")
            count += len(batch)
    connection.close()
    return count


def _rows(lines: "Iterator[bytes]") -> Iterator[tuple[str, str, str]]:
    decode = msgspec.json.Decoder().decode
    for line in lines:
        record = decode(line)
        yield record["uuid"], record["primary_di"], line.decode()


def main() -> None:
    """Load and tell the seconds."""
    started = time.perf_counter()
    load(Path(sys.argv[1]), Path(sys.argv[2]))
    print(time.perf_counter() - started)


if __name__ == "__main__":
    main()
