"""Changed fields of a stored record with their old values, for its history. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from registerwatch.platform.structs import replace
from registerwatch.register.device_details import has_changed
from registerwatch.register.models import (
    DETAILS,
    DOCUMENT_VERSION,
    FLAGS,
    LEFT_OUT,
    Actor,
    Certificate,
    Device,
    fields_never_read,
)

CONSTANT = frozenset({"found", "udi", "uuid", "source"})
"""Fields of a device that never change in a record."""
DEVICE_FIELDS = tuple(name for name in Device.__struct_fields__ if name not in CONSTANT)
ACTOR_FIELDS = tuple(name for name in Actor.__struct_fields__ if name != "srn")
LABELS = {name: f"{name}_code" for name in ("status", "risk_class", "manufacturer_status", "legislation")}
"""Labels of codes. Another label of the same code is a new wording of this service, not a change."""


def device_changes(old: Device, new: Device, *, version: int = DOCUMENT_VERSION) -> dict[str, Any]:
    """The old values of a device's changed fields. `version` is that of the old document.

    A flag that was not known before did not change, nor did a field that the old document was too old to have.
    """
    changed = {}
    never_read = fields_never_read(old, version)
    for name in DEVICE_FIELDS:
        if name in never_read:
            continue
        value, later = getattr(old, name), getattr(new, name)
        if name == "certs":
            value, later = registered(value), registered(later)
        elif name in LEFT_OUT:
            value, later = value or (), later or ()
        elif (name in DETAILS and not has_changed(value, later)) or (value is None and name in FLAGS):
            continue
        if value != later and not _is_wording(name, old, new):
            changed[name] = value
    return changed


def actor_changes(old: Actor, new: Actor) -> dict[str, Any]:
    """The old values of an actor's changed fields; `complete` is among them."""
    return {name: value for name in ACTOR_FIELDS if (value := getattr(old, name)) != getattr(new, name)}


def registered(certificates: tuple[Certificate, ...]) -> tuple[Certificate, ...]:
    """Certificates without the fields that only say whether the last read could confirm them."""
    if all(each.confirmed and each.unconfirmed_since is None for each in certificates):
        return certificates
    return tuple(replace(each, confirmed=True, unconfirmed_since=None) for each in certificates)


def are_found_otherwise(old: Sequence[Certificate], new: Sequence[Certificate]) -> bool:
    """Whether certificates differ at most in how they were found: by their scope, or by a search, which does not bring
    names of notified bodies.
    """
    named = [each for each in (*old, *new) if each.notified_body_name and each.notified_body]
    names = {each.notified_body: each.notified_body_name for each in named}
    return _registered_as(old, names) == _registered_as(new, names)


def _registered_as(certificates: Sequence[Certificate], names: Mapping[str, str]) -> list[Certificate]:
    bare = (
        replace(each, scoped=False, notified_body_name=each.notified_body_name or names.get(each.notified_body, ""))
        for each in certificates
    )
    return sorted(bare, key=lambda each: each.order)


def _is_wording(name: str, old: Device, new: Device) -> bool:
    code = getattr(new, LABELS[name]) if name in LABELS else ""
    return bool(code) and code == getattr(old, LABELS[name])
