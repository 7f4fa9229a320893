"""Updates devices with the certificates whose scope names them, without reading the devices."""

from collections.abc import Awaitable, Callable, Collection

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.basic_records import note_scoped
from registerwatch.copy.records import RecordStore
from registerwatch.register.observation import WatchedDevices

MAX_RENEWED = 2_000
"""Devices that are compared in one transaction; further ones are due for a read."""
MAX_PROPAGATED = 500
"""Basic UDI-DIs whose devices are compared after a read of certificates; rechecks do the rest."""


class ScopedDevices:
    """The devices that certificates name."""

    def __init__(
        self, copy: RecordStore, watched: WatchedDevices, propagate_rest: Callable[[int], Awaitable[None]]
    ) -> None:
        """`propagate_rest` updates devices with this many Basic UDI-DI records, as `SubjectReads` does."""
        self._copy, self._watched, self._propagate_rest = copy, watched, propagate_rest

    async def revision(self) -> int:
        """The revision of the copy: what is listed from now on is younger than all its devices."""
        return await self._copy.revision()

    async def renew(
        self,
        connection: AsyncConnection,
        basic_udis: Collection[str],
        changed: Collection[str],
        *,
        altered: Collection[tuple[str, str]] = (),
        unlisted: Collection[tuple[str, str]] = (),
        read_at: int,
        now: int,
        source: str,
    ) -> None:
        """Compare the certificates of watched devices under these Basic UDI-DIs with the current scopes. All devices
        under the `changed` ones are left to `renew_rest`.

        `altered` and `unlisted` are manufacturers and numbers of certificates. Watched devices for which a search found
        one of them are due for a read where nothing is compared: no scope names them, or no record has the number any
        more. `read_at` is the instant before the read that found it all.
        """
        await note_scoped(connection, sorted(changed), read_at)
        udis = await self._watched.named_by(connection, sorted(basic_udis), now=now)
        unnamed = set(await self._watched.with_found(connection, altered, now=now)).difference(udis)
        gone = await self._watched.with_found(connection, unlisted, now=now)
        due = [*udis[MAX_RENEWED:], *sorted(unnamed.union(gone))]
        if udis or due:
            await self._copy.renew_scoped(
                connection, udis[:MAX_RENEWED], due=due, read_at=read_at, now=now, source=source
            )

    async def renew_rest(self) -> None:
        """Compare the certificates of all devices that still need it, a few in each transaction. If it is stopped, the
        next recheck goes on.
        """
        await self._propagate_rest(MAX_PROPAGATED)
