"""How the number of a certificate is looked up: people type it with other spaces and in other capitals."""

from typing import Any


def plain_number(number: str) -> str:
    """A number without white space, in capitals: `G10 012345 0012 Rev. 01` as `G100123450012REV.01`."""
    return "".join(number.split()).upper()


def of_inserted_row(context: Any) -> str:
    """The default of `certificates.plain_number`: that of the number in the row that is inserted."""
    return plain_number(context.get_current_parameters()["number"])
