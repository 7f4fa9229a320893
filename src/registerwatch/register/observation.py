"""Observations of reads, which observers get inside the transaction that stores the read.

`register/` knows neither accounts nor watches; `watches/` implements `Observer`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.certificate_reads import CertificateRead, OtherCertificate
from registerwatch.register.models import Actor, Device

STORING_SECONDS = 45
"""Longer than a storing transaction takes, with its wait for another one."""


class DeviceObservation(msgspec.Struct, frozen=True):
    """The current record of a UDI-DI, as a read found it."""

    device: Device
    certificates_read: bool = False
    searched: bool = False
    """Whether the certificate search was read."""
    in_full: bool = True
    """Whether the subject itself was read, not only a row with a part of it."""
    scoped: bool = False
    """Whether the scopes of all certificates of the manufacturer were read before."""
    oldest_at: int | None = None
    """The instant of its oldest part, which another read may have brought; None where it is unknown."""
    others: tuple[OtherCertificate, ...] = ()
    """Certificates of other listed records of the UDI-DI that this one does not name."""

    @property
    def subject(self) -> str:
        """The UDI-DI."""
        return self.device.udi


class ActorObservation(msgspec.Struct, frozen=True):
    """An actor, as a read found it."""

    actor: Actor
    in_full: bool = True

    @property
    def subject(self) -> str:
        """The SRN."""
        return self.actor.srn


Observation = DeviceObservation | ActorObservation


class ReadContext:
    """The purpose of reads, which decides how their changes are delivered.

    Changes of one batch reach an address in one delivery. A run (a sync, a recheck) reads many subjects and holds its
    delivery back until it has ended, or until `held_until` (unix seconds) if it was killed before. Changes of a read
    outside a run are delivered alone.
    """

    def __init__(
        self,
        *,
        held_until: int = 0,
        account_id: int | None = None,
        is_recheck: bool = False,
        is_for_watches: bool = True,
        visible_at: Mapping[str, int] | None = None,
    ) -> None:
        self.held_until = held_until
        self.account_id = account_id
        """The account of this sync: changes for others are not held back."""
        self.is_recheck = is_recheck
        self.is_for_watches = is_for_watches
        """Whether it is read for its watches; a read for a stranger is not a try of watches."""
        self.visible_at: Mapping[str, int] = visible_at or {}
        """Instants (unix seconds) before the requests of listings that showed changes of these subjects already."""
        self.batch = new_batch()
        self._storing = 0
        self._idle = asyncio.Condition()
        self.is_open = True

    @asynccontextmanager
    async def storing(self) -> AsyncIterator[None]:
        """Mark the time of one storing transaction: the batch is not closed before its end."""
        self._storing += 1
        try:
            yield
        finally:
            self._storing -= 1
            async with self._idle:
                self._idle.notify_all()

    def holds(self, now: int) -> bool:
        """Whether changes stored now can join the batch: its delivery waits for longer than storing can take.

        A delivery has the events that its batch has at the first attempt, and none after that.
        """
        return self.is_open and now + STORING_SECONDS < self.held_until

    async def close(self) -> None:
        """Let nothing join the batch from now on; return when all that had joined is stored."""
        self.is_open = False
        async with self._idle:
            await self._idle.wait_for(lambda: self._storing == 0)


def new_batch() -> str:
    """A new empty batch."""
    return secrets.token_hex(8)


class Observer(Protocol):
    """Compares reads with earlier ones."""

    async def observe(
        self,
        connection: AsyncConnection,
        observations: Sequence[Observation],
        context: ReadContext,
        *,
        unconfirmed: Sequence[str] = (),
        listed_again: Sequence[str] = (),
        now: int,
        read_at: int,
    ) -> None:
        """Take a read's observations, in the transaction that stores them.

        `unconfirmed` are subjects that may have changed, without proof: read from a bulk source that lags, seen only in
        part, or read while a later read was stored. `listed_again` are those of them that the register did not have
        when it was asked, and that the read found, if only in part. `read_at` is the instant before the first request
        of the read.
        """


class NullObserver:
    """Observes nothing."""

    async def observe(
        self,
        connection: AsyncConnection,
        observations: Sequence[Observation],
        context: ReadContext,
        *,
        unconfirmed: Sequence[str] = (),
        listed_again: Sequence[str] = (),
        now: int,
        read_at: int,
    ) -> None:
        """Do nothing."""


class WatchedDevices(Protocol):
    """The devices that active accounts watch."""

    async def named_by(self, connection: AsyncConnection, basic_udis: Sequence[str], *, now: int) -> Sequence[str]:
        """Watched UDI-DIs under these Basic UDI-DIs, in order."""

    async def with_found(
        self, connection: AsyncConnection, numbers: Collection[tuple[str, str]], *, now: int
    ) -> Sequence[str]:
        """Watched UDI-DIs, in order, for which a search found a certificate of these manufacturers and numbers."""

    async def with_other(
        self, connection: AsyncConnection, reads: Sequence[CertificateRead], *, besides: Collection[str], now: int
    ) -> Sequence[str]:
        """Watched UDI-DIs, in order, whose last reads are older than these of other devices and have one of the
        certificates otherwise; none under the Basic UDI-DIs `besides`.
        """


class NewsObserver(Protocol):
    """Notifies watches of changes in lists.

    It runs in the transaction of its caller, which has stored no read and notified no others before: it locks watches
    in the order of their ids.
    """

    async def notify_portfolio(self, connection: AsyncConnection, srn: str, *, now: int) -> None:
        """Notify the watches of a manufacturer of its new entries in `portfolio_news`.

        A watch without a baseline gets one where the manufacturer's devices were listed completely since it was made.
        """

    async def notify_certificates(self, connection: AsyncConnection, *, now: int) -> None:
        """Notify the watches of manufacturers of their new entries in `certificate_news`.

        A watch without a baseline gets one where all certificates were listed completely since it was made.
        """
