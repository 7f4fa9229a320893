"""REST's answers about the history of devices and actors."""

from collections.abc import Iterable
from typing import Annotated, Any, Self

import msgspec

from registerwatch.copy.history.record_history import RecordHistory, ValueChange, device_of
from registerwatch.lookup.actors import ActorAnswer
from registerwatch.lookup.devices import DeviceAnswer, Part
from registerwatch.lookup.history_service import AsOf, Entry, HistoryPage
from registerwatch.platform.clock import iso_utc
from registerwatch.register.codes import label
from registerwatch.register.models import Device
from registerwatch.web.answers.answers import Answer, doc, instant

At = Annotated[str | msgspec.UnsetType, instant("Only with `at`: the instant that was asked for; of a date its end.")]
Since = Annotated[
    str | msgspec.UnsetType | None,
    instant("Only with `at`: when this service observed it so first; null where it is not known."),
]
Note = Annotated[
    str | msgspec.UnsetType | None,
    doc(
        "Only with `at`: why it is not known what the record was then, null where it is.",
        "This service had not observed it yet. It has observed it since 2026-06-01T03:38:00Z.",
    ),
]
ListedThen = Annotated[
    bool | msgspec.UnsetType | None, doc("Only with `at`: whether the register listed it then, null when unknown.")
]


class HistoryChange(Answer):
    """One field that changed. Both values are as in the answer that has the field, of any type."""

    field: Annotated[
        str,
        doc(
            "Field of the device or the actor. Besides: `listed`, whether the register lists the record; `current`,"
            " whether it is the one of several records that answers for its UDI-DI; `latest_version`;"
            " `devices_registered`, `devices_off_market` and `devices_on_market`, how many devices of the manufacturer"
            " (`new`; `old` is null).",
            "status",
        ),
    ]
    old: Annotated[Any, doc("Value before.", "On the EU market")]
    new: Annotated[Any, doc("Value after.", "No longer placed on the EU market")]

    @classmethod
    def of(cls, change: ValueChange) -> Self:
        """A change with its values."""
        return cls(change.field, change.old, change.new)


class HistoryDevice(Answer):
    """A device of a manufacturer's portfolio."""

    udi: Annotated[str, doc("UDI-DI.", "04012345678901")]
    name: Annotated[str, doc("Trade name, empty when none is registered.", "Ceramill Zolid HT+")]


class HistoryEntry(Answer):
    """What one read of the register changed in one record."""

    id: Annotated[str, doc("Where the entry stands in this history; see `before`.", "1795318680r17")]
    observed_at: Annotated[
        str, instant("When this service observed it, UTC: the instant before the first request of the read.")
    ]
    source: Annotated[str | None, doc("Which source told it; null where that is not known.", "eudamed")]
    uuid: Annotated[str, doc("The record of the device, empty for an actor.", "c7418f9f-3f31-4329-b2c1-956377dbe23b")]
    changes: Annotated[list[HistoryChange], doc("Fields that changed.")]
    first_read: Annotated[
        list[str],
        doc(
            "Fields that were empty before only because nobody had read them. What they have now is no change of the"
            " register. `certs` too while not all were read, where those that were known stayed as they were.",
            [],
        ),
    ]
    devices: Annotated[
        list[HistoryDevice],
        doc("Empty: which devices came onto the market or left it, accounts that watch a manufacturer get as events."),
    ]

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """An entry of a page."""
        change = entry.change
        return cls(
            str(entry.cursor),
            iso_utc(change.observed_at),
            change.source,
            change.record,
            [HistoryChange.of(each) for each in change.changes],
            list(change.first_read),
            [HistoryDevice(udi, name) for udi, name in entry.devices],
        )


class HistoryRecord(Answer):
    """One record of a UDI-DI."""

    uuid: Annotated[str, doc("The register's own id of the record.", "c7418f9f-3f31-4329-b2c1-956377dbe23b")]
    observed_since: Annotated[str, instant("Since when this service knows what it says.")]
    current: Annotated[bool, doc("Whether it is the one that answers for its UDI-DI.")]
    listed: Annotated[bool, doc("Whether the register listed it at the last read.")]


class History(Answer, kw_only=True):
    """What this service observed of a subject. The register itself shows only the present."""

    observed_since: Annotated[
        str,
        instant(
            "Since when this service knows what the subject was: when it stored it first, or when it began to keep"
            " history, if that was later."
        ),
    ]
    complete: Annotated[
        bool, doc("Whether every change since then is kept. Of a subject that changes very often the oldest are not.")
    ]
    entries: Annotated[list[HistoryEntry], doc("Changes, the last one first.")]
    more: Annotated[bool, doc("Whether there are older ones: ask again with the last `id` as `before`.")]
    error: Annotated[
        str | None,
        doc(
            "Why what is stored may be old, null when it is not.",
            "The register no longer lists this record; what is shown was read before.",
        ),
    ]


