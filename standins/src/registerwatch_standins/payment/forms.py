"""Form-encoded parameters with brackets: `line_items[0][price]=price_1`."""

import re
from collections.abc import Iterable
from typing import Any

from registerwatch_standins.payment.errors import ApiError

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_MAPS = frozenset({"metadata"})
"""Parameters whose keys are the client's own, so that digits do not make a list of them."""


def tree_of(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The parameters as nested objects and lists; every leaf is text."""
    root: dict[str, Any] = {}
    for name, value in pairs:
        *way, last = _keys(name)
        branch = root
        for key in way:
            branch = branch.setdefault(key or str(len(branch)), {})
            if not isinstance(branch, dict):
                raise ApiError.of_parameter(name, f"Invalid parameter: {name} is both a value and an object.")
        if isinstance(branch.get(last), dict):
            raise ApiError.of_parameter(name, f"Invalid parameter: {name} is both a value and an object.")
        branch[last or str(len(branch))] = value
    return {name: _listed(branch, name) for name, branch in root.items()}


def _keys(name: str) -> list[str]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise ApiError.of_parameter(name, f"Invalid parameter name: {name}")
    return [found[1], *re.findall(r"\[([^\[\]]*)\]", found[2])]


def _listed(branch: object, name: str) -> Any:
    """A branch whose keys are all numbers is a list."""
    if not isinstance(branch, dict):
        return branch
    inner = {key: _listed(value, key) for key, value in branch.items()}
    if name in _MAPS or not all(key.isdecimal() for key in inner):
        return inner
    return [inner[key] for key in sorted(inner, key=int)]
