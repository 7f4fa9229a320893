"""Ids in an answer replaced by what they name: `expand[]=subscription.latest_invoice`."""

from collections.abc import Callable
from typing import Any

from registerwatch_standins.payment.errors import ApiError

Shown = Callable[[str], dict[str, Any] | None]
"""The object with an id, None where the stand-in does not keep such objects."""


def expand(answer: dict[str, Any], paths: list[str], shown: Shown) -> dict[str, Any]:
    """The answer with these paths expand. Raises `ApiError` for one that cannot be."""
    for path in paths:
        _expand(answer, path.split("."), path, shown)
    return answer


def _expand(branch: dict[str, Any], way: list[str], path: str, shown: Shown) -> None:
    name, *rest = way
    if name not in branch:
        raise ApiError(400, f"This property cannot be expand ({path}).", param="expand")
    if isinstance(branch[name], str):
        found = shown(branch[name])
        if found is None:
            raise ApiError(400, f"This property cannot be expand ({path}).", param="expand")
        branch[name] = found
    inner = branch[name] if isinstance(branch[name], list) else [branch[name]]
    for each in inner:
        if rest and isinstance(each, dict):
            _expand(each, rest, path, shown)
