"""Cases of which some are looked at by day, and all with `--nightly`."""

from collections.abc import Collection, Iterable

import pytest


def some_by_day(cases: Iterable[object], by_day: Collection[object]) -> list[object]:
    """Values for `parametrize`, in order: all of these cases, of which only some run by day. A tuple has several."""
    return [each if each in by_day else _by_night(each) for each in cases]


def _by_night(case: object) -> object:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)
