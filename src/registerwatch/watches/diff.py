"""What changed between what was seen last and what is seen now. Pure: no time, no database.

The rules keep the feed quiet. A new value that is empty is no change, and the old one stays in the snapshot, so that a
field that vanishes and returns makes no noise. Certificates that were not read are left alone. A certificate that is
gone is no change; one gone and one come in the same read is a change of number.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated

import msgspec
from msgspec import Meta

from registerwatch.watches.snapshot import CODED, COMPARED, FILLED_SINCE, SeenCertificate, Snapshot

NUMBER, EXPIRY, STATUS = "certificate", "cert_expiry", "cert_status"
"""How changes of certificates are called."""


class FieldChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field that changed."""

    field: Annotated[str, Meta(description="Name of the field.", examples=["status"])]
    old: Annotated[str, Meta(description="Value before, empty when there was none.", examples=["On the EU market"])]
    new: Annotated[str, Meta(description="Value now, never empty.", examples=["No longer placed on the EU market"])]
    certificate: Annotated[
        str | None, Meta(description="Number of the certificate whose field it is.", examples=["Z-25-052"])
    ] = None


def compare(seen: Snapshot, now: Snapshot) -> tuple[list[FieldChange], Snapshot]:
    """The changes from `seen` to `now`, and the snapshot to keep."""
    changes = [
        FieldChange(name, getattr(seen, name), getattr(now, name)) for name in COMPARED if _differs(name, seen, now)
    ]
    kept = {name: value for name in _PLAIN if (value := getattr(now, name))}
    if now.certs is None:
        return changes, msgspec.structs.replace(seen, **kept)
    certificate_changes, certs = _compare_certificates(seen, now)
    searched = seen.searched or now.searched
    return changes + certificate_changes, msgspec.structs.replace(seen, **kept, certs=certs, searched=searched)


def summary_of(changes: Sequence[FieldChange]) -> str:
    """`status: On the EU market → No longer placed on the EU market`; semicolons between several changes."""
    return "; ".join(f"{change.field}: {change.old} → {change.new}" for change in changes)


_Certificates = list[SeenCertificate]
_KEY = attrgetter("key")
_PLAIN = tuple(name for name in Snapshot.__struct_fields__ if name not in ("certs", "searched"))


def _differs(name: str, seen: Snapshot, now: Snapshot) -> bool:
    """Whether a field has a new value. The same code in other words is the same value; so is the first value of a
    field that was not compared before.
    """
    if COMPARED[name] > seen.field_set:
        return False
    before, after = getattr(seen, name), getattr(now, name)
    if not before and FILLED_SINCE.get(name, 0) > seen.field_set:
        return False
    if not after or after == before:
        return False
    code = CODED.get(name)
    return code is None or not getattr(now, code) or getattr(now, code) != getattr(seen, code)


def _compare_certificates(seen: Snapshot, now: Snapshot) -> tuple[list[FieldChange], tuple[SeenCertificate, ...]]:
    """Changes of certificates, and those to keep: present ones, and ones that are gone, in case they come back.

    Where only one of the two reads could search, what is missing or new proves nothing.
    """
    if seen.certs is None:
        return [], tuple(sorted(now.certs or (), key=_KEY))
    pairs, going, gone, come = _paired(seen, now.certs or ())
    is_comparable = seen.searched or not now.searched  # else what came may have been there all the time
    replaced = [(going.pop(), come.pop())] if is_comparable and len(going) == len(come) == 1 else []
    changes = [change for before, after in pairs + replaced for change in _changes_of(before, after)]
    if is_comparable:
        changes += [FieldChange(NUMBER, "", each.number, each.number) for each in come]
    if now.searched or not seen.searched:
        going = [msgspec.structs.replace(each, is_gone=True) for each in going]
    present = [*(_filled(before, after) for before, after in pairs), *(after for _, after in replaced)]
    return changes, tuple(sorted((*present, *come, *going, *gone), key=_KEY))


def _paired(
    seen: Snapshot, now: Sequence[SeenCertificate]
) -> tuple[list[tuple[SeenCertificate, SeenCertificate]], _Certificates, _Certificates, _Certificates]:
    """Certificates before and after, by number and revision, else by number where one of each is left; those that go;
    those that went before; those that come.

    Where the register listed none any more, what went before counts as going now: its list may have been incomplete.
    """
    after = {each.key: each for each in now}
    pairs = [(each, after.pop(each.key)) for each in seen.certs or () if each.key in after]
    matched = {before.key for before, _ in pairs}
    missing, come = [each for each in seen.certs or () if each.key not in matched], list(after.values())
    going = [each for each in missing if each in seen.shown_certs]
    gone = [each for each in missing if each not in going]
    for before in list(going):
        revised = [each for each in come if each.number == before.number]
        if len(revised) == 1 and sum(each.number == before.number for each in going) == 1:
            pairs.append((before, revised[0]))
            going.remove(before)
            come.remove(revised[0])
    return pairs, going, gone, come


def _changes_of(before: SeenCertificate, after: SeenCertificate) -> Iterator[FieldChange]:
    if after.number != before.number:
        yield FieldChange(NUMBER, before.number, after.number, after.number)
    if after.expiry and after.expiry != before.expiry:
        yield FieldChange(EXPIRY, before.expiry, after.expiry, after.number)
    same_code = after.status_code and after.status_code == before.status_code
    if after.status and after.status != before.status and not same_code:
        yield FieldChange(STATUS, before.status, after.status, after.number)


def _filled(before: SeenCertificate, after: SeenCertificate) -> SeenCertificate:
    """The certificate as it is now, with what it had before where it has nothing now."""
    return SeenCertificate(
        after.number,
        after.revision,
        after.expiry or before.expiry,
        after.status or before.status,
        after.status_code or before.status_code,
    )
