"""Compares what every watcher was told in a simulated year with what they had to be told.

A full read is judged exactly: its answers and what was told before give the one event that must be there, or none. A
part of a device (a row of a walk, a row under an actor) may be told at once or with the next full read, so of it only
this is asked: that it follows what was told before, and that it was true since then.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select

from registerwatch.platform.db.engine import Database
from registerwatch.watches.tables import events, watches
from registerwatch_standins.register.world import World
from tests.journeys.device_certificates import DeviceCertificates
from tests.journeys.expected_events import (
    EXPIRY,
    NUMBER,
    STATUS,
    CertificateKey,
    CertificateName,
    Certificates,
    FieldChange,
    Seen,
    Told,
    Value,
    WatchedCertificate,
    expected,
    kept,
    plain,
)
from tests.journeys.register_reads import (
    Memory,
    Read,
    RegisterReads,
    actor_fields,
    all_fields,
    answering,
    certificates_of,
    is_srn,
    row_fields,
    seen_of,
)

Watcher = tuple[int, str]
"""Account and subject."""

Snapshot = dict[str, Any] | None
Snapshots = dict[Watcher, Snapshot]

FORMER_WORDS = {"On the EU market": "Placed on the EU market"}
"""How an earlier release is said to have written a status: the same code in other words."""
ENDS = "cert_ends"
DOUBT_SECONDS = 86_400
BODY, KIND = 6, 12
"""Places of notified body and kind in a certificate of a snapshot."""
_CERTIFICATE_FIELDS = frozenset({NUMBER, EXPIRY, STATUS})
_DEVICE_FIELDS = ("status", "status_date", "trade_name", "risk_class", "reference", "manufacturer_status", "version")
_FIELDS = (*_DEVICE_FIELDS, "name", "device_total")


class WrongYear(AssertionError):
    """Something was told that is not so, or not told that is."""


@dataclass(slots=True)
class Outcome:
    """What happened in a year."""

    reads: int = 0
    found: int = 0
    partial: int = 0
    late: int = 0
    unread: int = 0
    """Watches that a sync did not ask for, since the request budget was used up."""
    events: int = 0
    changes: int = 0
    world_changes: int = 0
    requests: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    steps: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Changes that were made in the register, by their kind."""
    news: Counter[str] = field(default_factory=Counter)
    """Changes that sweeps and ends of certificates told, by their field."""
    histories: int = 0
    """States of records that history told as they were stored."""
    turns: Counter[str] = field(default_factory=Counter)
    """Turns of the device sweep and sweeps of certificates, by how they ended."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it is stored. A change of a manufacturer's device names that in the place of a certificate."""

    id: int
    watcher: Watcher
    changes: Sequence[FieldChange]


def is_news(event: Stored) -> bool:
    """Whether an event tells what sweeps found of a manufacturer, or the end of a certificate."""
    fields = {change[0] for change in event.changes}
    if is_srn(event.watcher[1]):
        return fields.isdisjoint(_FIELDS)
    return fields == {ENDS}


async def _nothing_to_tell(news: Sequence[Stored]) -> None:
    if news:
        raise WrongYear(f"told for nothing: {news}")


