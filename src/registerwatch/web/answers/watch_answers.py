"""The contract's watch, event and sync objects, as REST and the tools return them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

from msgspec import UNSET, UnsetType

from registerwatch.accounts.ended_period import EndedPeriod
from registerwatch.accounts.models import PERIOD_ENDED, Account
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.register.models import Listed
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_pages import EventPage
from registerwatch.watches.models import Event, EventKind, EventSeverity, HealthState, Watch
from registerwatch.watches.reading.sync import SyncResult
from registerwatch.watches.snapshot import SeenCertificate, Snapshot, listed_certificates
from registerwatch.watches.standing import certificates_of
from registerwatch.web.answers.answers import Answer, AnyError, doc, instant, iso_or_none

UDI = "04012345678901"
MUST_EXIST = "False watches also what can be no code, such as a word without a digit; true by default."
SUMMARY = "status: On the EU market → No longer placed on the EU market"
KINDS = f"What the event is about: {', '.join(f'`{kind}`' for kind in EventKind)}; later versions may add others."
SEVERITIES = f"How much it matters: {', '.join(f'`{severity}`' for severity in EventSeverity)}."

PORTFOLIO = "Whether the watch of an SRN tells of its devices: new ones, and those that leave the market."
CERTIFICATES = "Whether the watch of an SRN tells of its certificates, and of those that end soon."
NOTIFIES = "Whether its changes are sent to webhooks; they are listed in any case."

MAX_QUICK = 100
"""Watches whose objects are made without a thread."""

_EMPTY = Snapshot()


class AnswerOfWatches(Answer, kw_only=True):
    """What watches brought. It says where they are not read any more, so that no silence looks like no change."""

    period_ended_at: Annotated[
        str | UnsetType,
        instant("When the account's period ended, UTC: since then its watches are not read. Left out while it runs."),
    ] = UNSET
    notice: Annotated[
        str | UnsetType,
        doc("The same in words; left out while the period runs.", EndedPeriod(12, 1_795_837_080).notice()),
    ] = UNSET

    def of_account(self, account: Account, now: float) -> Self:
        """The answer with a note about the account's period at `now` (unix seconds)."""
        ended = account.ended(now)
        if ended is not None:
            self.period_ended_at, self.notice = iso_utc(ended.at), ended.notice()
        return self


class WatchHealth(Answer, gc=False):
    """Whether the watch does its work."""

    state: Annotated[
        HealthState,
        doc(
            "`unread` when it was never read, `overdue` when nobody has read it for 3 days, `unknown` when the register"
            " has no such record, `failing` when it could not be read for 3 days, `partial` when not all of it could:"
            " its certificates were not read, or some may be missing.",
            "ok",
        ),
    ]
    since: Annotated[
        str | None,
        instant("First read that failed, or was not whole, since the last good one, UTC; null when there was none."),
    ]


class WatchOptionsObject(Answer, gc=False):
    """What the watch tells, and whether it is sent."""

    portfolio: Annotated[bool, doc(PORTFOLIO, True)]
    certificates: Annotated[bool, doc(CERTIFICATES, True)]
    notifies: Annotated[bool, doc(NOTIFIES, True)]


