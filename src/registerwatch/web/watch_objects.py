"""The contract's watch and event objects."""

from typing import Any

from registerwatch.clock import iso_utc
from registerwatch.watches.models import Event, Watch
from registerwatch.watches.snapshot import Snapshot
from registerwatch.watches.sync import SyncResult

_NOTHING = Snapshot()


def watch_object(watch: Watch, now: float) -> dict[str, Any]:
    """A watch with what was seen last of its subject."""
    seen = watch.snapshot or _NOTHING
    certs = seen.shown_certs
    return {
        "id": watch.id,
        "kind": watch.kind,
        "subject": watch.subject,
        "label": watch.label,
        "status": seen.status if watch.kind == "udi" else seen.manufacturer_status,
        "status_code": seen.status_code if watch.kind == "udi" else seen.manufacturer_status_code,
        "manufacturer_name": seen.manufacturer_name,
        "manufacturer_srn": seen.manufacturer_srn,
        "risk_class": seen.risk_class,
        "certificate": next((each.number for each in certs if each.number), ""),
        "cert_expiry": next((each.expiry for each in certs if each.expiry), ""),
        "last_sync": None if watch.last_sync is None else iso_utc(watch.last_sync),
        "last_error": watch.last_error,
        "health": {
            "state": "failing" if watch.is_failing(now) else "ok",
            "since": None if watch.failing_since is None else iso_utc(watch.failing_since),
        },
        "created_at": iso_utc(watch.created_at),
    }


def sync_event(event: Event) -> dict[str, Any]:
    """An event as a sync tells it."""
    return {
        "subject": event.subject,
        "label": event.label,
        "summary": event.summary,
        "changes": event.changes,
    }


def sync_object(synced: SyncResult) -> dict[str, Any]:
    """What a sync brought."""
    return {"synced": synced.synced, "events": [sync_event(each) for each in synced.events], "error": synced.error}


def event_object(event: Event) -> dict[str, Any]:
    """A stored event."""
    return {
        "id": event.id,
        "watch_id": event.watch_id,
        **sync_event(event),
        "created_at": iso_utc(event.created_at),
    }