@dataclass
class EventChecks:
    """Everything that was told, and the register's own past."""

    world: World
    database: Database
    requests: RegisterReads
    told: dict[Watcher, Told | None] = field(default_factory=dict)
    """None before the baseline."""
    active: set[int] = field(default_factory=set)
    awaiting: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Events that no sync has listed, by account."""
    parts: dict[str, Any] = field(default_factory=dict)
    """UDI-DIs of which a part was told in this step."""
    _of_actors: set[str] = field(default_factory=set)
    """UDI-DIs of which an actor's read of this step told a part."""
    _shown: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """The codes that rows and reads of this step showed, by UDI-DI and field."""
    outcome: Outcome = field(default_factory=Outcome)
    _memory: Memory = field(default_factory=Memory)
    _past: dict[str, list[tuple[int, dict[str, Value]]]] = field(default_factory=dict)
    _since: dict[tuple[Watcher, str], int] = field(default_factory=dict)
    """From when on what was told last of a field has been true."""
    _stored_at: dict[str, int] = field(default_factory=dict)
    """When full reads were stored, by subject."""
    _part_at: dict[str, int] = field(default_factory=dict)
    """When parts were stored, by subject."""
    _totals: dict[str, tuple[int, float, float | None]] = field(default_factory=dict)
    """How many devices actors are known to have, when they were read, and since when lists that have none are doubted.
    """
    _certificates: dict[str, list[tuple[CertificateKey, WatchedCertificate]]] = field(default_factory=dict)
    """Every certificate that a read brought, by UDI-DI."""
    _part_told_at: dict[Watcher, int] = field(default_factory=dict)
    _last_event: int = 0
    certificates: DeviceCertificates | None = None
    """Judges certificates of devices apart from what a read saw, where scopes tell of them too."""
    judge_news: Callable[[Sequence[Stored]], Awaitable[None]] = _nothing_to_tell
    """Judges events that tell news, which no read brings."""
    list_began: Callable[[], int] = lambda: 0
    """When the last complete list of certificates began to be read, in steps."""

    def note_world(self, udis: Iterable[str]) -> None:
        """Note what the register says now of these UDI-DIs."""
        self.requests.steps += 1
        for udi in udis:
            records = self.world.by_primary_di(udi)
            if records:
                self._past.setdefault(udi, []).append((self.requests.steps, all_fields(answering(records))))
            if self.certificates is not None:
                self.certificates.note(udi, self.requests.steps)

    def forget(self, watcher: Watcher) -> None:
        """Nobody watches that any more."""
        del self.told[watcher]
        self._since = {key: since for key, since in self._since.items() if key[0] != watcher}
        if self.certificates is not None:
            self.certificates.forget(watcher)

    async def settle(
        self,
        *,
        is_recheck: bool = False,
        sync_of: int | None = None,
        listed: Sequence[int] = (),
        is_short: bool = False,
    ) -> None:
        """Judge one step: the reads that ended in it and the events that it made.

        `is_short`: reads of the sync went on after it, so the next one lists what they told.
        """
        new = await self._new_events()
        queues: dict[Watcher, list[Stored]] = defaultdict(list)
        news = [event for event in new if is_news(event)]
        for event in await self._without_certificates([event for event in new if event not in news]):
            queues[event.watcher].append(event)
        await self.judge_news(news)
        reads, self.requests.finished = self.requests.finished, []
        self._note_shown(reads)
        self._note_listed(reads)
        self._note_rows(reads)
        mixed = any(self._part_came_after(read) or read.subject in self.parts or read.of("detail") for read in reads)
        snapshots = await self._snapshots() if mixed else {}
        for read in reads:
            self._judge(read, queues, snapshots)
        await self._judge_parts(queues)
        if left := [event for queue in queues.values() for event in queue]:
            raise WrongYear(f"told for nothing: {left}")
        self._judge_lists(new, is_recheck=is_recheck, sync_of=sync_of, listed=listed, is_short=is_short)
        await self._adopt_partial()
        self._part_at.update(dict.fromkeys(self.parts, self.requests.steps))
        self.parts, self._of_actors = {}, set()
        self._shown.clear()

    async def _without_certificates(self, told: Sequence[Stored]) -> Sequence[Stored]:
        """The events of a step, without changes of certificates where those are judged apart."""
        if self.certificates is None:
            return told
        devices = [event for event in told if not is_srn(event.watcher[1])]
        changes = [(event.watcher, each) for event in devices for each in event.changes]
        snapshots = {
            each: snapshot for each, snapshot in (await self._stored_snapshots()).items() if not is_srn(each[1])
        }
        of_certificates = [each for each in changes if each[1][0] in _CERTIFICATE_FIELDS]
        began: dict[str, int] = {}
        for read in self.requests.finished:
            began[read.subject] = min(read.began, began.get(read.subject, read.began))
        self.certificates.judge(of_certificates, snapshots, self.requests.steps, began, self.list_began())
        left = [replace(e, changes=[each for each in e.changes if each[0] not in _CERTIFICATE_FIELDS]) for e in told]
        return [event for event in left if event.changes]

    async def adopt(self, account_id: int, subjects: Iterable[str]) -> None:
        """Judge the baselines that an import took from the copy: nothing that was never said."""
        snapshots = await self._snapshots()
        for watcher in [(account_id, subject) for subject in subjects]:
            snapshot = snapshots.get(watcher)
            if snapshot is None or self.told[watcher] is not None:
                continue
            baseline = _baseline_in(snapshot)
            said = [fields for _, fields in self._past.get(watcher[1], [])]
            was_said = all(any(state.get(name) == value for state in said) for name, value in baseline.fields.items())
            if not (is_srn(watcher[1]) or (was_said and self._were_seen(watcher[1], baseline.certificates or {}))):
                raise WrongYear(f"{watcher}: the import's baseline {snapshot} is none")
            self.told[watcher] = baseline

    def _were_seen(self, udi: str, certificates: Certificates) -> bool:
        """Whether reads brought each of these certificates."""
        seen = [(key[:2], each) for key, each in self._certificates.get(udi, [])]
        return all((key[:2], each) in seen for key, each in certificates.items())

    async def agree(self) -> None:
        """Every stored snapshot is what was told."""
        for watcher, snapshot in (await self._snapshots()).items():
            told = self.told[watcher]
            if not _says(snapshot, told):
                raise WrongYear(f"{watcher}: snapshot {snapshot}, but told {told}")

    def agree_with_world(self) -> None:
        """Nobody who is told everything differs from the register, but where the register has nothing now."""
        for watcher, told in self.told.items():
            subject = watcher[1]
            records = [] if is_srn(subject) else self.world.by_primary_di(subject)
            if is_srn(subject) and self.world.actor(subject):
                now = actor_fields(self.world, subject)
            elif records:
                now = all_fields(answering(records))
            else:
                if told is not None:
                    raise WrongYear(f"{watcher} was told of what is not there: {told}")
                continue
            if told is None:
                raise WrongYear(f"{watcher} was never read")
            if wrong := {name: value for name, value in now.items() if value.words and value != told.fields.get(name)}:
                raise WrongYear(f"{watcher} was told {told.fields}, but the register says {wrong}")
            is_searched = records and self.requests.filter_works and self.certificates is None
            certificates = certificates_of(self.world, answering(records)) if is_searched else {}
            for key, each in certificates.items():
                alike = [known for name, known in (told.certificates or {}).items() if name[:2] == key[:2]]
                if not any(
                    (each.expiry or known.expiry, each.status) == (known.expiry, known.status) for known in alike
                ):
                    raise WrongYear(f"{watcher} differs from the register: {alike}, {each}")

    # What a full read must have told

    def _judge(self, read: Read, queues: dict[Watcher, list[Stored]], snapshots: Snapshots) -> None:
        self.outcome.reads += 1
        is_late = self._stored_at.get(read.subject, 0) > read.began
        uses_earlier_read = not is_srn(read.subject) and not read.of("detail")
        seen, memory_before = None, self._memory.before()
        if not (is_late and uses_earlier_read):
            seen = seen_of(read, Memory() if is_late else self._memory)
            if seen is not None and self.certificates is not None:
                seen = Seen(seen.fields, unsettled=seen.unsettled)
            if seen is not None:
                self._certificates.setdefault(read.subject, []).extend(seen.brought.items())
            if read.is_said_to_be_stored != (seen is not None):
                raise WrongYear(f"read of {read.subject}: {read.task.result()}, but it was answered {read.questions}")
        if is_late:
            self.outcome.late += read.is_said_to_be_stored
            return
        if seen is None:
            return
        if read.is_said_to_be_overtaken or self._was_overtaken(read, seen, snapshots):
            self._memory = memory_before
            return  # the next read tells what this one would have
        seen = self._with_believed_total(read, seen)
        self.outcome.found += 1
        self.outcome.partial += seen.certificates is None and not is_srn(read.subject)
        self._stored_at[read.subject] = read.ended
        if self._part_came_after(read) and not self._was_stored(read.subject, seen, snapshots):
            self._memory = memory_before
        for watcher in self._watchers(read.subject):
            settled = self._settled(watcher, seen, queues[watcher], snapshots) if seen.unsettled else seen
            if self._part_came_after(read):
                self._judge_overtaken(watcher, read, settled, queues[watcher], snapshots[watcher])
            elif read.subject in self.parts:
                self._judge_mixed(watcher, settled, queues[watcher], snapshots[watcher])
            else:
                self._judge_exactly(watcher, settled, queues[watcher])
            for name in () if self._part_came_after(read) else seen.fields.keys() - seen.unsettled:
                self._since[watcher, name] = max(self._since.get((watcher, name), 0), read.began)

    def _with_believed_total(self, read: Read, seen: Seen) -> Seen:
        """What a stored read saw, with the number of an actor's devices that is believed: that there are none, though
        some are known, is not before lists have said so for a day.
        """
        if not is_srn(read.subject):
            return seen
        total, at = int(seen.fields["device_total"].words), float(int(read.began_at))
        known, read_at, since = self._totals.get(read.subject, (0, 0.0, None))
        if total or not known:
            since = None
        elif since is None or at - read_at > 2 * DOUBT_SECONDS:
            since = at
        else:
            since = min(since, at)
        if since is None or at - since >= DOUBT_SECONDS:
            known, since = total, None
        self._totals[read.subject] = known, at, since
        return replace(seen, fields={**seen.fields, "device_total": plain(known)})

    def _settled(self, watcher: Watcher, seen: Seen, queue: Sequence[Stored], snapshots: Snapshots) -> Seen:
        """What a read saw, with fields that a detail tells which is older than its row: nothing, or what was true since
        what was told before.
        """
        fields = dict(seen.fields)
        for name in seen.unsettled:
            changes = [change for event in queue[:1] for change in event.changes if change[0] == name]
            fields[name] = self._true_since(watcher, name, changes[0][2]) if changes else Value("", "")
            if self.told[watcher] is None:
                fields[name] = plain((snapshots[watcher] or {}).get(name))
        return replace(seen, fields=fields)

    def _was_stored(self, subject: str, seen: Seen, snapshots: Snapshots) -> bool:
        """Whether a read that a part overtook was stored all the same, by what its watchers know."""
        return any(_says(snapshots[each], kept(self.told[each], seen)) for each in self._watchers(subject))

    def _was_overtaken(self, read: Read, seen: Seen, snapshots: Snapshots) -> bool:
        """Whether a part was stored while this read of the same step went on, by what its watchers know: then the read
        was compared with nothing, whoever watches its subject.
        """
        if read.subject not in self.parts:
            return False
        unread = [each for each in self._watchers(read.subject) if self.told[each] is None]
        if any(_cannot_follow(snapshots[each], seen) for each in unread):
            return True
        return self._part_came_beside(read) and not self._certificates_were_stored(read.subject, seen, snapshots)

    def _certificates_were_stored(self, subject: str, seen: Seen, snapshots: Snapshots) -> bool:
        """Whether a read beside which a part was stored was stored too, as far as its certificates tell."""
        if self.certificates is not None:
            return self._was_stored(subject, seen, snapshots)
        watchers = self._watchers(subject)
        stored = [_counted(_certificates_in(snapshots[each] or {})) for each in watchers]
        after = [_counted(kept(self.told[each], seen).certificates) for each in watchers]
        listed = [_has_listed(snapshots[each], kept(self.told[each], seen)) for each in watchers]
        searched = [bool((snapshots[each] or {}).get("searched")) or not seen.searched for each in watchers]
        return not watchers or any(
            one == other and has_listed and was_searched
            for one, other, has_listed, was_searched in zip(stored, after, listed, searched, strict=True)
        )

    def _judge_exactly(self, watcher: Watcher, seen: Seen, queue: list[Stored]) -> None:
        told = self.told[watcher]
        wanted = expected(told, seen) if told is not None else []
        got = queue.pop(0).changes if wanted and queue else []
        if sorted(got) != sorted(wanted):
            raise WrongYear(f"{watcher}: told {got or queue}, to be told {wanted}; before {told}, read {seen}")
        self.told[watcher] = kept(told, seen)

    def _part_came_after(self, read: Read) -> bool:
        return self._part_at.get(read.subject, 0) > read.began

    def _part_came_beside(self, read: Read) -> bool:
        """Whether an actor's read of the same step may have stored a part while this read went on.

        A read begins before its first request, with a look at the copy: so no order of requests tells it.
        """
        return read.subject in self._of_actors

    def _judge_overtaken(
        self, watcher: Watcher, read: Read, seen: Seen, queue: list[Stored], snapshot: Snapshot
    ) -> None:
        """A part was stored while this read went on. If it was told, the read comes too late; else both are right."""
        told = self.told[watcher]
        after = kept(told, seen)
        is_late = self._part_told_at.get(watcher, 0) > read.began
        self.outcome.late += is_late
        wanted = expected(told, seen) if told is not None and not is_late else []
        if queue and sorted(queue.pop(0).changes) != sorted(wanted):
            raise WrongYear(f"{watcher} was told of a read that a part overtook: before {told}, read {seen}")
        if told is None or (not is_late and _says(snapshot, after)):
            self.told[watcher] = after if _says(snapshot, after) else None

    def _judge_mixed(self, watcher: Watcher, seen: Seen, queue: list[Stored], snapshot: Snapshot) -> None:
        """A part was told in the same step, before or after: together they told what there was to tell, once.

        Or the part proved nothing and came while the read went on: then neither told anything, and the next read does.
        """
        told = self.told[watcher]
        if told is None:
            self.told[watcher] = kept(None, seen)  # what came of it is judged with the parts
            return
        if not queue and _says(snapshot, told) and not _says(snapshot, kept(told, seen)):
            self.outcome.late += 1
            return
        certificates = [change for event in queue for change in event.changes if change[0] in _CERTIFICATE_FIELDS]
        wanted = [change for change in expected(told, seen) if change[0] in _CERTIFICATE_FIELDS]
        if sorted(certificates) != sorted(wanted):
            raise WrongYear(f"{watcher}: told {certificates}, to be told {wanted}")
        self._follow(watcher, queue)
        after = self.told[watcher] or Told()
        for name, now in seen.fields.items():
            allowed = {now.code, *self._shown[watcher[1], name]}
            if now.words and after.fields[name].code not in allowed:
                raise WrongYear(f"{watcher}: {name} was read as {now}, told {after.fields[name]}")
        self.told[watcher] = replace(kept(after, seen), fields=after.fields)
        queue.clear()

    # What a part may have told

    async def _judge_parts(self, queues: dict[Watcher, list[Stored]]) -> None:
        watchers = [watcher for udi in self.parts for watcher in self._watchers(udi)]
        for watcher in watchers:
            if self.told[watcher] is not None:
                self._follow(watcher, queues[watcher])
                queues[watcher].clear()
        unknown = [watcher for watcher in watchers if self.told[watcher] is None]
        snapshots = await self._snapshots() if unknown else {}
        for watcher in unknown:
            if (snapshot := snapshots[watcher]) is not None:
                self._adopt(watcher, snapshot)

    def _follow(self, watcher: Watcher, queue: Sequence[Stored]) -> None:
        """Events that a part may have made: each follows what was told before, and was true since then."""
        for event in queue:
            for name, old, new, _ in event.changes:
                told = self.told[watcher] or Told()
                if name in _CERTIFICATE_FIELDS:
                    continue
                before = told.fields.get(name, Value("", ""))
                if before.words != old or old == new:
                    raise WrongYear(f"{watcher}: told {name} {old} → {new}, but {before.words} was told before")
                value = self._true_since(watcher, name, new)
                self._part_told_at[watcher] = self.requests.steps
                self.told[watcher] = replace(told, fields={**told.fields, name: value})

    def _true_since(self, watcher: Watcher, name: str, words: str) -> Value:
        """The value of these words, which the register had at or after what was told before."""
        since, past = self._since.get((watcher, name), 0), self._past[watcher[1]]
        for place, (began, fields) in enumerate(past):
            ended = past[place + 1][0] if place + 1 < len(past) else None
            if fields[name].words == words and (ended is None or ended > since):
                self._since[watcher, name] = max(since, began)
                return fields[name]
        raise WrongYear(f"{watcher}: {name} was told to be {words}, which it was not since {since}: {past[-5:]}")

    def _adopt(self, watcher: Watcher, snapshot: dict[str, Any]) -> None:
        """A baseline that a part made: all of it was true once."""
        fields = {name: self._true_since(watcher, name, snapshot[name]) for name in _FIELDS if snapshot.get(name)}
        if "certs" in snapshot and not snapshot.get("is_partial"):
            raise WrongYear(f"{watcher}: a part told certificates: {snapshot}")
        self.told[watcher] = Told(fields)

    async def _adopt_partial(self) -> None:
        """Take what watches know of certificates that were never read, all of which reads brought once."""
        for watcher, snapshot in (await self._snapshots()).items():
            told = self.told[watcher]
            if snapshot and snapshot.get("is_partial") and told and (told.certificates is None or told.is_partial):
                known = _certificates_in(snapshot) or {}
                if not self._were_seen(watcher[1], known):
                    raise WrongYear(f"{watcher} knows {known}, which no read brought")
                self.told[watcher] = replace(told, certificates=known, listed=frozenset(known), is_partial=True)

    def _note_shown(self, reads: Sequence[Read]) -> None:
        """What rows and reads of this step showed."""
        rows = [(row.udi, row.fields) for row in self.requests.listed]
        rows += [(udi, fields) for udi, fields in self.parts.items()]
        for read in reads:
            found = read.of("search").get(read.subject)
            if found is None or not found.truth:
                continue
            if is_srn(read.subject):
                rows += [(record.primary_di, row_fields(record)) for record in found.truth[1]]
            else:
                rows.append((read.subject, row_fields(answering(found.truth))))
        for udi, fields in rows:
            for name, value in fields.items():
                self._shown[udi, name].add(value.code)

    def _note_rows(self, reads: Sequence[Read]) -> None:
        """The devices of which an actor's read told a part."""
        for read in reads:
            devices = read.of("search").get(read.subject) if is_srn(read.subject) else None
            if devices is not None and devices.fault is None:
                self.parts.update((record.primary_di, row_fields(record)) for record in devices.truth[1])
                self._of_actors.update(record.primary_di for record in devices.truth[1])

    def _note_listed(self, reads: Sequence[Read]) -> None:
        """The rows that sweeps stored. Of a device that was read after its row, the row is not stored."""
        rows, self.requests.listed = self.requests.listed, []
        read_at = {read.subject: read.began for read in reads if read.is_said_to_be_stored}
        for srn in {self.requests.manufacturer_of(row.udi) for row in rows}.intersection(self._totals):
            known, at, _ = self._totals[srn]
            self._totals[srn] = known, at, None  # a list has shown devices
        for row in rows:
            if read_at.get(row.udi, 0) < row.at:
                self.parts[row.udi] = row.fields

    # Lists

    def _judge_lists(
        self, new: Sequence[Stored], *, is_recheck: bool, sync_of: int | None, listed: Sequence[int], is_short: bool
    ) -> None:
        """A sync lists each event of its account once that no other one has, but for those of a recheck."""
        for event in new:
            self.outcome.events += 1
            self.outcome.changes += len(event.changes)
            if not is_recheck:
                self.awaiting[event.watcher[0]].add(event.id)
        if sync_of is not None:
            awaited = self.awaiting.pop(sync_of, set())
            after = awaited & {event.id for event in new} - set(listed) if is_short else set()
            self.awaiting[sync_of] |= after
            awaited -= after
            if sorted(awaited) != list(listed):
                raise WrongYear(f"the sync of account {sync_of} listed {listed}, but {sorted(awaited)} were to be told")

    def _watchers(self, subject: str) -> list[Watcher]:
        return [watcher for watcher in self.told if watcher[1] == subject and watcher[0] in self.active]

    async def _new_events(self) -> list[Stored]:
        found = (
            select(events.c.id, events.c.account_id, events.c.subject, events.c.changes)
            .where(events.c.id > self._last_event)
            .order_by(events.c.id)
        )
        async with self.database.reading() as connection:
            rows = (await connection.execute(found)).all()
        self._last_event = rows[-1].id if rows else self._last_event
        return [Stored(row.id, (row.account_id, row.subject), _changes(row.changes)) for row in rows]

    async def _snapshots(self) -> Snapshots:
        """What watches know, without certificates where those are judged apart."""
        apart = () if self.certificates is None else ("certs", "searched", "scoped", "is_partial")
        stored = await self._stored_snapshots()
        return {
            watcher: None if snapshot is None else {name: snapshot[name] for name in snapshot if name not in apart}
            for watcher, snapshot in stored.items()
        }

    async def _stored_snapshots(self) -> Snapshots:
        async with self.database.reading() as connection:
            rows = await connection.execute(select(watches.c.account_id, watches.c.subject, watches.c.snapshot))
            return {(row[0], row[1]): json.loads(row[2]) if row[2] else None for row in rows}


