"""What a source of records is, and what it gives.

A source is a module or package beside this one that `bootstrap.py` builds. It reads single subjects
(`SubjectSource`), lists all its records (`BulkSource`), or does both.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from registerwatch.register.models import Actor, Device, DeviceReading
from registerwatch.register.outcomes import Found, NotFound, ReadFailed
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.request_budget import PlaceWait

CertificateSearch = Literal["unknown", "read", "ignored"]
"""Whether certificates are read that only a search lists: `unknown` before the first control probe, `ignored` while the
register ignores the filter.
"""


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """A stored record, so that a read can leave out what it has.

    `detail_version` is the version whose detail is stored, None when a read has to bring the detail.
    """

    device: Device
    detail_version: int | None


@dataclass(frozen=True, slots=True)
class ActorReading:
    """An actor and its first device rows. Rows name the manufacturer, so an authorised representative has none."""

    actor: Actor
    rows: list[DeviceReading] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """What one step of a bulk source brings: records, and the cursor of the next step, `""` after the last one.

    `total` is the number of all records, where the source gives it.
    """

    readings: list[DeviceReading]
    cursor: str
    total: int | None = None


class RegisterSource(Protocol):
    """Where records are read from."""

    @property
    def name(self) -> str:
        """What the column `source` of stored records calls it, such as `eudamed`."""


class SubjectSource(RegisterSource, Protocol):
    """A source that is asked for one device or actor. A source that cannot be read is a result, not an error."""

    async def read_device(
        self,
        udi: str,
        *,
        known: Mapping[str, KnownRecord] | None = None,
        priority: RequestPriority = RequestPriority.WATCH,
        place_wait: PlaceWait | None = None,
    ) -> Found[list[DeviceReading]] | NotFound | ReadFailed:
        """Every record of a UDI-DI, the current one first and read in full.

        `known` are the stored records of the same UDI-DI, by uuid. `place_wait` is how long to wait for the request
        budget, where that is longer than a read may take.
        """

    async def read_actor(
        self,
        srn: str,
        *,
        priority: RequestPriority = RequestPriority.WATCH,
        place_wait: PlaceWait | None = None,
    ) -> Found[ActorReading] | NotFound | ReadFailed:
        """An actor, the count of its registrations and its first device rows."""


class BulkSource(RegisterSource, Protocol):
    """A source that lists all its records, in batches."""

    @property
    def load_name(self) -> str:
        """What `copy fill --source` and the table `fills` call it, such as `datalake`."""

    @property
    def lags(self) -> bool:
        """Whether its records may be older than what EUDAMED showed a moment ago."""

    @property
    def is_newest_first(self) -> bool:
        """Whether the newest records come first, so that a load can end where it meets records that it knows."""

    def batches(self, cursor: str) -> AsyncIterator[RecordBatch]:
        """Batches from a cursor on, from the start for `""`. Raises `RegisterFailure` or `BulkLoadRefused`."""

    def actors(self) -> AsyncIterator[list[Actor]]:
        """Batches of actors, read after the devices; none where the source lists none. Raises the same."""


async def no_actors() -> AsyncIterator[list[Actor]]:
    """The actors of a source that lists devices alone."""
    nothing: list[list[Actor]] = []
    for batch in nothing:
        yield batch
