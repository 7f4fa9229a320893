"""Writes a source's answers to files during checks, so that an operator can send us what differs.

Each answer is a file in the form of answers in tests: JSON with an indent of one, lists cut, without personal data.
`INDEX.md` says what each file is.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import iso_utc
from registerwatch.sources.checks.redaction import MAX_ROWS, Redaction, without_key

INDEX = "INDEX.md"
KEPT_HEADERS = ("content-type", "retry-after", "location", "server")
MAX_TITLE = 200
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z]+")
_UUID = re.compile(r"[0-9A-Fa-f-]{32,36}")


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A line of the index. `at` is in unix seconds."""

    file: str
    asked: str
    status: int
    at: int
    removed: tuple[str, ...]
    is_cut: bool


class Recording:
    """Writes answers into a folder as they come. `hosts` are the base addresses, by their names in files."""

    def __init__(self, folder: Path, hosts: Mapping[str, str]) -> None:
        self._folder = folder
        self._hosts = hosts
        self._kept: list[RecordedAnswer] = []

    def open(self) -> None:
        """Make the folder. Raises `InvalidInput` where it is not empty or fails."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            is_empty = not any(self._folder.iterdir())
        except OSError as error:
            raise InvalidInput(f"Nothing can be recorded in {self._folder}: {error.strerror}.") from error
        if not is_empty:
            raise InvalidInput(f"{self._folder} is not empty; name a folder that is new or empty.")

    def keep(self, url: str, params: Mapping[str, str], response: httpx2.Response, at: int) -> None:
        """Write one answer, without personal data."""
        source, asked = self._asked(url, params)
        redaction = Redaction()
        content = _content(response, asked, redaction)
        name = f"{len(self._kept) + 1:02}_{_file_name(source, asked)}.json"
        text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        (self._folder / name).write_text(text, encoding="utf-8")
        removed = tuple(sorted(redaction.removed))
        self._kept.append(
            RecordedAnswer(name, f"{source} `{asked}`", response.status_code, at, removed, redaction.is_cut)
        )

    def close(self, version: str, summary: str) -> None:
        """Write the index. `summary` has the outcomes, in Markdown."""
        lines = "".join(_line(each) for each in self._kept)
        hosts = " and ".join(f"`{url}` ({name})" for name, url in self._hosts.items())
        head = _HEAD.format(version=version, hosts=hosts, rows=MAX_ROWS)
        (self._folder / INDEX).write_text(f"{head}{lines}\n{summary}", encoding="utf-8")

    def _asked(self, url: str, params: Mapping[str, str]) -> tuple[str, str]:
        """The source's name in files, and the path with the query below its base address."""
        name = next((name for name, base in self._hosts.items() if url.startswith(base)), "")
        path = url.removeprefix(self._hosts[name]) if name else url
        query = f"?{urlencode(params, safe='$:,')}" if params else ""
        return name, without_key(path + query)


_HEAD = """# What the register answered

Recorded by `registerwatch register check --record`, version {version}. Source of the data: European Commission,
EUDAMED, reused under Decision 2011/833/EU. Lists are cut to {rows} elements, so totals are larger than the rows. What
may be of a person is null: the last column names these fields. Paths are below {hosts}.

| file | path and query | status | date | removed |
|---|---|---|---|---|
"""


def _line(kept: RecordedAnswer) -> str:
    removed = [", ".join(kept.removed) or "nothing"] + ([f"lists cut to {MAX_ROWS}"] if kept.is_cut else [])
    asked = kept.asked.replace("|", "\\|")
    return f"| `{kept.file}` | {asked} | {kept.status} | {iso_utc(kept.at)} | {'; '.join(removed)} |\n"


def _content(response: httpx2.Response, asked: str, redaction: Redaction) -> Any:
    """An answer unchanged where it is JSON with status 200, else with its status and headers."""
    try:
        body = redaction.of(json.loads(response.content))
    except (ValueError, RecursionError):
        body = _title(response.content)
    else:
        if response.status_code == 200:
            return body
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return {"request": f"GET {asked}", "status": response.status_code, "headers": redaction.of(headers), "body": body}


def _title(content: bytes) -> str:
    """A page's title or a text's length: the rest may name our address."""
    title = _TITLE.search(content)
    if title:
        return f"<title>{title.group(1).decode(errors='replace').strip()[:MAX_TITLE]}</title>"
    return f"{len(content):,} bytes that are no JSON" if content else ""


def _file_name(source: str, asked: str) -> str:
    """A name that says what was asked, without keys of records."""
    path, _, query = asked.partition("?")
    names = [name for part in query.split("&") if (name := part.partition("=")[0]) and name not in _ALWAYS]
    words = [source, *(_UUID.sub("id", each) for each in path.split("/")), *names[:3]]
    return _NOT_IN_NAMES.sub("_", "_".join(word for word in words if word)).strip("_").lower()[:80]


_ALWAYS = frozenset({"page", "pageSize", "size", "iso2Code", "languageIso2Code", "api-version", "format", "scope"})