def _says(snapshot: Snapshot, told: Told | None) -> bool:
    """Whether a stored snapshot is what was told, but for words of an earlier release."""
    if snapshot is None or told is None:
        return snapshot is None and told is None
    stored = {name: value.words for name, value in _fields_in(snapshot).items()}
    words = {name: value.words for name, value in told.fields.items() if value.words}
    is_searched = bool(snapshot.get("searched")) == told.searched or told.certificates is None
    return stored == words and is_searched and _counted(_certificates_in(snapshot)) == _counted(told.certificates)


def _cannot_follow(snapshot: Snapshot, seen: Seen) -> bool:
    """Whether a read cannot have been the baseline of a watch with this snapshot: no later one takes it away again, nor
    the certificates that it brought.
    """
    if snapshot is None:
        return True
    lacks_certificates = seen.certificates is not None and snapshot.get("certs") is None
    return lacks_certificates or (seen.searched and not snapshot.get("searched"))


def _has_listed(snapshot: Snapshot, told: Told) -> bool:
    """Whether a stored snapshot takes as many certificates for listed as were: those that are gone stay in it."""
    listed = [entry for entry in (snapshot or {}).get("certs") or () if not entry[5]]
    return len(listed) == len(told.listed)


def _counted(certificates: Certificates | None) -> Counter[tuple[CertificateName, WatchedCertificate]] | None:
    """How many there are of each, whatever tells those apart that are alike."""
    return None if certificates is None else Counter((key[:2], each) for key, each in certificates.items())


