"""Datasette: the rows as JSON over HTTP out of SQLite, found by UDI-DI and by SQLite's full-text search."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec

from bench.connection import Connection, Request
from bench.machine import SERVER_CORE
from bench.peers.contract import ROWS, UNCOUNTED
from bench.peers.fts5 import match
from bench.processes import ProcessFailed, free_port, running, wait_until_answering
from bench.questions import ApiRequest

NAME = "Datasette"
SETTINGS = {"sql_time_limit_ms": "120000", "num_sql_threads": "1", "cache_size_kb": "16384", "suggest_facets": "off"}
DESCRIPTION = (
    f"Datasette: over HTTP, one connection, on the server's core, over the file of SQLite FTS5 with the documents that "
    f"our service serves; {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}; `_search` of the "
    f"table, `_searchmode=raw`, `_size={ROWS}`, no facets, its order of rows (no ranking), the count as it gives it."
)
WITHOUT_COUNT = "Datasette, no count: the same with `_nocount=1`."
READS = (
    f"Datasette, on the same core under the same load: `udi__exact`, a unique index, `_shape=array`, `_nocount=1`; "
    f"{', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}. It shows the document as a string."
)
TABLE = "/peers/devices"
PLAIN = {"_nofacet": "1", "_nosuggest": "1"}
METADATA = {"databases": {"peers": {"tables": {"devices": {"fts_table": "name", "fts_pk": "id"}}}}}


@contextmanager
def serving(database: Path, log: Path) -> Iterator[int]:
    """Datasette over the file, on the server's core; gives its port."""
    port, folder = free_port(), database.with_suffix("")
    folder.mkdir(exist_ok=True)
    shown, metadata = folder / "peers.db", folder / "metadata.json"  # the file's name becomes part of every address
    shown.unlink(missing_ok=True)
    shown.hardlink_to(database)
    metadata.write_text(json.dumps(METADATA), encoding="utf-8")
    settings = [word for name, value in SETTINGS.items() for word in ("--setting", name, value)]
    command = [sys.executable, "-m", "datasette", "serve", str(shown), "--port", str(port)]
    with running([*command, "--metadata", str(metadata), *settings], log, cores=[SERVER_CORE]) as process:
        wait_until_answering(process, port, "/-/versions.json", log).close()
        yield port


def device_requests(udis: Sequence[str]) -> list[Request]:
    """A read of each device: its row as JSON, without counting what one row is."""
    asked = {"_shape": "array", "_nocount": "1", **PLAIN}
    return [Request(f"{TABLE}.json?udi__exact={quote(udi, safe='')}&{urlencode(asked)}") for udi in udis]


class Datasette:
    """Searches by Datasette, with or without the count."""

    def __init__(self, port: int, *, counts: bool) -> None:
        self.name = NAME if counts else f"{NAME}, no count"
        self._counts = counts
        self._connection = Connection(port, timeout=300)

    def search(self, question: ApiRequest) -> int | None:
        if question.typo:
            return None
        target = f"{TABLE}.json?{urlencode(self._asked(question))}"
        answer = self._connection.get(target)
        if answer.status != 200:
            raise ProcessFailed(f"Datasette answered {target} with {answer.status}: {answer.body[:500]!r}")
        found = msgspec.json.decode(answer.body)
        return int(found["filtered_table_rows_count"]) if self._counts else UNCOUNTED

    def _asked(self, question: ApiRequest) -> dict[str, str]:
        asked = {"_search": match(question), "_searchmode": "raw", "_size": str(ROWS), "_shape": "objects", **PLAIN}
        if question.status is not None:
            asked["status__exact"] = question.status.code
        if question.risk is not None:
            asked["risk__exact"] = question.risk.code
        return asked if self._counts else {**asked, "_nocount": "1"}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
