"""Values of watches and events. Instants are unix seconds."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from registerwatch.accounts.validation import label as label_of
from registerwatch.errors import InvalidInput
from registerwatch.register.models import field_doc
from registerwatch.register.outcomes import CERTIFICATES_UNREAD
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.options import OptionChange, WatchOptions
from registerwatch.watches.snapshot import Kind, Snapshot

FAILING_AFTER = 3 * 24 * 3600
"""A watch whose subject could not be read for this long is failing; if it was read in part meanwhile, partial."""
OVERDUE_AFTER = 3 * 24 * 3600
"""A watch that was not read for this long is overdue, though nothing failed."""

NO_CERTIFICATES = CERTIFICATES_UNREAD
NO_SEARCH = "The rest was read, but certificates may be missing or outdated: the register ignores the filter by device."
READ_IN_PART = frozenset({NO_CERTIFICATES, NO_SEARCH})
"""`last_error` of a watch whose last read lacked only certificates."""
NOT_REGISTERED = "The register has no such record."
"""The beginning of `last_error` if the register does not have the subject. It is stored: changing it needs a migration.
"""
THEN_FAILED = f"{NOT_REGISTERED} The last read failed: "
"""Precedes the reason of a later failure, which says nothing else of the subject."""

HealthState = Literal["ok", "unread", "overdue", "unknown", "failing", "partial"]
RunState = Literal["running", "finished", "interrupted"]


class EventKind(StrEnum):
    """What an event is about, and what people call that. `event_rules.FIELDS` says which field's change is of which
    kind.
    """

    words: str

    def __new__(cls, value: str, words: str) -> "EventKind":
        """A kind with its name for programs and its name for people."""
        kind = str.__new__(cls, value)
        kind._value_, kind.words = value, words
        return kind

    RECORD = "record", "The record itself"
    """The record of the device or actor."""
    CERTIFICATE = "certificate", "Certificates"
    """Which certificates there are, and their status."""
    PORTFOLIO = "portfolio", "Devices of a manufacturer"
    """The devices of an actor."""
    EXPIRY = "expiry", "Ends of certificates"
    """When a certificate ends."""


class EventSeverity(StrEnum):
    """How much an event matters, most first. `event_rules.SEVERITY_RULES` decides."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Watch(Struct, frozen=True, gc=False):
    """One subject that one account watches. `snapshot` is None before the first successful read.

    Fields have the names of columns, and are read from them.
    """

    id: int
    kind: Kind
    subject: str
    label: str
    snapshot: Snapshot | None
    last_sync: int | None
    last_error: str
    failing_since: int | None
    created_at: int
    options: WatchOptions = WatchOptions()

    @property
    def is_delisted(self) -> bool:
        """Whether its subject was read once, and the register no longer has it."""
        return self.last_error.startswith(NOT_REGISTERED) and self.snapshot is not None

    def health(self, now: float) -> HealthState:
        """Unknown to the register, long failing, long read in part, long not read, never read, or all well."""
        if self.last_error.startswith(NOT_REGISTERED):
            return "unknown"
        if self.failing_since is not None and now - self.failing_since >= FAILING_AFTER:
            is_partial = self.last_error in READ_IN_PART or now - self.unread_since < FAILING_AFTER
            return "partial" if is_partial else "failing"
        if now - self.unread_since >= OVERDUE_AFTER:
            return "overdue"
        return "unread" if self.last_sync is None else "ok"

    @property
    def unread_since(self) -> int:
        """When it was last read, else when it was added."""
        return self.created_at if self.last_sync is None else self.last_sync

    @property
    def is_complete(self) -> bool:
        """Whether every compared part of the subject was read."""
        if self.snapshot is None:
            return False
        return bool(self.snapshot.field_set) if self.kind == "srn" else self.snapshot.has_all_certs


class WatchPatch(Struct, frozen=True):
    """What people change of a watch; None changes nothing."""

    label: str | None = None
    options: OptionChange | None = None

    def columns(self) -> dict[str, object]:
        """New values of columns, without the options. Raises `InvalidInput` for an empty name."""
        wanted = {
            "label": None if self.label is None else _name(self.label),
            "is_renamed": None if self.label is None else True,
        }
        return {name: value for name, value in wanted.items() if value is not None}


def _name(text: str) -> str:
    name = label_of(text)
    if not name:
        raise InvalidInput("The label is empty.")
    return name


class Event(Struct, frozen=True, gc=False):
    """A change that was seen. It outlives its watch."""

    id: int
    watch_id: int
    subject: str
    label: str
    created_at: int
    summary: str
    changes: Sequence[FieldChange]
    kind: str = EventKind.RECORD
    """An `EventKind`, or a newer one that a node of a later release stored."""
    severity: str = EventSeverity.LOW
    """An `EventSeverity`, or a newer one."""
    cause: str | None = None
    """Shared by all events of the account that people are shown as one, see `watches.events.causes`."""
    visible_at: int | None = None
    """The instant before the first request of a listing or a read that showed the change; None if unknown."""
    manufacturer_srn: str = ""
    """The watch's manufacturer. Known while the event is stored, empty when it is read again."""


class SyncRun(msgspec.Struct, frozen=True):
    """The progress of a sync that a page started. Instants are unix seconds."""

    run: str
    started_at: int
    ends_by: int
    total: int
    done: int = 0
    """Watches that were tried."""
    failed: int = 0
    """Watches that were tried but not read."""
    events: int = 0
    """Events of the account since it started."""
    finished_at: int | None = None
    error: str = ""
    """Why it did not try all, or empty."""

    def state(self, now: float) -> RunState:
        """Whether it is running. A sync without an end long after its time limit was interrupted."""
        if self.finished_at is not None:
            return "finished"
        return "running" if now < self.ends_by else "interrupted"


class Expiring(Struct, frozen=True, omit_defaults=True):
    """A certificate of a watched device that ends soon or ended lately."""

    subject: Annotated[str, Meta(description="UDI-DI.", examples=["04012345678901"])]
    label: Annotated[str, Meta(description="Name of the watch.", examples=["Ceramill Zolid"])]
    certificate: Annotated[str, Meta(description="Certificate number.", examples=["Z-25-052"])]
    expiry: Annotated[str, Meta(description="Date.", examples=["2026-12-24"])]
    days: Annotated[int, Meta(description="Days until then, negative when past.", examples=[33])]
    confirmed: Annotated[
        bool,
        Meta(
            description="False where only an earlier certificate search named it and the last read could not search;"
            " missing otherwise.",
            examples=[False],
        ),
    ] = True
    listed: Annotated[
        bool,
        Meta(
            description="False where the register listed it once and lists no certificate of the device now; missing"
            " otherwise.",
            examples=[False],
        ),
    ] = True
    standing: Annotated[
        str,
        Meta(
            description="How it stands where its end date is not all that is to be said: withdrawn, suspended,"
            " restricted and others, in the words of the pages; missing otherwise.",
            examples=["Withdrawn"],
        ),
    ] = ""
    revision: Annotated[
        str,
        Meta(
            description="Revision of the certificate, of which a number can have several; missing where the register"
            " gives none.",
            examples=["01"],
        ),
    ] = ""
    other_record_as_of: Annotated[
        str,
        field_doc(
            "When the record that names it was read, UTC, where that is another record of the UDI-DI than the one that"
            " answers for it; missing otherwise.",
            "2026-11-21T03:38:00Z",
            form="date-time",
        ),
    ] = ""
