"""The changes in events of a manufacturer's devices and certificates. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from registerwatch.watches.diff import FieldChange, summary_of

MAX_DEVICES = 50
"""Devices that an event names; it always gives the number of all."""
MAX_CHANGES = 50
"""Changes of certificates that an event lists; its summary gives the number of the others."""
MAX_NAME_LENGTH = 200

REVISION, REFUSED = "cert_revision", "cert_refused"
DEVICES_REGISTERED, DEVICE_REGISTERED = "devices_registered", "device_registered"
DEVICES_OFF_MARKET, DEVICE_OFF_MARKET = "devices_off_market", "device_off_market"
DEVICES_ON_MARKET, DEVICE_ON_MARKET = "devices_on_market", "device_on_market"

NUMBER_OF: Mapping[str, str] = {
    DEVICE_OFF_MARKET: DEVICES_OFF_MARKET,
    DEVICE_ON_MARKET: DEVICES_ON_MARKET,
    DEVICE_REGISTERED: DEVICES_REGISTERED,
}
"""Fields that name one device, each with the field for the number of all."""
FIELD_OF_NEWS: Mapping[str, str] = {
    "off_market": DEVICE_OFF_MARKET,
    "on_market": DEVICE_ON_MARKET,
    "registered": DEVICE_REGISTERED,
}
"""The field of each change in `portfolio_news`, in the order in which an event lists them."""


class DeviceNews(msgspec.Struct, frozen=True):
    """One device of a manufacturer that was registered, left the market or came back."""

    primary_di: str
    name: str
    change: str
    """A key of `FIELD_OF_NEWS`."""


def portfolio_counts(counts: Mapping[str, int]) -> list[FieldChange]:
    """The numbers of devices as changes. `counts` is by key of `FIELD_OF_NEWS`."""
    return [
        FieldChange(NUMBER_OF[field], "", str(counts[change]))
        for change, field in FIELD_OF_NEWS.items()
        if counts.get(change)
    ]


def portfolio_changes(counts: Mapping[str, int], named: Iterable[DeviceNews]) -> list[FieldChange]:
    """The changes of an event: numbers of devices, then names of the first ones."""
    devices = [
        FieldChange(FIELD_OF_NEWS[each.change], "", _short(each.name) or each.primary_di, device=each.primary_di)
        for each in named
    ]
    return [*portfolio_counts(counts), *devices[:MAX_DEVICES]]


def certificate_changes(changes: Sequence[FieldChange]) -> tuple[list[FieldChange], str]:
    """The changes that an event of certificates lists, and its summary with the number of the others."""
    listed = list(changes[:MAX_CHANGES])
    more = len(changes) - len(listed)
    return listed, summary_of(listed) + (f"; and {more:,} more" if more else "")


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
