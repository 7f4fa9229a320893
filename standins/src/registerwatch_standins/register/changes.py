"""What changed between two states of a registration, as entries of the journal."""

from collections.abc import Callable, Sequence

import msgspec

from registerwatch_standins.register.journal import Change
from registerwatch_standins.register.records import Certificate, Registration

Pair = tuple[Certificate | None, Certificate | None]
_NOT_JOURNALED = frozenset({"version_date", "last_updated", "certificates"})
_CERTIFICATE_FIELDS = tuple(field for field in Certificate.__struct_fields__ if field != "listed_in")


def changes_between(before: Registration, after: Registration) -> list[Change]:
    """A change for every field that differs, but for the two timestamps that move with each change."""
    changes = [
        _change(after, field, getattr(before, field), getattr(after, field))
        for field in Registration.__struct_fields__
        if field not in _NOT_JOURNALED and getattr(before, field) != getattr(after, field)
    ]
    for old, new in certificate_pairs(before.certificates, after.certificates):
        changes.extend(_certificate_changes(after, old, new))
    return changes


def certificate_pairs(before: Sequence[Certificate], after: Sequence[Certificate]) -> list[Pair]:
    """Old and new certificate of all that differ.

    Matched by number and revision, then by number, then in order.
    """
    gone = [old for old in before if old not in after]
    come = [new for new in after if new not in before]
    pairs: list[Pair] = []
    for same in (_same_revision, _same_number):
        pairs.extend(_take_pairs(gone, come, same))
    while gone and come:
        pairs.append((gone.pop(0), come.pop(0)))
    return [*pairs, *((old, None) for old in gone), *((None, new) for new in come)]


def _take_pairs(
    gone: list[Certificate], come: list[Certificate], same: Callable[[Certificate, Certificate], bool]
) -> list[Pair]:
    """Take matching pairs out of the two lists."""
    pairs: list[Pair] = []
    for old in list(gone):
        new = next((each for each in come if same(old, each)), None)
        if new is not None:
            gone.remove(old)
            come.remove(new)
            pairs.append((old, new))
    return pairs


def _same_revision(old: Certificate, new: Certificate) -> bool:
    return (old.number, old.revision) == (new.number, new.revision)


def _same_number(old: Certificate, new: Certificate) -> bool:
    return old.number == new.number


def _certificate_changes(record: Registration, old: Certificate | None, new: Certificate | None) -> list[Change]:
    """One change of `number` for a certificate that came or went, else one for each field that differs."""
    known = new or old
    number = known.number if known else None
    if old is None or new is None:
        return [_change(record, "number", old.number if old else None, new.number if new else None, number)]
    return [
        _change(record, field, getattr(old, field), getattr(new, field), number)
        for field in _CERTIFICATE_FIELDS
        if getattr(old, field) != getattr(new, field)
    ]


def _change(record: Registration, field: str, old: object, new: object, certificate: str | None = None) -> Change:
    return Change(
        time=record.last_updated,
        uuid=record.uuid,
        primary_di=record.primary_di,
        srn=record.manufacturer.srn,
        field=field,
        old=msgspec.to_builtins(old),
        new=msgspec.to_builtins(new),
        certificate=certificate,
    )