class WatchObject(Answer, kw_only=True, gc=False):
    """One watched subject."""

    id: Annotated[int, doc("Number for `PATCH` and `DELETE /v1/watches/{id}`.", 12)]
    kind: Annotated[Literal["udi", "srn"], doc("What the subject is.", "udi")]
    subject: Annotated[str, doc("UDI-DI or SRN.", UDI)]
    label: Annotated[
        str,
        doc(
            "Trade name or actor's name, unless a person gave another. Without a trade name it is the device name, else"
            " the model, else the UDI-DI.",
            "Ceramill Zolid",
        ),
    ]
    status: Annotated[str, doc("Market status of a device, status of an actor.", "On the EU market")]
    status_code: Annotated[str, doc("The register's code of it.", "refdata.device-model-status.on-the-market")]
    listed: Listed = UNSET
    manufacturer_name: Annotated[str, doc("Can be empty.", "Amann Girrbach AG")]
    manufacturer_srn: Annotated[str, doc("Can be empty.", "AT-MF-000000252")]
    risk_class: Annotated[str, doc("Can be empty.", "Class IIa")]
    certificate: Annotated[str, doc("Number of the first certificate that has one, or empty.", "Z-25-052")]
    cert_expiry: Annotated[str, doc("Date of the first certificate that has one, or empty.", "2030-09-16")]
    certificate_listed: Annotated[
        bool | UnsetType,
        doc(
            "False where the register lists no certificate of the device now, so that both are of one that it listed"
            " once; left out otherwise.",
            False,
        ),
    ] = UNSET
    certificate_other_record_as_of: Annotated[
        str | UnsetType,
        instant(
            "When the record that names this certificate was read, UTC, where that is another record of the UDI-DI than"
            " the one that answers for it; left out otherwise."
        ),
    ] = UNSET
    certificate_standing: Annotated[
        str | UnsetType,
        doc(
            "How the certificates stand that the register lists of a device, in the words of the pages: the worst, and"
            " of how many it is where others stand better. Left out where none was read or none is listed.",
            "Suspended (1 of 2)",
        ),
    ] = UNSET
    complete: Annotated[
        bool,
        doc(
            "Whether every part of the subject was read that is compared. Until then certificates that are found for"
            " the first time are part of the baseline and make no event.",
            True,
        ),
    ]
    last_sync: Annotated[str | None, instant("When the last successful read began, UTC; null before the first.")]
    last_error: Annotated[
        str,
        doc(
            "Why the last read failed, empty when it did not; the snapshot is kept.", "The register could not be read."
        ),
    ]
    health: Annotated[WatchHealth, doc("Whether the watch does its work.")]
    options: Annotated[WatchOptionsObject, doc("What it tells, and whether that is sent.")]
    created_at: Annotated[str, instant("UTC.")]

    @classmethod
    def of(cls, watch: Watch, now: float) -> "WatchObject":
        """A watch with what was last seen of its subject, at `now` (unix seconds)."""
        seen = watch.snapshot or _EMPTY
        others = () if listed_certificates(seen.certs or ()) else seen.other_certs
        is_device, (certificate, expiry) = watch.kind == "udi", _first_values(others or seen.shown_certs)
        return cls(
            id=watch.id,
            kind=watch.kind,
            subject=watch.subject,
            label=watch.label,
            status=seen.status if is_device else seen.manufacturer_status,
            status_code=seen.status_code if is_device else seen.manufacturer_status_code,
            listed=False if watch.is_delisted else UNSET,
            manufacturer_name=seen.manufacturer_name,
            manufacturer_srn=seen.manufacturer_srn,
            risk_class=seen.risk_class,
            certificate=certificate,
            cert_expiry=expiry,
            certificate_listed=False if seen.unlisted_certs and not others else UNSET,
            certificate_other_record_as_of=iso_utc(others[0].other_as_of) if others else UNSET,
            certificate_standing=certificates_of(seen, day_of(now)).words or UNSET,
            complete=watch.is_complete,
            last_sync=iso_or_none(watch.last_sync),
            last_error=watch.last_error,
            health=WatchHealth(state=watch.health(now), since=iso_or_none(watch.failing_since)),
            options=WatchOptionsObject(watch.options.portfolio, watch.options.certificates, watch.options.notifies),
            created_at=iso_utc(watch.created_at),
        )


class WatchList(AnswerOfWatches):
    """The account's watches. `next` and `more` are there where the request has a parameter."""

    watches: Annotated[list[WatchObject], doc("Oldest first.")]
    next: Annotated[int | UnsetType, doc("Send it as `after` to go on.", 12)] = UNSET
    more: Annotated[bool | UnsetType, doc("Whether there are others after these.")] = UNSET

    @classmethod
    async def of(cls, watches: Sequence[Watch], now: float) -> "WatchList":
        """Watches as they are at `now` (unix seconds)."""
        return cls(watches=await _objects_of(watches, now))

    @classmethod
    async def of_page(cls, page: RowPage[Watch], after: int, now: float) -> "WatchList":
        """The watches after one, as they are at `now` (unix seconds)."""
        last = page.rows[-1].id if page.rows else after
        return cls(watches=await _objects_of(page.rows, now), next=last, more=page.more)


class OneWatch(Answer):
    """A watch."""

    watch: Annotated[WatchObject, doc("The watch as it is now.")]