def _baseline_in(snapshot: dict[str, Any]) -> Told:
    """What an import took from the copy."""
    certificates = _certificates_in(snapshot)
    places = {key: entry[7] for key, entry in zip(certificates or (), snapshot.get("certs") or (), strict=True)}
    is_searched = bool(snapshot.get("searched"))
    by_search = frozenset(key for key, place in places.items() if is_searched and place == "search")
    return Told(_fields_in(snapshot), certificates, is_searched, frozenset(places), by_search)


_CODES = {"status": "status_code", "risk_class": "risk_class_code", "manufacturer_status": "manufacturer_status_code"}


def _fields_in(snapshot: dict[str, Any]) -> dict[str, Value]:
    fields = {}
    known = {**snapshot, **dict(snapshot.get("former", ()))}  # what the record lost is compared with the next value
    for name in _FIELDS:
        if words := known.get(name):
            code = str(known.get(_CODES.get(name, ""), "")).rpartition(".")[2]
            fields[name] = Value(code or words, _now(words))
    return fields


def _changes(text: str) -> list[FieldChange]:
    return [
        (each["field"], _now(each["old"]), each["new"], each.get("certificate") or each.get("device") or "")
        for each in json.loads(text)
    ]


def _now(words: str) -> str:
    """Today's words of a status."""
    return next((now for now, former in FORMER_WORDS.items() if former == words), words)


def _certificates_in(snapshot: dict[str, Any]) -> dict[CertificateKey, WatchedCertificate] | None:
    if snapshot.get("certs") is None:
        return None
    certificates: dict[CertificateKey, WatchedCertificate] = {}
    for place, entry in enumerate(snapshot["certs"]):
        number, revision, expiry, status, code = (*entry, "", "", "", "", "")[:5]
        certificates[number, revision, place] = WatchedCertificate(
            number, expiry, Value(code.rpartition(".")[2], status), (entry[BODY], entry[KIND])
        )
    return certificates
