"""The mark on requests without a socket, where a connection can neither be dropped nor be left silent."""

from collections.abc import MutableMapping
from typing import Any

_NAME = "registerwatch.in-process"


def mark_in_process(scope: MutableMapping[str, Any]) -> None:
    """Say that client and stand-in share a process."""
    scope.setdefault("extensions", {})[_NAME] = {}


def is_in_process(scope: MutableMapping[str, Any]) -> bool:
    """Whether client and stand-in share a process: then a fault of the connection is raised, not shown."""
    return _NAME in scope.get("extensions", {})
