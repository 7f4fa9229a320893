"""Histories of records: their stored changes, and a record as of an instant. Pure.

A state is a record in JSON form, with a few fields beside it: which record is current, which parts were read. The
values before each change are stored, so a state is found by undoing changes, the last one first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import msgspec

from registerwatch.copy.history.changed_fields import LABELS, are_found_otherwise, registered
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.models import LEFT_OUT, Certificate, Device

State = Mapping[str, Any]

UNSHOWN = frozenset({"has_detail", "has_old_detail", "has_certificates", "complete", "former_status"})
"""Fields of a state that say what was read, not what the register has."""


class StoredChange(msgspec.Struct, frozen=True):
    """A row of `record_history`. Instants are unix seconds."""

    id: int
    record: str
    observed_at: int
    source: str | None
    old: State
    dropped_at: int | None = None
    """When the change before this one was observed, if that one was deleted."""
    revision: int = 0


class StoredState(msgspec.Struct, frozen=True):
    """A record's stored state, and since when the copy has it (unix seconds)."""

    state: State
    first_seen_at: int


class ValueChange(msgspec.Struct, frozen=True):
    """A changed field, with both values in the form of JSON."""

    field: str
    old: Any
    new: Any


class ObservedChange(msgspec.Struct, frozen=True):
    """A change of a record for display.

    `first_read` are fields that were empty before only because they had not been read; `certs` too where the known ones
    stayed as they were.
    """

    id: int
    record: str
    observed_at: int
    source: str | None
    changes: Sequence[ValueChange]
    first_read: Sequence[str] = ()


class Successor(msgspec.Struct, frozen=True):
    """A record that took over a UDI-DI when it was new. It answered `until` another one did, None where it still does.
    Instants are unix seconds.
    """

    uuid: str
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class RecordHistory:
    """The stored states of a subject's records, by uuid, and their changes, the last one first."""

    records: Mapping[str, StoredState]
    stored: Sequence[StoredChange] = ()
    changes: Sequence[ObservedChange] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", _shown(self.records, self.stored))

    @property
    def observed_since(self) -> int:
        """Since when this service knows the subject."""
        return min((each.first_seen_at for each in self.records.values()), default=0)

    @property
    def successors(self) -> Sequence[Successor]:
        """The records that were current when they were first seen, later than another one; the last one first.

        A new record has no change, so the changes say only that the other one ceased to be current.
        """
        found = (self._successor(uuid) for uuid in self.records)
        return sorted((each for each in found if each is not None), key=lambda each: each.since, reverse=True)

    def _successor(self, uuid: str) -> Successor | None:
        record = self.records[uuid]
        changes = [each for each in self.stored if each.record == uuid and "is_current" in each.old]
        state, until = (changes[-1].old, changes[-1].observed_at) if changes else (record.state, None)
        is_first_known = not changes or self.is_complete  # else an earlier change may have been deleted
        if record.first_seen_at == self.observed_since or not state.get("is_current", True) or not is_first_known:
            return None
        return Successor(uuid, record.first_seen_at, until)

    @property
    def is_complete(self) -> bool:
        """Whether no older change was deleted."""
        return all(each.dropped_at is None for each in self.stored)

    def as_of(self, instant: int) -> "StatesAsOf":
        """The records that existed at an instant, as they were then."""
        states = {uuid: dict(each.state) for uuid, each in self.records.items()}
        since = {uuid: each.first_seen_at for uuid, each in self.records.items()}
        undone = 0
        for change in takewhile(lambda each: each.observed_at > instant, self.stored):
            states[change.record].update(change.old)
            undone += 1
        dropped_at = max((each.dropped_at or 0 for each in self.stored), default=0)
        if instant < dropped_at and any(begin <= instant for begin in since.values()):
            return StatesAsOf({}, {}, is_dropped=True)
        known = {uuid: _as_document(state) for uuid, state in states.items() if since[uuid] <= instant}
        observed_at = {uuid: max(since[uuid], dropped_at) for uuid in known}
        for change in reversed(self.stored[undone:]):
            if change.record in known:
                observed_at[change.record] = change.observed_at
        return StatesAsOf(known, observed_at)


