"""Other codes of a device from columns that name them without quantities, as those of the Data Lake."""

from collections.abc import Iterator, Mapping

import msgspec

from registerwatch.register.other_codes import CodeKind, OtherCode, distinct_codes


def codes_of_columns(columns: Mapping[CodeKind, object], udi: str) -> tuple[OtherCode, ...] | msgspec.UnsetType:
    """The codes in columns of which each is a list with commas. Unset where the row has none of the columns: then the
    source tells nothing; where they are all empty, it tells that there are none.

    A value that is no text is left out: a number has lost its leading zeros.
    """
    if all(value is msgspec.UNSET for value in columns.values()):
        return msgspec.UNSET
    return distinct_codes(
        (OtherCode(code, kind) for kind, value in columns.items() if value for code in _listed(value)), udi
    )


def _listed(value: object) -> Iterator[str]:
    return (each.strip() for each in value.split(",")) if isinstance(value, str) else iter(())
