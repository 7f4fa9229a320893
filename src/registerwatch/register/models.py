"""What the service knows of a device and of an actor, as it serves it, and which of several records answers.

`Device` is the served document itself: its JSON is stored and sent as it is. Strings are empty and dates null where
the register has nothing. Codes are the register's own, labels English. No record can be part of a reference cycle, so
the garbage collector is told to leave them alone (`gc=False`), which a fill of millions feels.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from registerwatch.register.codes import REGULATIONS, segment

LAG_SECONDS = 24 * 3600
"""How far the Data Lake may be behind the register; it is hours, nobody promises how many."""


class Certificate(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One certificate of a device. `expiry` is missing when the register gives none."""

    number: str
    revision: str = msgspec.field(default="")
    expiry: str | None = None
    status: str = ""
    status_code: str = ""
    valid_from: str | None = None
    type_code: str = ""
    notified_body: str = ""
    notified_body_name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the device's other certificates: number and revision."""
        return self.number, self.revision


class ActorReference(msgspec.Struct, frozen=True, gc=False):
    """An actor as a device names it."""

    srn: str
    name: str


class SearchRow(msgspec.Struct, frozen=True, gc=False):
    """A device as a search lists it: seven of its fields."""

    udi: str
    trade_name: str
    manufacturer_name: str
    manufacturer_srn: str
    status: str
    status_code: str
    risk_class: str


class Device(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One register record of a device (its UDI-DI, its version), in the order and form that is served."""

    found: Literal[True] = True
    udi: str
    trade_name: str = ""
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    status: str = ""
    status_code: str = ""
    status_date: str | None = None
    risk_class: str = ""
    risk_class_code: str = ""
    manufacturer_status: str = ""
    manufacturer_status_code: str = ""
    basic_udi: str = ""
    legislation: str = ""
    legislation_code: str = ""
    reference: str = ""
    version: int | None = None
    updated: str | None = None
    device_name: str = ""
    device_model: str = ""
    trade_names: dict[str, str] = msgspec.field(default_factory=dict)
    emdn: tuple[str, ...] = ()
    authorised_representative: ActorReference | None = None
    certs: tuple[Certificate, ...] = ()
    uuid: str
    source: Literal["eudamed-public"] = "eudamed-public"


class Completeness(StrEnum):
    """How much of a device a reading tells."""

    EVERYTHING = "everything"
    """Search row, detail, Basic UDI-DI record and every certificate."""
    ALL_BUT_CERTIFICATES = "all but certificates"
    """The same, while the certificate search could not be read: stored certificates stay.

    The certificates of such a reading are those that the Basic UDI-DI record lists: good to show where none were read
    before, never to be compared with others, since nothing follows from what is missing among them.
    """
    SOME = "some"
    """A bulk row, a search row, a line of a file: what it leaves empty says nothing."""


class DeviceReading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record as one source told it."""

    device: Device
    completeness: Completeness
    latest_version: bool = True
    detail_version: int | None = None
    """Version whose detail was read, None when this source has no detail."""
    lags: bool = False
    """Whether the source is behind the register: by hours as the Data Lake, or as old as a file happens to be."""
    searched: bool = True
    """Whether the certificate search had its say. Where its filter does not filter, certificates are those that the
    Basic UDI-DI record lists and those that were stored: what a search finds later need not be new."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """A manufacturer or another actor, by its SRN."""

    srn: str
    name: str
    country: str = ""
    status_code: str = ""
    device_total: int | None = None
    """The register's own count of the actor's registrations, None when it was not asked."""
    complete: bool = False
    """Whether it was read as an actor, not only named by a device."""


class RecordPrecedence(msgspec.Struct, frozen=True, gc=False):
    """What decides which of several records of one UDI-DI answers for it."""

    uuid: str
    latest_version: bool
    legislation_code: str
    version_number: int

    @property
    def rank(self) -> tuple[bool, bool, int, str]:
        """Sorts the preferred record first: latest version, regulation over directive, higher version, smaller uuid."""
        in_force = segment(self.legislation_code) in REGULATIONS
        return not self.latest_version, not in_force, -self.version_number, self.uuid


def precedence_of(reading: DeviceReading) -> RecordPrecedence:
    """The standing of a record that was just read."""
    device = reading.device
    return RecordPrecedence(device.uuid, reading.latest_version, device.legislation_code, device.version or 0)


def merge(stored: Device | None, reading: DeviceReading, *, stored_detail_version: int | None = None) -> Device | None:
    """The device after a reading; None when the reading is older than what is stored and changes nothing.

    A full reading replaces everything; without certificates it leaves the stored ones, where there are any or a full
    reading found none. One that tells only some of it fills in, never blanks; and one from a source that lags never
    touches a record that was read in full at the same version or a later one.
    """
    new = reading.device
    if stored is None:
        return new
    if reading.completeness is Completeness.EVERYTHING:
        return new
    if reading.completeness is Completeness.ALL_BUT_CERTIFICATES:
        were_read = bool(stored.certs) or stored_detail_version is not None
        return msgspec.structs.replace(new, certs=stored.certs) if were_read else new
    stored_version, new_version = stored.version or 0, new.version or 0
    if new_version < stored_version:
        return None
    if reading.lags and stored_detail_version is not None and new_version <= stored_detail_version:
        return None
    told = {name: value for name in _FIELDS if (value := getattr(new, name)) not in (None, "", (), {})}
    nameless, named = new.authorised_representative, stored.authorised_representative
    if nameless and named and not nameless.name and nameless.srn == named.srn:
        del told["authorised_representative"]
    return msgspec.structs.replace(stored, **told)


def is_latest(stored: RecordPrecedence | None, reading: DeviceReading) -> bool:
    """Whether a record counts as a latest version after a reading.

    Within one version a record only ever ceases to be the latest, so a source that lags can tell that it did, and not
    that it is again.
    """
    if reading.lags and stored is not None and (reading.device.version or 0) <= stored.version_number:
        return reading.latest_version and stored.latest_version
    return reading.latest_version


def may_be_outdated(stored: RecordPrecedence | None, reading: DeviceReading) -> bool:
    """Whether a reading may tell what was before a read of the register in the last `LAG_SECONDS`.

    A newer version of a record that the register listed then cannot be from before.
    """
    if not reading.lags:
        return False
    if stored is None or not stored.latest_version:
        return True
    return (reading.device.version or 0) <= stored.version_number


_FIELDS = Device.__struct_fields__

_encoder = msgspec.json.Encoder()
_device_decoder = msgspec.json.Decoder(Device)


def document(device: Device) -> bytes:
    """The device in JSON, as it is stored and served."""
    return _encoder.encode(device)


def from_document(stored: bytes | str) -> Device:
    """The device in a stored document."""
    return _device_decoder.decode(stored)