class StatesAsOf(msgspec.Struct, frozen=True):
    """States of records at an instant, by uuid, and when each was first observed. `is_dropped` says that the history
    of that time was deleted.
    """

    states: Mapping[str, State]
    observed_at: Mapping[str, int]
    is_dropped: bool = False

    @property
    def current(self) -> str | None:
        """The record that was current for its UDI-DI."""
        return next((uuid for uuid, state in self.states.items() if state.get("is_current", True)), None)


def device_of(state: State) -> Device:
    """The device in a state, without the fields beside it."""
    return msgspec.convert(dict(state), Device)


def device_state(device: Device, **beside: Any) -> dict[str, Any]:
    """A device as a state, without the fields that only say whether a certificate could be confirmed lately."""
    bare = replace(device, certs=registered(device.certs))
    state: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(bare))
    return {**state, **beside}


def _as_document(state: State) -> State:
    """A state without empty lists, for which a document has no field."""
    return {name: value for name, value in state.items() if value or name not in LEFT_OUT}


def _shown(records: Mapping[str, StoredState], stored: Iterable[StoredChange]) -> list[ObservedChange]:
    """Changes with their new values, without those in which only more was read."""
    states = {uuid: dict(each.state) for uuid, each in records.items()}
    shown = []
    for each in stored:
        after = states[each.record]
        before = {**after, **each.old}
        change = _shown_change(each, before, after)
        if change.changes or change.first_read:
            shown.append(change)
        states[each.record] = before
    return shown


def _shown_change(stored: StoredChange, before: State, after: State) -> ObservedChange:
    changes, first_read = [], []
    for name, old in stored.old.items():
        if name in UNSHOWN or LABELED.get(name) in stored.old:
            continue
        if name == "status_date":
            old = _last_status_date(before)
        if old == after.get(name) or _is_unread_date(name, stored, after):
            continue
        if name == "certs" and are_found_otherwise(_certificates(old), _certificates(after[name])):
            continue
        if _is_first_read(name, before, after):
            first_read.append(name)
        elif name == "delisted_at":
            changes.append(ValueChange("listed", old is None, after.get(name) is None))
        else:
            changes.append(ValueChange(SHOWN_AS.get(name, name), old, after.get(name)))
    return ObservedChange(stored.id, stored.record, stored.observed_at, stored.source, changes, first_read)


LABELED = {code: name for name, code in LABELS.items()}
"""Codes that are shown by their label."""
SHOWN_AS = {"is_current": "current"}
BESIDE = frozenset({"is_current", "latest_version", "delisted_at"})


def _last_status_date(state: State) -> str | None:
    date: str | None = (state.get("former_status") or {}).get("date", state["status_date"])
    return date


def _is_unread_date(name: str, stored: StoredChange, after: State) -> bool:
    """Whether a date is gone only because a list showed another status or version, whose date was not read yet."""
    if name == "status_date":
        return bool(after.get("former_status"))
    return name == "updated" and after[name] is None and "version" in stored.old


def _is_first_read(name: str, before: State, after: State) -> bool:
    """Whether a field had no value before, or fewer certificates, only because it had not been read."""
    if name in BESIDE:
        return False
    if name == "certs":
        return not before.get("has_certificates", True) and _are_kept(before[name], after[name])
    if name == "other_codes":  # whether they were read before is not noted
        return not before[name]
    if name == "updated" and before.get("has_old_detail"):  # the time of the version that a list showed
        return before[name] is None
    is_part = not before.get("has_detail", before.get("complete", True))
    return is_part and before[name] in (None, "", [], {})


def _are_kept(before: Any, after: Any) -> bool:
    """Whether all certificates before are still there with the same values. Where they are listed may differ."""
    old, new = _certificates(before), _certificates(after)
    same = zip(old, same_certificates(old, new), strict=True)
    return all(_values(each) in map(_values, found) for each, found in same)


def _certificates(value: Any) -> list[Certificate]:
    return msgspec.convert(value, list[Certificate])


def _values(certificate: Certificate) -> tuple[str | None, ...]:
    return certificate.status_code, certificate.expiry, certificate.valid_from, certificate.type_code
