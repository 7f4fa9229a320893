"""Captures: what the register answered, by the names of the files. The project has small copies of their shapes.

A copy has the keys and the types of the capture with made-up values. The captures themselves lie in a folder beside the
repository, or beside a folder around it; where it is missing, tests have the copies alone.
"""

from pathlib import Path
from typing import Any

import msgspec


def shared(*parts: str) -> Path:
    """A file or folder below `shared`, which lies beside the repository or further up; it may be missing."""
    root = Path(__file__).resolve().parents[2]
    places = [parent.joinpath("shared", *parts) for parent in root.parents]
    return next((place for place in places if place.exists()), places[0])


OWN = Path(__file__).parents[1] / "captures"
SHARED = shared("upstream", "captures")


def capture(name: str, folder: Path = OWN) -> Any:
    """A capture that is JSON; `name` without its ending."""
    return msgspec.json.decode((folder / f"{name}.json").read_bytes())
