"""Changes of a certificate while this service watched it, from stored old values. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from registerwatch.copy.certificates.certificate_queries import StoredCertificate
from registerwatch.copy.history.record_history import StoredChange
from registerwatch.register.certificate_kinds import kind_of_certificate
from registerwatch.register.codes import label

FIELDS = {
    "status_code": ("status", "Status"),
    "expiry": ("expiry", "Date of expiry"),
    "revision": ("revision", "Revision"),
    "number": ("number", "Number"),
    "issue_date": ("issue_date", "Date of issue"),
    "valid_from": ("valid_from", "Valid from"),
    "type_code": ("type", "Kind"),
    "notified_body": ("notified_body", "Notified body"),
    "srn": ("srn", "SRN of the manufacturer"),
    "actor_name": ("manufacturer_name", "Name of the manufacturer"),
    "unlisted_at": ("listed", "Listed by the register"),
}
"""Fields that are shown, by their columns: their names in the interface and for people."""
DATES = frozenset({"expiry", "issue_date", "valid_from"})
_IN_WORDS: Mapping[str, Callable[[str], str]] = {"status_code": label, "type_code": kind_of_certificate}
MAX_TEXT_LENGTH = 300


class ChangedField(msgspec.Struct, frozen=True):
    """One field that changed; empty where the register had or has nothing. `title` is for people."""

    field: str
    title: str
    old: str
    new: str

    @property
    def is_date(self) -> bool:
        """Whether both values are dates."""
        return self.field in DATES


class ObservedChange(msgspec.Struct, frozen=True):
    """The changes that one reading of the list found."""

    observed_at: int
    fields: tuple[ChangedField, ...]


def observed_changes(certificate: StoredCertificate, changes: Iterable[StoredChange]) -> list[ObservedChange]:
    """The changes of a certificate, the last one first as they are given: each leads to the values after it."""
    after: Mapping[str, Any] = asdict(certificate)
    found = []
    for change in changes:
        fields = tuple(_field(name, change.old[name], after.get(name)) for name in FIELDS if name in change.old)
        if fields:
            found.append(ObservedChange(change.observed_at, fields))
        after = {**after, **change.old}
    return found


def _field(name: str, old: object, new: object) -> ChangedField:
    field, title = FIELDS[name]
    return ChangedField(field, title, _in_words(name, old), _in_words(name, new))


def _in_words(name: str, value: object) -> str:
    if name == "unlisted_at":
        return "Yes" if value is None else "No"
    return "" if value is None else _IN_WORDS.get(name, str)(str(value))[:MAX_TEXT_LENGTH]
