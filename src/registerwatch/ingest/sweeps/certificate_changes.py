"""Compares a walk through the list of certificates with the stored ones, and finds changes and news. Pure.

A certificate is identified by its id (the register's ulid). These rules suppress news that nothing proves:

- The first complete walk is the baseline: nothing is news before it. New rows are not news when the list more than
  doubles: then it was incomplete before.
- A version under another key is the same certificate. Rows that are not the latest version change nothing.
- A record that earlier walks listed but could not read is not news when it becomes readable.
- An empty new value is not a change, nor is an expiry that vanished and returns.
- Records that are alike in manufacturer, body, number and revision are twins. A twin identical to another is not news,
  nor is the same change of several twins.
- A new record that replaces one that differs only by a revision missing in one of them is the same certificate.
- A new record under a known number is its next revision where it comes in the stead of the one revision that is known,
  and its end is compared with that of the one before. It is a new certificate beside a revision that is still listed,
  and where several are known.
- A record that is no longer listed is not news, nor is its return. A twin that is missing in a complete walk became the
  new twin; until a complete walk shows what is missing, the new one waits. So does a new record under the number of a
  record that the walk has not shown: both may be the same by now.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from registerwatch.ingest.list_walk import Listed, WalkedList, is_surge
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.certificate_states import words_by_status
from registerwatch.register.certificates import (
    EXPIRY,
    NUMBER,
    REFUSED,
    REVISION,
    STATUS,
    CertificateChange,
    CertificateNews,
    Refusal,
    RegisteredCertificate,
    StoredCertificate,
    WrittenCertificate,
)
from registerwatch.register.codes import label

StatusAndExpiry = tuple[str, str | None]
"""A certificate's status and expiry, which can change under its number and revision."""


@dataclass(slots=True)
class CertificateChanges:
    """The writes of a walk. `shown` are the stored records whose latest version it listed, `seen` those with another
    listed version, `unlisted` those that are no longer listed.
    """

    written: list[WrittenCertificate] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    news: list[CertificateNews] = field(default_factory=list)


