"""Lines for curl to paste into a terminal."""

import shlex
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

KEY = '-H "X-API-Key: $KEY"'
"""The key is a shell variable, so that neither examples nor the shell's history hold one."""
PLACEHOLDER = "…"
"""Stands in examples for values that differ."""


def curl_line(
    method: str,
    address: str,
    query: Mapping[str, str],
    *,
    needs_key: bool,
    body: object = None,
    media_type: str | None = None,
) -> str:
    """`curl -H "X-API-Key: $KEY" 'https://…/v1/watches'`. `body` is sent as JSON, or as text of another type."""
    words = ["curl"]
    if needs_key:
        words.append(KEY)
    if media_type == "application/json":
        words += ["--json", shlex.quote(msgspec.json.encode(body).decode())]
    elif media_type is not None:
        words += ["-H", shlex.quote(f"Content-Type: {media_type}"), "--data-binary", shlex.quote(str(body))]
    if method not in ("GET", "POST") or (method == "POST" and media_type is None):
        words += ["-X", method]
    asked = "&".join(f"{name}={_written(name, value)}" for name, value in query.items())
    whole = f"{address}?{asked}" if asked else address
    words.append(f'"{whole}"' if "$" in whole else shlex.quote(whole))
    return " ".join(words)


def path_with(path: str, values: Mapping[str, str]) -> str:
    """A path with its parameters filled in, percent-encoded."""
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", _written(name, value))
    return path


def _written(name: str, value: str) -> str:
    """A value in an address: percent-encoded, or a shell variable, `$TOKEN`, if only the reader knows it."""
    return f"${name.upper()}" if PLACEHOLDER in value else quote(value, safe="")