class DeviceHistory(History, kw_only=True):
    """The history of the records of one UDI-DI."""

    udi: Annotated[str, doc("UDI-DI.", "04012345678901")]
    records: Annotated[list[HistoryRecord], doc("The records that share the UDI-DI.")]
    at: At = msgspec.UNSET
    device: Annotated[
        Device | msgspec.UnsetType | None,
        doc("Only with `at`: the device as of then; null where it is not known, which `note` explains."),
    ] = msgspec.UNSET
    missing: Annotated[
        list[Part] | msgspec.UnsetType,
        doc("Only with `at`: parts of the device that nobody had read by then, and that may be empty for that.", []),
    ] = msgspec.UNSET
    listed: ListedThen = msgspec.UNSET
    unchanged_since: Since = msgspec.UNSET
    note: Note = msgspec.UNSET

    @classmethod
    def of(cls, udi: str, page: HistoryPage, found: DeviceAnswer, past: AsOf | None) -> Self:
        """A page of the history of a device, and its past state."""
        history = page.history
        answer = cls(udi=udi, records=_records(history), **_shared(page, found.problem))
        if past is not None:
            _add_device(answer, past)
        return answer


class ActorThen(Answer):
    """An actor as of an instant."""

    srn: Annotated[str, doc("Single registration number.", "AT-MF-000000252")]
    name: Annotated[str, doc("Registered name.", "Amann Girrbach AG")]
    country: Annotated[str, doc("Country, ISO 3166 code of two letters; may be empty.", "AT")]
    manufacturer_status: Annotated[str, doc("Status in English, may be empty.", "Active")]
    manufacturer_status_code: Annotated[str, doc("The register's code.", "refdata.actor-status.active")]
    device_total: Annotated[int | None, doc("The register's count of its registrations, null when unknown.", 638)]
    complete: Annotated[bool, doc("Whether the actor itself had been read, not only named by a device.")]


class ActorHistory(History, kw_only=True):
    """The history of one actor."""

    srn: Annotated[str, doc("Single registration number.", "AT-MF-000000252")]
    at: At = msgspec.UNSET
    actor: Annotated[
        ActorThen | msgspec.UnsetType | None,
        doc("Only with `at`: the actor as of then; null where it is not known, which `note` explains."),
    ] = msgspec.UNSET
    listed: ListedThen = msgspec.UNSET
    unchanged_since: Since = msgspec.UNSET
    note: Note = msgspec.UNSET

    @classmethod
    def of(cls, found: ActorAnswer, page: HistoryPage, past: AsOf | None) -> Self:
        """A page of the history of an actor, and its past state."""
        answer = cls(srn=found.srn, **_shared(page, found.error))
        if past is not None:
            answer.at, answer.note, answer.unchanged_since = iso_utc(past.instant), past.note, _since(past)
            answer.actor, answer.listed = _actor(past), _was_listed(past)
        return answer


def parts_missing(state: Any) -> list[Part]:
    """The parts of a device, in its version then, that were not read yet."""
    certificates: Iterable[Part] = () if state["has_certificates"] else ("certificates",)
    detail: Iterable[Part] = () if state["has_detail"] and not state["has_old_detail"] else ("dates", "names")
    return [*certificates, *detail]


def was_listed(state: Any) -> bool:
    """Whether the register listed the record in a state."""
    is_listed: bool = state["delisted_at"] is None
    return is_listed


def actor_then(state: Any) -> ActorThen:
    """The actor in a state."""
    code = state["status_code"]
    return ActorThen(
        state["srn"],
        state["name"],
        state["country"],
        label(code),
        code,
        state["device_total"],
        state["complete"],
    )


def _actor(past: AsOf) -> ActorThen | None:
    return None if past.states.current is None else actor_then(past.states.states[past.states.current])


def _add_device(answer: DeviceHistory, past: AsOf) -> None:
    answer.at, answer.note, answer.unchanged_since = iso_utc(past.instant), past.note, _since(past)
    current = past.states.current
    if current is None:
        answer.device, answer.listed, answer.missing = None, None, []
        return
    state = past.states.states[current]
    answer.device, answer.missing = device_of(state), parts_missing(state)
    answer.listed = was_listed(state)


def _was_listed(past: AsOf) -> bool | None:
    return None if past.states.current is None else was_listed(past.states.states[past.states.current])


def _since(past: AsOf) -> str | None:
    current = past.states.current
    return None if current is None else iso_utc(past.states.observed_at[current])


def _shared(page: HistoryPage, error: str | None) -> dict[str, Any]:
    return {
        "observed_since": iso_utc(page.history.observed_since),
        "complete": page.history.is_complete,
        "entries": [HistoryEntry.of(each) for each in page.entries],
        "more": page.more,
        "error": error,
    }


def _records(history: RecordHistory) -> list[HistoryRecord]:
    return [
        HistoryRecord(
            uuid,
            iso_utc(each.first_seen_at),
            each.state["is_current"],
            was_listed(each.state),
        )
        for uuid, each in history.records.items()
    ]
