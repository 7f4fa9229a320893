"""What the routes of watches take and answer, field by field, for `/openapi.json`."""

from typing import Literal

from pydantic import Field

from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.rest.bodies import Instant, Request
from registerwatch.rest.schemas import Described

UDI = "04012345678901"
SUMMARY = "status: On the EU market → No longer placed on the EU market"


class WatchRequest(Request):
    """A subject to watch."""

    subject: str = Field(
        description="UDI-DI or SRN; white space is left out.",
        examples=[UDI, "DE-MF-000006413"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_LENGTH, "pattern": "[0-9A-Za-z]"},
    )


class LabelRequest(Request):
    """A name for a watch."""

    label: str = Field(
        description="At most 80 characters.", examples=["Scanner, ward 3"], json_schema_extra={"minLength": 1}
    )


class ImportRequest(Request):
    """Many subjects to watch."""

    csv: str = Field(
        description="One identifier a line, in the first cell; commas, tabs or semicolons separate. At most 500 lines.",
        examples=[f"udi\n{UDI}\n"],
    )


class WatchHealth(Described):
    """Whether the watch does its work."""

    state: Literal["ok", "failing"] = Field(description="`failing` when it could not be read for 3 days.")
    since: str | None = Field(
        description="First failed read since the last good one, UTC; null when there was none.", **Instant
    )


class WatchObject(Described):
    """One watched subject."""

    id: int = Field(description="Number for `PATCH` and `DELETE /v1/watches/{id}`.", examples=[12])
    kind: Literal["udi", "srn"] = Field(description="What the subject is.")
    subject: str = Field(description="UDI-DI or SRN.", examples=[UDI])
    label: str = Field(
        description="Trade name or actor's name, unless a person gave another.", examples=["Ceramill Zolid"]
    )
    status: str = Field(description="Market status of a device, status of an actor.", examples=["On the EU market"])
    status_code: str = Field(
        description="The register's code of it.", examples=["refdata.device-model-status.on-the-market"]
    )
    manufacturer_name: str = Field(description="Can be empty.", examples=["Amann Girrbach AG"])
    manufacturer_srn: str = Field(description="Can be empty.", examples=["AT-MF-000000252"])
    risk_class: str = Field(description="Can be empty.", examples=["Class IIa"])
    certificate: str = Field(
        description="Number of the first certificate that has one, or empty.", examples=["Z-25-052"]
    )
    cert_expiry: str = Field(
        description="Date of the first certificate that has one, or empty.", examples=["2030-09-16"]
    )
    last_sync: str | None = Field(description="Last successful read, UTC; null before the first.", **Instant)
    last_error: str = Field(description="Why the last read failed, empty when it did not; the snapshot is kept.")
    health: WatchHealth
    created_at: str = Field(description="UTC.", **Instant)


class Watches(Described):
    """The account's watches."""

    watches: list[WatchObject] = Field(description="Oldest first.")


class OneWatch(Described):
    """A watch."""

    watch: WatchObject


class ChangeObject(Described):
    """One field that changed."""

    field: str = Field(description="Name of the field.", examples=["status"])
    old: str = Field(description="Value before, empty when there was none.", examples=["On the EU market"])
    new: str = Field(description="Value now, never empty.", examples=["No longer placed on the EU market"])
    certificate: str | None = Field(
        None, description="Number of the certificate whose field it is.", examples=["Z-25-052"]
    )


class SyncEvent(Described):
    """A change, as a sync tells it."""

    subject: str = Field(description="UDI-DI or SRN.", examples=[UDI])
    label: str = Field(description="Name of the watch.", examples=["Ceramill Zolid"])
    summary: str = Field(description="The changes in a line.", examples=[SUMMARY])
    changes: list[ChangeObject] = Field(description="Every field that changed.")


class EventObject(SyncEvent):
    """A change that was seen."""

    id: int = Field(description="Increasing number.", examples=[41])
    watch_id: int = Field(description="The watch, which may be gone.", examples=[12])
    created_at: str = Field(description="When it was seen, UTC.", **Instant)


class Events(Described):
    """Changes that were seen."""

    events: list[EventObject] = Field(description="The newest 100, newest first.")


class SyncAnswer(Described):
    """What a sync brought."""

    synced: int = Field(description="Watches that were read.", examples=[25])
    events: list[SyncEvent] = Field(description="Changes that no sync had told; empty when the baseline held.")
    error: str | None = Field(description="Why some watches were not read, null when all were tried.")


class ImportAnswer(Described):
    """What an import brought."""

    added: int = Field(description="New watches.", examples=[120])
    skipped: int = Field(description="Lines whose subject was watched already.", examples=[3])
    errors: list[str] = Field(description="At most five lines that could not be used, and why.")


class ExpiringItem(Described):
    """A certificate of a watched device that ends soon or ended lately."""

    subject: str = Field(description="UDI-DI.", examples=[UDI])
    label: str = Field(description="Name of the watch.", examples=["Ceramill Zolid"])
    certificate: str = Field(description="Certificate number.", examples=["Z-25-052"])
    expiry: str = Field(description="Date.", examples=["2026-12-24"])
    days: int = Field(description="Days until then, negative when past.", examples=[33])


class ExpiringAnswer(Described):
    """Certificates from 30 days past to 180 days ahead."""

    items: list[ExpiringItem] = Field(description="The most urgent first.")
