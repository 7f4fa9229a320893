"""Refreshes one subject on request, and returns what can then be shown of it."""

from collections.abc import Awaitable, Callable

import msgspec

from registerwatch.ingest.refresh import ClientOf, Refresher, limits_for
from registerwatch.lookup.actors import ActorAnswer, ActorService
from registerwatch.lookup.devices import DeviceAnswer, DeviceService, NoDevice
from registerwatch.register.identifiers import kind
from registerwatch.register.outcomes import CERTIFICATES_UNREAD, NotFound, ReadFailed

NO_RECORD = "The register has no record with this code."


class RefreshOutcome(msgspec.Struct, frozen=True):
    """The result of a refresh. `error` says why the register was not read or has nothing, or, where `is_read`, which
    part could not be read; `subject` is the stored subject after it.
    """

    is_read: bool
    is_changed: bool
    error: str | None
    subject: DeviceAnswer | NoDevice | ActorAnswer


class RefreshService:
    """Refreshes of one copy, on request. `make_findable` is awaited after one that changed something."""

    def __init__(
        self,
        refresher: Refresher,
        devices: DeviceService,
        actors: ActorService,
        make_findable: Callable[[], Awaitable[None]],
    ) -> None:
        self._make_findable = make_findable
        self._refresher = refresher
        self._devices = devices
        self._actors = actors

    async def read(self, code: str, client: ClientOf | None = None) -> RefreshOutcome:
        """Read a UDI-DI or an SRN from the register now, alternating with other clients."""
        result = await self._refresher.refresh(code, limits=limits_for(client))
        is_actor = kind(code) == "srn"
        subject = await (
            self._actors.read(code, client=client) if is_actor else self._devices.last_known(code, client=client)
        )
        if isinstance(result, NotFound):
            return RefreshOutcome(False, False, NO_RECORD, subject)
        if isinstance(result, ReadFailed):
            return RefreshOutcome(False, False, result.reason, subject)
        if result.changed:
            await self._make_findable()
        problem = CERTIFICATES_UNREAD if result.lacks_certificates else None
        return RefreshOutcome(True, result.changed, problem, subject)
