"""The bare loop that filling is compared with: `python -m bench.bareload RECORDS DATABASE`.

It reads the same lines, parses the JSON of each and inserts it with its two identifiers into one SQLite table.
"""

import sqlite3
import sys
from itertools import islice

import msgspec

BATCH = 1_000

if __name__ == "__main__":
    connection = sqlite3.connect(sys.argv[2])
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE record (uuid TEXT, primary_di TEXT, document TEXT)")
    decode = msgspec.json.Decoder().decode
    with open(sys.argv[1], "rb") as file:
        parsed = ((decode(line), line.decode()) for line in file)
        rows = ((record["uuid"], record["primary_di"], line) for record, line in parsed)
        while batch := list(islice(rows, BATCH)):
            with connection:
                connection.executemany("INSERT INTO record VALUES (?, ?, ?)", batch)
    connection.close()
