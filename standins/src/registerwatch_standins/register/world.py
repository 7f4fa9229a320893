"""The register's world.

An archive of registrations at rest and, over it, everything that has changed since.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from registerwatch_standins.register.archive import Archive
from registerwatch_standins.register.certificate_world import CertificateWorld, timestamp
from registerwatch_standins.register.changes import Change, certificate_pairs, changes_between
from registerwatch_standins.register.filters import ActorFilter, DeviceFilter
from registerwatch_standins.register.records import BRUSSELS, OF_BASIC_UDI, Actor, Registration

_FIXED = frozenset({"uuid", "primary_di", "basic_udi", "manufacturer", "authorised_representative", "issuing_agency"})


def brussels_now() -> datetime:
    """The register's wall clock."""
    return datetime.now(BRUSSELS).replace(tzinfo=None)


class World(CertificateWorld):
    """What the register's interface answers from.

    Rows are addressed by number inside: `≥ 0` is a position in the archive, `< 0` a registration made since
    (`-1` the first of them).
    """

    def __init__(self, archive: Archive, clock: Callable[[], datetime] = brussels_now) -> None:
        super().__init__(archive, clock)
        self._changed: dict[str, Registration] = {}
        self._history: dict[str, list[tuple[str, Registration]]] = {}
        self._added: list[Registration] = []
        self._added_at: dict[str, int] = {}
        self._srns: dict[str, str] = {}
        """Of all actors by uuid, once somebody has asked for one of them."""
        self.withheld: dict[tuple[str, str], object] = {}
        """What random changes have taken away, by uuid and field, and will bring back."""
        self._held_details: dict[str, Registration] = {}

    # Reading

    @property
    def count(self) -> int:
        """How many registrations there are."""
        return self._archive.count + len(self._added)

    def newest(self, offset: int, limit: int) -> list[Registration]:
        """A page of all registrations, the latest made first."""
        return [self._row(self._newest_row(rank)) for rank in range(offset, min(offset + limit, self.count))]

    def oldest(self, offset: int, limit: int) -> list[Registration]:
        """A page of all registrations, the first made first."""
        last = self.count - 1
        return [self._row(self._newest_row(last - rank)) for rank in range(offset, min(offset + limit, self.count))]

    def by_uuid(self, uuid: str) -> Registration | None:
        """The registration with this key."""
        if uuid in self._added_at:
            return self._row(-1 - self._added_at[uuid])
        position = self._archive.position_of_uuid(uuid)
        return None if position is None else self._row(position)

    def detail(self, uuid: str) -> Registration | None:
        """What the device detail of this key shows; it can be behind the search's row."""
        present = self.by_uuid(uuid)
        return present and self._held_details.get(uuid, present)

    def by_primary_di(self, primary_di: str) -> list[Registration]:
        """All registrations of this UDI-DI; more than one is no mistake."""
        return self.search(DeviceFilter(primary_di=primary_di), 0, 1000)[1]

    def by_basic_udi(self, basic_udi: str) -> list[Registration]:
        """The registrations under this Basic UDI-DI."""
        return self.search(DeviceFilter(basic_udi=basic_udi), 0, 10_000)[1]

    def search(self, wanted: DeviceFilter, offset: int, limit: int) -> tuple[int, list[Registration]]:
        """How many registrations pass, and a page of them: those made since first, then those of the archive."""
        if wanted.is_empty:
            return self.count, self.newest(offset, limit)
        added = [-1 - at for at in range(len(self._added) - 1, -1, -1) if wanted.passes(self._row(-1 - at))]
        archived = self._archived(wanted)
        rows = added[offset : offset + limit]
        start = max(0, offset - len(added))
        rows.extend(archived[start : start + limit - len(rows)])
        return len(added) + len(archived), [self._row(row) for row in rows]

    def actor_by_uuid(self, uuid: str) -> Actor | None:
        """The actor with this key."""
        if not self._srns:
            actors = (self._archive.actor(srn) for srn in self._archive.srns())
            self._srns = {actor.uuid: actor.srn for actor in actors if actor}
        return self.actor(self._srns.get(uuid, ""))

    def representative_of(self, srn: str) -> Actor | None:
        """The authorised representative that a manufacturer's devices name."""
        rows = self.search(DeviceFilter(srn=srn), 0, 1)[1]
        named = rows[0].authorised_representative if rows else None
        return self.actor(named.srn) if named else None

    def search_actors(self, wanted: ActorFilter, offset: int, limit: int) -> tuple[int, list[Actor]]:
        """How many actors pass, and a page of them in the order of their SRNs."""
        srns = self._archive.srns() if wanted.srn is None else [wanted.srn]
        if wanted.srn is not None or not wanted.is_empty:
            srns = [srn for srn in srns if (actor := self.actor(srn)) and wanted.passes(actor)]
        actors = (self.actor(each) for each in srns[offset : offset + limit])
        return len(srns), [actor for actor in actors if actor]

    def as_of(self, record: Registration, moment: datetime) -> Registration | None:
        """A registration as it stood at a moment, or `None` if it was made later.

        The names and statuses of its actors, and its certificates of the certificate search, are those of its own next
        change: `actor_as_of` and `certificate_as_of` have theirs.
        """
        stamp = timestamp(moment)
        if record.uuid in self._added_at and self._history[record.uuid][0][0] > stamp:
            return None
        for changed_at, before in self._history.get(record.uuid, []):
            if changed_at > stamp:
                return before
        return record

    # Changing

    def change(self, uuid: str, /, *, new_version: bool | None = None, **fields: object) -> Registration:
        """Change fields of a registration, and write each into the change log.

        A change makes a new version (`version_number`, `version_date`), but for a change of `certificates`
        alone; `new_version` says otherwise. What belongs to the Basic UDI-DI record changes for all registrations under
        it, of which no other gets a new version, and moves `last_updated`. Raises `KeyError` for an unknown uuid,
        `ValueError` for a field that identifies the registration, and `TypeError` for one that does not exist.
        """
        before = self.by_uuid(uuid)
        if before is None:
            raise KeyError(uuid)
        if fixed := _FIXED & fields.keys():
            raise ValueError(f"a registration keeps its {', '.join(sorted(fixed))}")
        now = self.now()
        after = self._dated(replace(before, **fields), before, fields, new_version, now)
        is_shared = _basic_udi_part(after) != _basic_udi_part(before) or after.last_updated != before.last_updated
        siblings = self._siblings(before) if is_shared else []
        self._store(before, after, now)
        for sibling in siblings:
            self._store(sibling, following(sibling, after), now)
        return after

    def change_actor(self, srn: str, /, **fields: object) -> Actor:
        """Change an actor's fields (such as `status`, `name`), for all registrations that name it."""
        before = self.actor(srn)
        if before is None:
            raise KeyError(srn)
        now = self.now()
        after: Actor = replace(before, **{"last_updated": now, "version_number": before.version_number + 1, **fields})
        for field in fields:
            old, new = getattr(before, field), getattr(after, field)
            if old != new:
                self.change_log.write(Change(now, before.uuid, None, srn, field, old, new))
        self._actor_history.setdefault(srn, []).append((now, before))
        self._actors[srn] = after
        return after

    def register(self, record: Registration) -> Registration:
        """Add a registration as the newest one, with what the Basic UDI-DI record of others under it has. One under
        another legislation is not under their Basic UDI-DI.

        Raises `ValueError` where the uuid is taken.
        """
        if self.by_uuid(record.uuid) is not None:
            raise ValueError(f"uuid is taken: {record.uuid}")
        others = self.by_basic_udi(record.basic_udi) if record.basic_udi else []
        if others and others[0].legislation != record.legislation:
            record = replace(record, basic_udi=None)
        elif others:
            record = following(record, others[0])
        self._added_at[record.uuid] = len(self._added)
        self._added.append(record)
        now = self.now()
        self._history[record.uuid] = [(now, record)]
        srn = record.manufacturer.srn
        self.change_log.write(Change(now, record.uuid, record.primary_di, srn, "registration", None, "made"))
        return record

    def remove(self, uuid: str) -> None:
        """Take out a registration that was made since. Raises `KeyError` for any other."""
        at = self._added_at.pop(uuid)
        record = self._added.pop(at)
        self._added_at = {each.uuid: place for place, each in enumerate(self._added)}
        for kept in (self._changed, self._history, self._held_details):
            kept.pop(uuid, None)
        self.withheld = {key: value for key, value in self.withheld.items() if key[0] != uuid}
        srn = record.manufacturer.srn
        self.change_log.write(Change(self.now(), uuid, record.primary_di, srn, "registration", "made", None))

    def hold_detail(self, uuid: str) -> None:
        """Let the detail of a registration show what it is now, whatever changes, until `release_details`."""
        if (record := self.by_uuid(uuid)) is not None:
            self._held_details[uuid] = record

    def release_details(self) -> None:
        """Let every detail show what its registration is."""
        self._held_details.clear()

    # Inside

    def _newest_row(self, rank: int) -> int:
        added = len(self._added)
        return rank - added if rank < added else self._archive.oldest(self.count - 1 - rank)

    def _row(self, row: int) -> Registration:
        record = self._added[-1 - row] if row < 0 else self._archive.registration(row)
        record = self._changed.get(record.uuid, record)
        certificates = self._listings.present(record)
        if certificates is not record.certificates:
            record = replace(record, certificates=certificates)
        if not self._actors:
            return record
        representative = record.authorised_representative
        return replace(
            record,
            manufacturer=self._party(record.manufacturer),
            authorised_representative=self._party(representative) if representative else None,
        )

    def _archived(self, wanted: DeviceFilter) -> Sequence[int]:
        """The rows of the archive that pass, the newest first where all are looked at."""
        archive = self._archive
        if wanted.primary_di:
            rows = archive.positions_of_primary_di(wanted.primary_di)
        elif wanted.basic_udi:
            rows = archive.positions_of_basic_udi(wanted.basic_udi)
        elif wanted.srn:
            rows = archive.positions_of_srn(wanted.srn)
        else:
            rows = [archive.oldest(rank) for rank in range(archive.count - 1, -1, -1)]
        return rows if wanted.is_plain else [row for row in rows if wanted.passes(self._row(row))]

    def _dated(
        self, after: Registration, before: Registration, fields: dict[str, object], new_version: bool | None, now: str
    ) -> Registration:
        bump = set(fields) != {"certificates"} if new_version is None else new_version
        if bump:
            version = after.version_number if "version_number" in fields else before.version_number + 1
            after = replace(after, version_number=version, version_date=str(fields.get("version_date", now)))
        if "last_updated" in fields or _basic_udi_part(after) == _basic_udi_part(before):
            return after
        return replace(after, last_updated=now, basic_version=before.basic_version + (set(fields) != {"certificates"}))

    def _siblings(self, record: Registration) -> list[Registration]:
        """The other registrations of the same Basic UDI-DI record."""
        basic_udi = record.basic_udi
        found = self.by_basic_udi(basic_udi) if basic_udi else self.by_primary_di(record.primary_di)
        return [each for each in found if each.uuid != record.uuid and each.basic_udi == basic_udi]

    def _store(self, before: Registration, after: Registration, now: str) -> None:
        for change in changes_between(before, after, now):
            self.change_log.write(change)
        for old, new in certificate_pairs(before.certificates, after.certificates):
            if old and old.listed_in == "certificate-search":
                self._log_pairs(self._listings.replace(after, old, new, now), now)
            elif new and new.listed_in == "certificate-search":
                self._log_pairs(self._listings.join(after, new, now), now)
        self._history.setdefault(after.uuid, []).append((now, before))
        self._changed[after.uuid] = after


def _basic_udi_part(record: Registration) -> tuple[object, ...]:
    """What of a registration is that of its Basic UDI-DI record."""
    certificates = tuple(each for each in record.certificates if each.listed_in == "basic-udi-record")
    return (*(getattr(record, field) for field in sorted(OF_BASIC_UDI)), certificates)


def following(record: Registration, other: Registration) -> Registration:
    """A registration after its Basic UDI-DI record has become that of another one under it."""
    own = (each for each in record.certificates if each.listed_in != "basic-udi-record")
    shared = (each for each in other.certificates if each.listed_in == "basic-udi-record")
    fields = {field: getattr(other, field) for field in OF_BASIC_UDI}
    return replace(record, **fields, last_updated=other.last_updated, certificates=(*shared, *own))
