"""Compares the last snapshot of a subject with the present one. Pure: no time, no database.

The rules keep the feed quiet. An empty new value is not a change, and the snapshot keeps the old one as a former value,
so a field that vanishes and returns makes no event. A certificate whose end date vanished counts as one without an end.
One whose status vanished stands by its dates, and a status that ends or limits it is a change when it returns.
Certificates that were not read stay as they are. A certificate that is gone is not a change. One gone and one new in
the same read are a change of number, unless their notified bodies or their kinds differ: then they are two
certificates, one new and one gone.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import is_worse_status, words_by_status
from registerwatch.watches.certificate_matching import Pair, matched, may_be_renumbered
from registerwatch.watches.snapshot import (
    CODED,
    COMPARED,
    SeenCertificate,
    Snapshot,
    in_order,
    shown_certificates,
)

NUMBER, EXPIRY, STATUS = "certificate", "cert_expiry", "cert_status"
"""Field names of changes of certificates."""


class FieldChange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One field that changed."""

    field: Annotated[str, Meta(description="Name of the field.", examples=["status"])]
    old: Annotated[str, Meta(description="Value before, empty when there was none.", examples=["On the EU market"])]
    new: Annotated[str, Meta(description="Value now, never empty.", examples=["No longer placed on the EU market"])]
    certificate: Annotated[
        str | None, Meta(description="Number of the certificate whose field it is.", examples=["Z-25-052"])
    ] = None
    device: Annotated[
        str | None,
        Meta(description="UDI-DI of the manufacturer's device that it is about.", examples=["04012345678901"]),
    ] = None
    revision: Annotated[
        str | None, Meta(description="Revision of the certificate, where the register gives one.", examples=["01"])
    ] = None
    standing: Annotated[
        str | None,
        Meta(
            description="How a certificate stood, in the words of the pages: one that is new, where its status did not"
            " leave it plainly valid (withdrawn, restricted and others); one whose end is near, where its end date was"
            " not all that was to be said (suspended, restricted and others).",
            examples=["Suspended"],
        ),
    ] = None


def compare(seen: Snapshot, now: Snapshot) -> tuple[list[FieldChange], Snapshot]:
    """The changes from `seen` to `now`, and the snapshot to keep."""
    former: dict[str, Any] = dict(seen.former)
    before = replace(seen, **former)
    changes = [
        FieldChange(name, getattr(before, name), getattr(now, name)) for name in COMPARED if _differs(name, before, now)
    ]
    kept = _kept(seen, now)
    were_read = seen.certs is not None and not seen.is_partial
    if now.certs is None or (now.is_partial and were_read):
        return changes, replace(seen, **kept)
    certificate_changes, kept["certs"] = _compare_certificates(seen, now)
    kept |= {"searched": seen.searched or now.searched, "scoped": seen.scoped or now.scoped}
    is_partial = now.is_partial or (not were_read and not now.field_set)
    return changes + certificate_changes, replace(seen, **kept, is_partial=is_partial)


def summary_of(changes: Sequence[FieldChange]) -> str:
    """`status: On the EU market → No longer placed on the EU market`; semicolons between several changes."""
    return "; ".join(f"{change.field}: {change.old} → {change.new}" for change in changes)


_BESIDE = ("certs", "searched", "scoped", "is_partial", "former")
_PLAIN = tuple(name for name in Snapshot.__struct_fields__ if name not in _BESIDE)
_COUNTED = "device_total"
"""The field that is empty only where the register was not asked for it."""


def _kept(seen: Snapshot, now: Snapshot) -> dict[str, Any]:
    """The fields beside certificates to keep. A read of a part of the record empties none."""
    kept = {name: value for name in _PLAIN if (value := getattr(now, name)) or (now.field_set and name != _COUNTED)}
    kept["is_status_undated"] = now.is_status_undated
    known = {name: getattr(seen, name) for name in (*COMPARED, *CODED.values()) if name in kept} | dict(seen.former)
    kept["former"] = tuple((name, value) for name, value in known.items() if value and not getattr(now, name))
    return kept


def _differs(name: str, seen: Snapshot, now: Snapshot) -> bool:
    """Whether a field has a new value. The same code in other words is the same value. The first value of a field that
    was not compared before is not new.
    """
    before, after = getattr(seen, name), getattr(now, name)
    if not after or after == before or (not before and COMPARED[name] > seen.field_set):
        return False
    code = CODED.get(name)
    return code is None or not getattr(now, code) or getattr(now, code) != getattr(seen, code)


