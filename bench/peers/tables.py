"""The peers' tables over the rows of a copy: made when they are missing, kept in the working folder."""

import time
from contextlib import closing
from pathlib import Path

import msgspec

from bench.cluster import Cluster
from bench.inputs import Inputs, remove_database
from bench.log import timed
from bench.peers import fts5, postgresql
from bench.rows import devices_of


class Built(msgspec.Struct, frozen=True):
    """How making some tables went."""

    seconds: float
    bytes: int

    @property
    def remark(self) -> str:
        """As a sentence."""
        return f"Loaded and indexed in {self.seconds:,.0f} s, {self.bytes / 1e6:,.0f} MB."


def fts5_file(inputs: Inputs) -> tuple[Path, Built]:
    """The database of SQLite's full-text search, with the documents that Datasette shows."""
    path, mark = inputs.path("fts5.db"), inputs.path("fts5.json")
    if not mark.exists():
        remove_database(path)
        with timed("loading SQLite FTS5"), closing(fts5.Fts5(path)) as peer:
            began = time.monotonic()
            peer.load(devices_of(inputs.copy()))
            built = Built(time.monotonic() - began, path.stat().st_size)
            peer.add_documents(inputs.copy() / "registerwatch.db")
        mark.write_bytes(msgspec.json.encode(built))
    return path, msgspec.json.decode(mark.read_bytes(), type=Built)


def full_text_table(inputs: Inputs, cluster: Cluster) -> Built:
    """PostgreSQL's table with its full-text index."""
    mark = inputs.path("tsvector.json")
    if not mark.exists():
        with timed("loading PostgreSQL, indexing words"):
            began = time.monotonic()
            postgresql.load(cluster, devices_of(inputs.copy()))
            built = Built(time.monotonic() - began, postgresql.size(cluster))
        inputs.path("trigrams.json").unlink(missing_ok=True)
        mark.write_bytes(msgspec.json.encode(built))
    return msgspec.json.decode(mark.read_bytes(), type=Built)


def trigram_index(inputs: Inputs, cluster: Cluster) -> Built:
    """The trigrams of the same table."""
    mark = inputs.path("trigrams.json")
    if not mark.exists():
        with timed("indexing trigrams in PostgreSQL"):
            before, began = postgresql.size(cluster), time.monotonic()
            postgresql.index_trigrams(cluster)
            built = Built(time.monotonic() - began, postgresql.size(cluster) - before)
        mark.write_bytes(msgspec.json.encode(built))
    return msgspec.json.decode(mark.read_bytes(), type=Built)
