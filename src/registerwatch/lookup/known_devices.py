"""The one device that a code means among several known ones. Pure."""

from collections.abc import Collection, Iterable

from registerwatch.errors import InvalidInput

MAX_NAMED = 5
"""Devices that the sentence about an ambiguous code names."""


class AmbiguousCode(InvalidInput):
    """The copy has several devices that a code can mean."""


def one_of(devices: Iterable[Collection[str]], known: Collection[str]) -> str | None:
    """The one device of a code among the known UDI-DIs, as it is known; None for none. `devices` has the spellings of
    each that the code can mean.

    Raises `AmbiguousCode` where several are known.
    """
    found = [next((each for each in spellings if each in known), None) for spellings in devices]
    distinct = list(dict.fromkeys(each for each in found if each))
    if len(distinct) > 1:
        raise AmbiguousCode(f"This code can be {' or '.join(distinct)}. Send the one that you mean.")
    return distinct[0] if distinct else None


def the_owner(udis: Collection[str]) -> str | None:
    """The one device among those that have a code, None for none. Raises `AmbiguousCode` for several."""
    distinct = list(dict.fromkeys(udis))
    if len(distinct) > 1:
        more = f" and {len(distinct) - MAX_NAMED} more" if len(distinct) > MAX_NAMED else ""
        named = ", ".join(distinct[:MAX_NAMED])
        raise AmbiguousCode(f"Several devices have this code: {named}{more}. Send the UDI-DI of the one that you mean.")
    return distinct[0] if distinct else None