@dataclass(slots=True)
class RefusalChanges:
    """Writes of refused applications."""

    written: list[Listed[Refusal]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    news: list[CertificateNews] = field(default_factory=list)


def compare_certificates(
    stored: Mapping[str, StoredCertificate],
    walked: WalkedList[RegisteredCertificate],
    *,
    has_baseline: bool,
    unread: Collection[str] = (),
) -> CertificateChanges:
    """Compare a walk with the stored certificates, given by id.

    `unread` are ids that earlier walks listed and could not read: they are not new now that they can be read.
    """
    return _Comparison(stored, walked, has_baseline=has_baseline, unread=unread).result


def compare_refusals(
    stored: Mapping[str, tuple[Refusal, bool]],
    walked: WalkedList[Refusal],
    *,
    has_baseline: bool,
    unread: Collection[str] = (),
) -> RefusalChanges:
    """Compare a walk with the stored refused applications, given by id, each with whether it is listed.

    A new record of a known application is not news. `unread` is as for certificates.
    """
    rows = {each.row.id: each for each in reversed(walked.rows)}
    known = {refusal.identity for refusal, _ in stored.values()}
    changes = RefusalChanges()
    has_baseline = has_baseline and not is_surge(len(rows.keys() - stored.keys()), stored=len(stored))
    for number, listed in sorted(rows.items()):
        row = listed.row
        if number in stored:
            changes.seen.append(number)
        if stored.get(number) != (row, True):
            changes.written.append(listed)
        if has_baseline and row.srn and number not in stored and number not in unread and row.identity not in known:
            change = CertificateChange(REFUSED, "", row.reference)
            changes.news.append(CertificateNews(row.srn, number, (change,), listed.visible_at))
        known.add(row.identity)
    if walked.proves_absence:
        changes.unlisted = [number for number, (_, is_listed) in stored.items() if is_listed and number not in rows]
    return changes


class _Comparison:
    """Compares one walk with the stored records."""

    def __init__(
        self,
        stored: Mapping[str, StoredCertificate],
        walked: WalkedList[RegisteredCertificate],
        *,
        has_baseline: bool,
        unread: Collection[str],
    ) -> None:
        self._stored, self._walked, self._unread = stored, walked, unread
        self._rows = _latest_versions(walked.rows)
        new = sum(number not in stored for number in self._rows)
        self._has_baseline = has_baseline and not is_surge(new, stored=len(stored))
        self._noted: set[tuple[tuple[str, str, str, str], CertificateChange]] = set()
        self._taken: set[str] = set()
        """Ids of records that are no longer listed and became other ones."""
        self.result = CertificateChanges()
        for number, listed in self._rows.items():
            if number in stored:
                self._add_known(stored[number], listed)
        self._present = {
            **{number: each.certificate for number, each in stored.items()},
            **{each.certificate.id: each.certificate for each in self.result.written},
        }
        come = sorted((each for number, each in self._rows.items() if number not in stored), key=_order)
        self._by_number = _by_number(self._present.values(), (each.row for each in come))
        for listed in come:
            self._add_new(listed)
        if walked.proves_absence:
            self.result.unlisted = [
                number for number, each in stored.items() if each.is_listed and number not in self._rows
            ]

    def _add_known(self, before: StoredCertificate, listed: Listed[RegisteredCertificate]) -> None:
        old = before.certificate
        (self.result.shown if listed.row.is_latest else self.result.seen).append(old.id)
        after = _filled(old, listed.row) if listed.row.is_latest else _no_longer_latest(old, listed.row)
        if after == old and before.is_listed:
            return
        last = after.expiry or before.last_expiry
        self.result.written.append(WrittenCertificate(after, last, listed.visible_at, before))
        self._note(after, _changes(old, after, before.last_expiry), listed.visible_at)

    def _add_new(self, listed: Listed[RegisteredCertificate]) -> None:
        row = listed.row
        if not row.is_latest and not self._walked.is_complete:
            return  # its latest version may be on a page that was not seen
        changes: list[CertificateChange] = []
        if self._has_baseline and row.is_latest and row.id not in self._unread:
            found = self._changes_of_new(row)
            if found is None:
                return
            changes = found
        self._present[row.id] = row
        self.result.written.append(WrittenCertificate(row, row.expiry, listed.visible_at))
        self._note(row, changes, listed.visible_at)

    def _changes_of_new(self, row: RegisteredCertificate) -> list[CertificateChange] | None:
        """The news of a record that was not stored; None where only a complete walk can show it."""
        others = [each for each in self._by_number[row.own_number] if each.id in self._present]
        twins = [self._present[each.id] for each in others if self._present[each.id].revision == row.revision]
        twins = twins or self._of_unknown_revision(row)
        if any(_status_and_expiry(twin) == _status_and_expiry(row) for twin in twins):
            return []
        missing = [each for each in twins if each.id not in self._rows and each.id not in self._taken]
        if not self._walked.is_complete and (missing or any(self._may_have_changed(each.id) for each in others)):
            return None
        if not twins:
            return self._revised(row)
        listed = [each for each in missing if self._stored[each.id].is_listed]
        before = listed or (missing if len(missing) == len(twins) else [])
        if not before:
            return [_new(row)]
        self._taken.add(before[-1].id)
        return _changes(before[-1], row, self._stored[before[-1].id].last_expiry)

    def _of_unknown_revision(self, row: RegisteredCertificate) -> list[RegisteredCertificate]:
        """The missing record that reappeared under a new id, where only one of the two has a revision."""
        others = self._by_number[row.own_number]
        missing = [self._present[each.id] for each in others if each.id in self._stored and each.id not in self._rows]
        come = [each for each in others if each.id not in self._stored]
        same = same_certificates(come, missing)[come.index(row)]
        return [] if any(each.id in self._taken for each in same) else same

    def _may_have_changed(self, number: str) -> bool:
        """Whether a record was listed before, and this walk has not shown it."""
        return number not in self._rows and number in self._stored and self._stored[number].is_listed

    def _revised(self, row: RegisteredCertificate) -> list[CertificateChange]:
        """The next revision of a certificate and its end where it replaces the one other revision that is known; else a
        new certificate.
        """
        others = [each for each in self._by_number[row.own_number] if each.revision != row.revision]
        come = {each.revision for each in others if each.id not in self._stored}
        known = [self._present[each.id] for each in others if each.id in self._stored]
        is_beside = any(each.is_latest and each.id in self._rows for each in known)
        before = [each for each in known if each.is_latest and self._is_listed(each.id)] or known
        revisions = {each.revision for each in before}
        if not row.revision or come or is_beside or len(revisions) != 1:
            return [_new(row)]
        statuses = {each.status_code for each in before}
        standing = None if statuses == {row.status_code} else words_by_status(row.status_code) or None
        revised = CertificateChange(REVISION, revisions.pop(), row.revision, row.number, standing=standing)
        return [revised, *self._end_of_revision(row, before)]

    def _end_of_revision(
        self, row: RegisteredCertificate, before: Collection[RegisteredCertificate]
    ) -> list[CertificateChange]:
        """The change of the end where the records of the revision before have the same end, which is another one."""
        ends = {each.expiry or self._stored[each.id].last_expiry or "" for each in before}
        if not row.expiry or len(ends) != 1 or row.expiry in ends:
            return []
        return [CertificateChange(EXPIRY, ends.pop(), row.expiry, row.number, row.revision)]

    def _is_listed(self, number: str) -> bool:
        return number in self._rows or self._stored[number].is_listed

    def _note(self, row: RegisteredCertificate, changes: Iterable[CertificateChange], visible_at: int) -> None:
        """Note the news of a record, except what a twin has brought in this walk."""
        new = tuple(change for change in changes if (row.identity, change) not in self._noted)
        self._noted.update((row.identity, change) for change in new)
        if new and self._has_baseline and row.srn:
            self.result.news.append(CertificateNews(row.srn, row.id, new, visible_at))


def _latest_versions(
    rows: Iterable[Listed[RegisteredCertificate]],
) -> dict[str, Listed[RegisteredCertificate]]:
    """Each certificate's row of its latest version; the last one if it changed meanwhile."""
    latest: dict[str, Listed[RegisteredCertificate]] = {}
    for each in rows:
        other = latest.get(each.row.id)
        if other is None or (_rank(each.row) >= _rank(other.row) and each.row != other.row):
            latest[each.row.id] = each
    return latest


def _rank(row: RegisteredCertificate) -> tuple[bool, int]:
    return row.is_latest, row.version or 0


def _order(listed: Listed[RegisteredCertificate]) -> tuple[str, ...]:
    return *listed.row.identity, listed.row.id


def _status_and_expiry(row: RegisteredCertificate) -> StatusAndExpiry:
    return label(row.status_code), row.expiry


def _by_number(*groups: Iterable[RegisteredCertificate]) -> dict[tuple[str, str, str], list[RegisteredCertificate]]:
    found: dict[tuple[str, str, str], list[RegisteredCertificate]] = {}
    for group in groups:
        for each in group:
            found.setdefault(each.own_number, []).append(each)
    return found


def _filled(before: RegisteredCertificate, row: RegisteredCertificate) -> RegisteredCertificate:
    """A row, with stored values where it has none, except dates: a certificate may lose its expiry."""
    return replace(
        row,
        srn=row.srn or before.srn,
        actor_name=row.actor_name or before.actor_name,
        notified_body=row.notified_body or before.notified_body,
        revision=row.revision or before.revision,
        type_code=row.type_code or before.type_code,
        status_code=row.status_code or before.status_code,
    )


def _no_longer_latest(before: RegisteredCertificate, row: RegisteredCertificate) -> RegisteredCertificate:
    """A stored certificate whose row is not the latest version: an older version says nothing about it."""
    is_older = (row.version or 0) < (before.version or 0)
    return before if is_older else replace(before, is_latest=False)


def _new(row: RegisteredCertificate) -> CertificateChange:
    standing = words_by_status(row.status_code) or None
    return CertificateChange(NUMBER, "", row.number, row.number, row.revision or None, standing)


def _changes(
    before: RegisteredCertificate, after: RegisteredCertificate, last_expiry: str | None
) -> list[CertificateChange]:
    """The changes of one certificate. It is new for a manufacturer that another one passed it to."""
    if after.srn != before.srn:
        return [_new(after)]
    values = [
        (NUMBER, before.number, after.number),
        (REVISION, before.revision, after.revision),
        (STATUS, label(before.status_code), label(after.status_code)),
        (EXPIRY, before.expiry or last_expiry or "", after.expiry or ""),
    ]
    return [
        CertificateChange(name, old, new, after.number, None if name == REVISION else after.revision or None)
        for name, old, new in values
        if new and new != old
    ]
