"""What a body of registrations at rest must answer, so that a world can lie over it and change."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from registerwatch_standins.register.records import Actor, CertificateListing, RefusedApplication, Registration


class Archive(Protocol):
    """Registrations by position (`0 ≤ position < count`), in an order that is the archive's own business.

    Sequences of positions may be lazy (`range`): a manufacturer with 60,000 devices costs nothing until read. There
    may be several registrations of a UDI-DI. An SRN may be a manufacturer's or an authorised representative's.
    """

    @property
    def count(self) -> int: ...

    def registration(self, position: int) -> Registration: ...

    def oldest(self, rank: int) -> int:
        """The position of the registration that was made as the `rank`-th (from 0)."""

    def position_of_uuid(self, uuid: str) -> int | None: ...

    def positions_of_primary_di(self, primary_di: str) -> Sequence[int]: ...

    def positions_of_basic_udi(self, basic_udi: str) -> Sequence[int]: ...

    def positions_of_srn(self, srn: str) -> Sequence[int]: ...

    def srns(self) -> Sequence[str]:
        """The SRNs of all actors, ascending."""

    def actor(self, srn: str) -> Actor | None: ...

    def listings(self) -> Sequence[CertificateListing]:
        """All rows of the certificate search, the latest issued first."""

    def refusals(self) -> Sequence[RefusedApplication]:
        """All refused applications, the latest refused first."""

    def notified_bodies(self) -> Mapping[str, str]:
        """The names of all notified bodies that a certificate here names, by number."""
