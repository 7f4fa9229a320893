"""Plain forms of certificate numbers for lookups, since people type other spaces and capitals."""

from typing import Any


def plain_number(number: str) -> str:
    """A number without white space, in capitals: `G10 012345 0012 Rev. 01` as `G100123450012REV.01`."""
    return "".join(number.split()).upper()


def of_inserted_row(context: Any) -> str:
    """The default of `certificates.plain_number`: the plain form of the inserted row's number."""
    return plain_number(context.get_current_parameters()["number"])
