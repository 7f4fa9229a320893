"""Cases of which some are looked at by day, and all with `--nightly`."""

from collections.abc import Collection, Iterable

import pytest


def some_by_day(cases: Iterable[object], by_day: Collection[object]) -> list[object]:
    """Values for `parametrize`, in order: all of these cases, of which only some run by day."""
    return [each if each in by_day else pytest.param(each, marks=pytest.mark.nightly) for each in cases]
