"""The rows of a copy in a database of SQLite's full-text search: for peers to search, and to know what to ask for."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from bench.setup import Setup, remove_database, timed

SAMPLED_DEVICES = 4_000
SAMPLED_ACTORS = 100
COMMON_WORDS = 400
RARE_WORDS = 200
RARE = 3  # devices that a rare word is in at most
TEXTS = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE texts (id INTEGER PRIMARY KEY, trade TEXT, device TEXT, manufacturer TEXT);
INSERT INTO texts SELECT
    id,
    (SELECT group_concat(value, ' ') FROM (
        SELECT document ->> 'trade_name' AS value WHERE value <> ''
        UNION SELECT value FROM json_each(document, '$.trade_names') WHERE value <> ''
    )),
    trim(coalesce(document ->> 'device_name', '') || ' ' || coalesce(document ->> 'device_model', '')),
    document ->> 'manufacturer_name'
FROM copy.devices WHERE is_current;
CREATE TABLE device (id INTEGER PRIMARY KEY, status TEXT, risk TEXT);
INSERT INTO device SELECT id, document ->> 'status_code', document ->> 'risk_class_code'
    FROM copy.devices WHERE is_current;
CREATE VIRTUAL TABLE name USING fts5(
    trade, device, manufacturer, content='', prefix='2 3', tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO name (rowid, trade, device, manufacturer) SELECT * FROM texts;
INSERT INTO name (name) VALUES ('optimize');
"""
DOCUMENTS = """
CREATE TABLE devices (id INTEGER PRIMARY KEY, udi TEXT, status TEXT, risk TEXT, document TEXT);
INSERT INTO devices SELECT device.id, primary_di, status, risk, document FROM device JOIN copy.devices USING (id);
CREATE UNIQUE INDEX devices_udi ON devices (udi);
CREATE TABLE actors AS SELECT DISTINCT document ->> 'manufacturer_srn' AS srn FROM devices WHERE srn <> '' ORDER BY srn;
CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, name, row);
CREATE TABLE word AS SELECT term, doc FROM temp.words;
"""
"""What the service serves for each device, for Datasette to show; in how many devices each word is."""


class Sample(msgspec.Struct, frozen=True):
    """What is in a copy. Words are without case and diacritics."""

    file: str  # the database, with `device` and `name` for searches, `texts` and `devices`
    loaded: str  # how loading it went, as a sentence
    devices: int
    common: dict[str, int]  # the most frequent words, with the number of devices whose names have them
    rare: list[str]
    short: list[str]  # words of one or two letters
    udis: list[str]  # UDI-DIs from all over the copy
    srns: list[str]


def sample_of(setup: Setup) -> Sample:
    """The sample of the copy in SQLite, from an earlier run or taken now."""
    data_dir = setup.copy().data_dir
    kept = data_dir / "sample.json"
    if not kept.exists():
        kept.write_bytes(msgspec.json.encode(_taken(setup.path("fts5.db"), data_dir / "registerwatch.db")))
    return msgspec.json.decode(kept.read_bytes(), type=Sample)


def _taken(path: Path, copy: Path) -> Sample:
    remove_database(path)
    with closing(sqlite3.connect(path)) as connection, timed("loading SQLite FTS5"):
        began = time.monotonic()
        connection.execute("ATTACH ? AS copy", [str(copy)])
        connection.executescript(TEXTS)
        loaded = f"Loaded and indexed in {time.monotonic() - began:,.0f} s, {path.stat().st_size / 1e6:,.0f} MB."
        connection.executescript(DOCUMENTS)

        def spread(query: str, count: int) -> list[str]:
            """So many of the first column's values, from all over the rows."""
            found = [str(row[0]) for row in connection.execute(query)]
            return found[:: max(1, len(found) // count)][: count + 1]

        rare = f"FROM word WHERE doc <= {RARE} AND length(term) > 3 AND term NOT GLOB '*[^a-z]*' ORDER BY term"
        return Sample(
            file=str(path),
            loaded=loaded,
            devices=connection.execute("SELECT count(*) FROM device").fetchone()[0],
            common=dict(connection.execute("SELECT term, doc FROM word ORDER BY doc DESC LIMIT ?", [COMMON_WORDS])),
            rare=spread(f"SELECT term {rare}", RARE_WORDS)
            or spread("SELECT term FROM (SELECT * FROM word ORDER BY doc LIMIT 10)", 10),
            short=spread("SELECT term FROM word WHERE length(term) <= 2", 10**9),
            udis=spread("SELECT udi FROM devices ORDER BY id", SAMPLED_DEVICES),
            srns=spread("SELECT srn FROM actors", SAMPLED_ACTORS),
        )
