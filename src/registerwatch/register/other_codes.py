"""Codes of a device beside its UDI-DI: on a unit of use, on the device, on its packages. Pure.

People scan them from a carton or from the device itself. None is ever the device's own UDI-DI.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec

from registerwatch.register.identifiers import can_be_stored, kind

CodeKind = Literal["unit_of_use", "direct_marking", "secondary", "container_package"]

MAX_CODES = 200
"""Codes of one record that are kept. The packages of a device have a few levels; more than this is not packaging."""
MIN_LENGTH, MAX_LENGTH = 6, 50
"""Characters of a code: the shortest that an issuing agency allows is one of HIBCC with one sign for the product."""


class OtherCode(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A code of a device that is not its UDI-DI."""

    code: Annotated[str, msgspec.Meta(description="The code, as registered.", examples=["14012345678908"])]
    kind: Annotated[
        CodeKind,
        msgspec.Meta(
            description="`unit_of_use`: one device of those in a pack. `direct_marking`: marked on the device itself."
            " `secondary`: of another issuing agency. `container_package`: a package that holds devices.",
            examples=["container_package"],
        ),
    ]
    issuing_agency_code: Annotated[
        str,
        msgspec.Meta(
            description="The register's code of the issuing agency, missing when not known.",
            examples=["refdata.issuing-agency.gs1"],
        ),
    ] = ""
    quantity: Annotated[
        int | None,
        msgspec.Meta(description="How many of `contains` a package holds, missing when not known.", examples=[10]),
    ] = None
    contains: Annotated[
        str,
        msgspec.Meta(
            description="What a package holds: the UDI-DI of the device, or the code of a smaller package. Missing when"
            " not known.",
            examples=["04012345678901"],
        ),
    ] = ""

    @property
    def name(self) -> str:
        """The name of its kind."""
        return KIND_NAMES[self.kind]

    @property
    def explanation(self) -> str:
        """Its meaning, for a person: `container package of 10`."""
        return f"{self.name} of {self.quantity:,}" if self.quantity else self.name


KIND_NAMES: dict[CodeKind, str] = {
    "unit_of_use": "unit of use",
    "direct_marking": "direct marking",
    "secondary": "secondary UDI-DI",
    "container_package": "container package",
}


def may_be_code(text: str) -> bool:
    """Whether a text can be the code of a device: `N/A`, `0` and words with blanks can not, nor can an SRN."""
    return (
        MIN_LENGTH <= len(text) <= MAX_LENGTH
        and text.isascii()
        and can_be_stored(text)
        and not any(each.isspace() for each in text)
        and any(each.isdigit() for each in text)
        and len(set(text)) > 1
        and kind(text) == "udi"
    )


def distinct_codes(found: Iterable[OtherCode], udi: str) -> tuple[OtherCode, ...]:
    """A device's codes from a source, each once for each kind, without its own UDI-DI and texts that are not codes.

    The first `MAX_CODES` are taken.
    """
    distinct: dict[tuple[CodeKind, str], OtherCode] = {}
    for each in found:
        if each.code != udi and may_be_code(each.code):
            distinct.setdefault((each.kind, each.code), each)
            if len(distinct) == MAX_CODES:
                break
    return tuple(distinct.values())


def with_stored_details(stored: Sequence[OtherCode], reported: Sequence[OtherCode]) -> tuple[OtherCode, ...]:
    """The codes that a source reports now, with stored details of known ones: Data Lake lists have no quantities.
    Known ones come first, in their order, so that the same codes change nothing.
    """
    remaining = {(each.kind, each.code): each for each in reported}
    known = [each for each in stored if remaining.pop((each.kind, each.code), None) is not None]
    return (*known, *remaining.values())


def by_kind(codes: Iterable[OtherCode], code: str) -> tuple[OtherCode, ...]:
    """All meanings of one code for a device: a direct marking can be the code of a unit of use too."""
    return tuple(each for each in codes if each.code == code)
