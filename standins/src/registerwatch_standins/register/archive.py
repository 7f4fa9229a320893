"""What a body of registrations at rest must answer, so that a world can lie over it and change."""

from collections.abc import Sequence
from typing import Protocol

from registerwatch_standins.register.records import Actor, CertificateListing, Registration


class Archive(Protocol):
    """Registrations by position (`0 ≤ position < count`), in an order that is the archive's own business.

    Sequences of positions may be lazy (`range`), so that a manufacturer with 60,000 devices costs nothing
    until read.
    """

    @property
    def count(self) -> int:
        """How many registrations there are."""
        ...

    def registration(self, position: int) -> Registration:
        """The registration at this position."""
        ...

    def oldest(self, rank: int) -> int:
        """The position of the registration that was made as the `rank`-th (from 0)."""
        ...

    def position_of_uuid(self, uuid: str) -> int | None:
        """Where the registration with this key is."""
        ...

    def positions_of_primary_di(self, primary_di: str) -> Sequence[int]:
        """Where the registrations of this UDI-DI are: none, one, or several."""
        ...

    def positions_of_basic_udi(self, basic_udi: str) -> Sequence[int]:
        """Where the registrations under this Basic UDI-DI are."""
        ...

    def positions_of_srn(self, srn: str) -> Sequence[int]:
        """Where the registrations of this manufacturer, or of this authorised representative, are."""
        ...

    def srns(self) -> Sequence[str]:
        """The SRNs of all actors, ascending."""
        ...

    def actor(self, srn: str) -> Actor | None:
        """The actor with this SRN."""
        ...

    def srn_of_actor(self, uuid: str) -> str | None:
        """The SRN of the actor with this key."""
        ...

    def listings(self) -> Sequence[CertificateListing]:
        """All rows of the certificate search."""
        ...