def _compare_certificates(seen: Snapshot, now: Snapshot) -> tuple[list[FieldChange], tuple[SeenCertificate, ...]]:
    """Changes of certificates, and those to keep: present ones, and ones that are gone, in case they come back.

    A certificate of the search is neither new nor gone where only one of the two reads could search. Certificates of
    the record itself are read every time. A certificate of its scope alone is new where a baseline had scopes; before
    that it is kept and its values are compared, but it does not count: a search that finds it reports it.
    """
    if seen.certs is None:
        return [], tuple(in_order(now.certs or ()))
    known, uncounted = _counted(seen.certs, has_scopes=seen.scoped)
    counted, others = _counted(now.certs or (), has_scopes=seen.scoped or now.scoped)
    shown = shown_certificates(known)
    found = matched(shown, [each for each in known if each not in shown], counted, _is_unchanged)
    staying = [] if now.searched else [each for each in found.going if _may_be_listed(each)]
    going = [each for each in found.going if each not in staying]
    new = [each for each in found.come if _is_new(each, seen, now)]
    baseline = matched(uncounted, (), [*(each for each in found.come if each not in new), *others], _is_unchanged)
    replaced: list[Pair] = []
    if len(found.come) == 1 and _is_renumbered(going, new, now):
        replaced, going, new = [(going[0], new[0])], [], []
    pairs = found.pairs + baseline.pairs
    changes = [change for before, after in pairs + replaced for change in _changes_of(before, after)]
    changes += [_new_certificate(each) for each in new]
    going = [replace(each, is_gone=True, other_as_of=0) for each in going]
    present = [_filled(before, after) for before, after in pairs] + baseline.come + new + [each for _, each in replaced]
    return changes, tuple(in_order([*present, *staying, *going, *found.gone]))


def _counted(
    certificates: Sequence[SeenCertificate], *, has_scopes: bool
) -> tuple[Sequence[SeenCertificate], Sequence[SeenCertificate]]:
    """Certificates that count, and those that scopes alone name before all scopes were known."""
    if has_scopes:
        return list(certificates), []
    return [each for each in certificates if not each.is_scoped], [each for each in certificates if each.is_scoped]


def _is_renumbered(going: Sequence[SeenCertificate], new: Sequence[SeenCertificate], now: Snapshot) -> bool:
    """Whether the only certificate that is gone is the only new one under another number."""
    if len(going) != 1 or len(new) != 1 or not may_be_renumbered(going[0], new[0]):
        return False
    return now.searched or not going[0].is_unconfirmed


def _is_new(certificate: SeenCertificate, seen: Snapshot, now: Snapshot) -> bool:
    """Whether an added certificate is new: its location was read before. One of another record of the UDI-DI is not."""
    if certificate.other_as_of:
        return False
    if certificate.is_scoped:
        return seen.scoped
    return not seen.is_partial and (seen.searched or not now.searched or certificate.listed_in == "record")


def _may_be_listed(certificate: SeenCertificate) -> bool:
    """Whether a certificate that a read without a search does not name may still be listed by the search."""
    return certificate.listed_in == "search" and not certificate.is_scoped and not certificate.other_as_of


def _is_unchanged(before: SeenCertificate, after: SeenCertificate) -> bool:
    return next(_changes_of(before, after), None) is None


def _changes_of(before: SeenCertificate, after: SeenCertificate) -> Iterator[FieldChange]:
    """What differs. Where the record that answers for the UDI-DI drops a certificate that another one names, that other
    one was read before, and maybe long ago: what it has better is no news.
    """
    is_older = bool(after.other_as_of and not before.other_as_of)
    if after.number != before.number:
        yield _change_of(after, NUMBER, before.number, after.number)
    old = _compared_status(before, after) if after.status else None
    if old is not None and (not is_older or is_worse_status(after.status_code, before.status_code)):
        yield _change_of(after, STATUS, old, after.status)
    is_later = bool(before.expiry) and after.expiry > before.expiry
    if after.expiry and after.expiry != before.expiry and not (is_older and is_later):
        yield _change_of(after, EXPIRY, before.expiry, after.expiry)


def _compared_status(before: SeenCertificate, after: SeenCertificate) -> str | None:
    """The status that the present one differs from; None where it is the same. One that a certificate had lost is the
    same again only where it leaves the certificate plainly valid, as it stood meanwhile.
    """
    old, old_code = _last_status(before)
    is_same = after.status == old or bool(after.status_code and after.status_code == old_code)
    if is_same and not before.status and words_by_status(after.status_code):
        return ""
    return None if is_same else old


def _last_status(certificate: SeenCertificate) -> tuple[str, str]:
    """The last status that the register gave, in words and as a code."""
    if certificate.status:
        return certificate.status, certificate.status_code
    return certificate.former_status, certificate.former_status_code


def _change_of(certificate: SeenCertificate, name: str, old: str, new: str) -> FieldChange:
    return FieldChange(name, old, new, certificate.number, revision=certificate.revision or None)


def _new_certificate(certificate: SeenCertificate) -> FieldChange:
    change = _change_of(certificate, NUMBER, "", certificate.number)
    return replace(change, standing=words_by_status(certificate.status_code) or None)


def _filled(before: SeenCertificate, after: SeenCertificate) -> SeenCertificate:
    """The certificate as it is now, with the last values of what the register gives no more."""
    former_status, former_status_code = ("", "") if after.status else _last_status(before)
    return replace(
        after,
        expiry=after.expiry or before.expiry,
        is_undated=not after.expiry and bool(before.expiry),
        former_status=former_status,
        former_status_code=former_status_code,
        former_revision="" if after.revision else before.revision or before.former_revision,
    )