class SyncEvent(Answer, gc=False):
    """A change, as a sync tells it."""

    subject: Annotated[str, doc("UDI-DI or SRN.", UDI)]
    label: Annotated[str, doc("Name of the watch.", "Ceramill Zolid")]
    summary: Annotated[str, doc("The changes in a line.", SUMMARY)]
    changes: Annotated[Sequence[FieldChange], doc("Every field that changed.")]

    @classmethod
    def of(cls, event: Event) -> "SyncEvent":
        """An event, without a stored one's other fields."""
        return cls(subject=event.subject, label=event.label, summary=event.summary, changes=event.changes)


class EventObject(SyncEvent, gc=False):
    """A change that was seen."""

    id: Annotated[int, doc("Increasing number.", 41)]
    watch_id: Annotated[int, doc("The watch, which may be gone.", 12)]
    kind: Annotated[str, doc(KINDS, EventKind.RECORD.value)]
    severity: Annotated[str, doc(SEVERITIES, EventSeverity.HIGH.value)]
    created_at: Annotated[str, instant("When it was seen, UTC.")]
    visible_at: Annotated[
        str | None,
        instant("Before the first request that showed the change, UTC; null where nobody noted that."),
    ]

    @classmethod
    def of(cls, event: Event) -> "EventObject":
        """A stored event."""
        return cls(
            subject=event.subject,
            label=event.label,
            summary=event.summary,
            changes=event.changes,
            id=event.id,
            watch_id=event.watch_id,
            kind=event.kind,
            severity=event.severity,
            created_at=iso_utc(event.created_at),
            visible_at=iso_or_none(event.visible_at),
        )


class EventList(AnswerOfWatches):
    """Changes that were seen. `next` and `more` are there where the request has a parameter."""

    events: Annotated[list[EventObject], doc("The newest first; with `after`, the oldest first.")]
    next: Annotated[
        int | UnsetType, doc("Send it as `after` to go on: later changes follow, and none is left out.", 41)
    ] = UNSET
    more: Annotated[
        bool | UnsetType,
        doc("Whether others are stored that this answer leaves out: later ones with `after`, else earlier ones."),
    ] = UNSET

    @classmethod
    def of(cls, events: Sequence[Event]) -> "EventList":
        """Stored events in the order given."""
        return cls(events=[EventObject.of(each) for each in events])

    @classmethod
    def of_page(cls, page: EventPage) -> "EventList":
        """A page of events."""
        return cls(events=[EventObject.of(each) for each in page.events], next=page.next, more=page.more)


class SyncAnswer(Answer):
    """What a sync brought."""

    synced: Annotated[int, doc("Watches that were read.", 25)]
    events: Annotated[list[SyncEvent], doc("Changes that no sync had told; empty when the baseline held.")]
    error: Annotated[
        str | None,
        doc("Why some watches were not read, null when all were tried.", "7 watches were not reached in time."),
    ]
    unread: Annotated[
        int | UnsetType,
        doc("Watches that were not tried, so their state is as before; left out when there are none.", 3),
    ] = UNSET
    failed: Annotated[
        int | UnsetType,
        doc(
            "Watches that were tried in vain: the register could not be read, or has no such record. `last_error` of"
            " each says why. Left out when there are none.",
            1,
        ),
    ] = UNSET

    @classmethod
    def of(cls, result: SyncResult) -> "SyncAnswer":
        """The result of a sync."""
        return cls(
            synced=result.synced,
            events=[SyncEvent.of(each) for each in result.events],
            error=result.error,
            unread=result.unread or UNSET,
            failed=result.failed or UNSET,
        )


class SyncRefused(AnyError):
    """Nothing was synced, since the account's period has ended."""

    synced: Annotated[int, doc("Always 0.", 0)]
    events: Annotated[list[SyncEvent], doc("Always empty.")]
    error: Annotated[str, doc("Why nothing was synced.", PERIOD_ENDED)]


async def _objects_of(watches: Sequence[Watch], now: float) -> list[WatchObject]:
    """Watches in the order given; many in a thread, since the states of their certificates take time."""
    if len(watches) <= MAX_QUICK:
        return [WatchObject.of(each, now) for each in watches]
    return await asyncio.to_thread(lambda: [WatchObject.of(each, now) for each in watches])


def _first_values(certificates: Iterable[SeenCertificate]) -> tuple[str, str]:
    """The first number and the first date of expiry that one of them has, those of other records of the UDI-DI last;
    empty where none has one.
    """
    number = expiry = ""
    for each in sorted(certificates, key=lambda each: bool(each.other_as_of)):
        number, expiry = number or each.number, expiry or each.ends
    return number, expiry
