"""Judges what watches of devices were told of certificates in a year in which scopes of certificates name devices.

Scopes are read apart from devices, so no single read says what has to be told. Of every certificate this is asked: each
told value was true since the one before, watches know nothing else than what they were told, and in the calm end they
know what the register lists.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from registerwatch_standins.register.world import World
from tests.journeys.expected_events import EXPIRY, NUMBER, STATUS, FieldChange, WatchedCertificate
from tests.journeys.register_reads import answering, certificates_of

Watcher = tuple[int, str]
Entry = tuple[str, str, str]
"""Number, expiry and status in words."""
FIELDS = (NUMBER, EXPIRY, STATUS)
FOR_EVER = 10**12
SCOPED = 9
"""Place of what says so in a certificate of a snapshot, where scopes alone name it."""


class WrongCertificates(AssertionError):
    """A watch of a device was told of a certificate what is not so, or not told what is."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What a watch knows. A first search and first scopes are a baseline, which is no news."""

    entries: Counter[Entry]
    counted: Counter[Entry]
    """Those whose coming is told."""
    baseline: tuple[bool, bool, bool]
    """Whether searches, scopes and records had their say."""


class DeviceCertificates:
    """What every watch of a device was told of certificates."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._past: dict[str, list[tuple[int, frozenset[Entry]]]] = {}
        self._known: dict[Watcher, _Known] = {}
        self._since: dict[tuple[Watcher, str, str], int] = {}
        """From when on what was told last of a field of a number has been true."""
        self._listed: dict[str, list[tuple[int, Counter[tuple[str, str]]]]] = {}
        """How many certificates of each number and revision the answering records had. One whose revision becomes known
        may be told as new, where it could be either of two.
        """
        self._baselines: dict[Watcher, int] = {}
        """When watches had no baseline for the last time, and no read of one had begun."""
        self._lists: dict[Watcher, int] = {}
        """When the list of all certificates began to be read that was known then: of scopes no younger one tells."""
        self._judged_at = 0
        self._issuers: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        """Notified body and kind of the certificates of each number."""

    def note(self, udi: str, step: int) -> None:
        """Note what the register lists for a UDI-DI now, by all of its records."""
        entries: set[Entry] = set()
        records = self._world.by_primary_di(udi)
        for each in [each for record in records for each in certificates_of(self._world, record).values()]:
            entries.add(_entry(each))
            self._issuers[each.number].add(each.issuer)
        past = self._past.setdefault(udi, [])
        if not past or past[-1][1] != entries:
            past.append((step, frozenset(entries)))
        listed = certificates_of(self._world, answering(records)) if records else {}
        self._listed.setdefault(udi, []).append((step, Counter(key[:2] for key in listed)))

    def judge(
        self,
        told: Iterable[tuple[Watcher, FieldChange]],
        snapshots: Mapping[Watcher, Any],
        step: int,
        began: Mapping[str, int],
        listed: int,
    ) -> None:
        """Judge the changes of a step, and what watches know after it. `began` tells when the reads of subjects that
        ended in it had begun, `listed` when the list of all certificates was begun that was known before.
        """
        changes: dict[Watcher, list[FieldChange]] = {}
        for watcher, change in told:
            self._judge_truth(watcher, change, snapshots.get(watcher))
            changes.setdefault(watcher, []).append(change)
        for watcher, snapshot in snapshots.items():
            if watcher not in self._known:
                self._baselines[watcher] = min(self._judged_at, began.get(watcher[1], self._judged_at))
                self._lists[watcher] = min(self._baselines[watcher], listed)
            self._judge_known(watcher, _known(snapshot), changes.get(watcher, []))
        self._judged_at = step

    def forget(self, watcher: Watcher) -> None:
        """Nobody watches that any more."""
        self._known.pop(watcher, None)
        self._since = {key: since for key, since in self._since.items() if key[0] != watcher}

    def agree_with_world(self, watchers: Iterable[Watcher]) -> None:
        """Whoever watches a device knows all its certificates as they are."""
        for watcher in watchers:
            records, known = self._world.by_primary_di(watcher[1]), self._known.get(watcher)
            for each in certificates_of(self._world, answering(records)).values() if records and known else ():
                entry = _entry(each)
                alike = [other for other in known.entries if other[0] == entry[0]] if known else []
                if not any(other[2] == entry[2] and entry[1] in ("", other[1]) for other in alike):
                    raise WrongCertificates(f"{watcher} knows {alike}, but the register lists {entry}")

    def _judge_truth(self, watcher: Watcher, change: FieldChange, snapshot: Any) -> None:
        name, old, new, number = change
        baselines = self._lists if number in _of_scopes(snapshot) else self._baselines
        if name == NUMBER and not old and not self._came(watcher[1], number, baselines.get(watcher, 0)):
            raise WrongCertificates(f"{watcher}: {change}, but it was listed at the baseline")
        before, after = self._issuers[old], self._issuers[new]
        if name == NUMBER and old and before.isdisjoint(after):
            raise WrongCertificates(f"{watcher}: {change}, but these are two certificates, by {before} and {after}")
        since, past = self._since.get((watcher, number, name), 0), self._past.get(watcher[1], [])
        place = FIELDS.index(name)
        for (began, entries), (ended, _) in zip(past, [*past[1:], (FOR_EVER, None)], strict=True):
            if ended > since and any(each[0] == number and each[place] == new for each in entries):
                self._since[watcher, number, name] = max(since, began)
                return
        raise WrongCertificates(f"{watcher}: {change} was not so since {since}: {past[-4:]}")

    def _came(self, udi: str, number: str, since: int) -> bool:
        """Whether a certificate of a number came to those of the answering record after a moment."""
        states = pairwise([(0, Counter[tuple[str, str]]()), *self._listed.get(udi, [])])
        come = (name for (_, before), (step, after) in states if step > since for name in after - before)
        return any(name[0] == number for name in come)

    def _judge_known(self, watcher: Watcher, now: _Known | None, changes: Sequence[FieldChange]) -> None:
        before = self._known.get(watcher)
        if now is None:
            self._known.pop(watcher, None)
            return
        self._known[watcher] = now
        if before is None or before.baseline != now.baseline:
            return
        come, numbers = now.counted - before.counted, {change[3] for change in changes}
        if silent := [entry for entry in come if entry[0] not in numbers]:
            raise WrongCertificates(f"{watcher} was not told of {silent}: {changes}")
        if len(changes) == 1 and not come and not now.entries - before.entries:
            raise WrongCertificates(f"{watcher} was told {changes}, which it knew: {before.entries}")
        for name, old, new, number in changes:
            value = {name: new, NUMBER: number}
            is_passing = any(each[:2] == (name, new) and each[3] == number for each in changes)
            if not (is_passing or any(_fits(entry, value) for entry in now.entries)):
                raise WrongCertificates(f"{watcher} was told {name} {old} → {new} of {number}, and knows {now.entries}")


def _of_scopes(snapshot: Any) -> set[str]:
    """The numbers of certificates that scopes alone name."""
    return {entry[0] for entry in (snapshot or {}).get("certs") or () if any(entry[SCOPED : SCOPED + 1])}


def _fits(entry: Entry, value: Mapping[str, str]) -> bool:
    return all(entry[FIELDS.index(name)] == wanted for name, wanted in value.items())


def _entry(certificate: WatchedCertificate) -> Entry:
    return certificate.number, certificate.expiry, certificate.status.words


def _known(snapshot: Any) -> _Known | None:
    if snapshot is None or snapshot.get("certs") is None:
        return None
    has_search, has_scopes, is_partial = (bool(snapshot.get(name)) for name in ("searched", "scoped", "is_partial"))
    named = [(_named(entry), any(entry[SCOPED : SCOPED + 1])) for entry in snapshot["certs"]]
    counted = [each for each, is_scoped in named if (has_scopes if is_scoped else not is_partial)]
    return _Known(Counter(each for each, _ in named), Counter(counted), (has_search, has_scopes, not is_partial))


def _named(entry: Sequence[Any]) -> Entry:
    number, _, expiry, status = (*entry, "", "", "")[:4]
    return number, expiry, status
