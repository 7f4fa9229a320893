"""The data of one watch for its page."""

from collections.abc import Collection, Sequence
from datetime import date
from zoneinfo import ZoneInfo

import msgspec

from registerwatch.accounts.ended_period import EndedPeriod
from registerwatch.copy.documents.documents import StoredActor
from registerwatch.copy.records import LastRead
from registerwatch.pages.account.events.changes import ShownChange, shown_changes
from registerwatch.pages.account.watches.watch_rows import state_badge
from registerwatch.pages.addresses import actor_address, device_address
from registerwatch.pages.public.actor import ROLES
from registerwatch.pages.public.certificates.listed_certificates import CertificateSection
from registerwatch.pages.public.device import EUDAMED_DEVICE, DeviceView
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.certificate_states import ShownCertificate, in_order
from registerwatch.register.codes import label
from registerwatch.register.models import Certificate
from registerwatch.register.standing import DELISTED, NEWER_READ_DIFFERS, NOTHING_KNOWN, Badge, SubjectStanding
from registerwatch.watches.events.event_search_repository import ListedEvent
from registerwatch.watches.models import NOT_REGISTERED, READ_IN_PART, Event, Watch
from registerwatch.watches.questions.timeline import PAGE_LENGTH, Position, TimelineEntry
from registerwatch.watches.questions.watch_details import WatchDetails
from registerwatch.watches.reading.read_failures import ReadFailure
from registerwatch.watches.snapshot import Snapshot, snapshot_of_actor, snapshot_of_device
from registerwatch.watches.standing import shown_of, standing_of
from registerwatch.watches.watch_states import LAST_READ_IN_PART
from registerwatch.web.countries import country_name


class ShownEntry(msgspec.Struct, frozen=True):
    """An event or a failed read in the timeline, with the changes of the event."""

    entry: TimelineEntry
    changes: Sequence[ShownChange] = ()
    is_unseen: bool = False

    @property
    def event(self) -> Event | None:
        """The event, None for a failed read."""
        return self.entry if isinstance(self.entry, Event) else None

    @property
    def failure(self) -> ReadFailure | None:
        """The failed read, None for an event."""
        return self.entry if isinstance(self.entry, ReadFailure) else None


class WatchView(msgspec.Struct, frozen=True):
    """A watch, and what is stored of its subject: its snapshot, and the copy while the period of its account runs."""

    details: WatchDetails
    now: float
    zone: ZoneInfo
    before: Position | None
    """Where the timeline's page begins, None for the newest."""
    device: DeviceView | None = None
    actor: StoredActor | None = None
    reads_real_register: bool = False
    unseen: Sequence[ListedEvent] = ()
    """The newest unseen events of the watch, at most one more than a page of the timeline has."""
    certificates: CertificateSection | None = None
    """The certificates of a watched manufacturer, None for other subjects."""
    instants: LastRead | None = None
    """When a device was last read, which only this account sees."""
    ended: EndedPeriod | None = None
    """The end of the account's period, since which nothing is read for the watch."""
    registered: int | None = None
    """How many devices of an actor are registered by the last count, which a list can have brought after its last read.
    """

    @property
    def watch(self) -> Watch:
        """The watch."""
        return self.details.watch

    @property
    def today(self) -> date:
        """The day in the reader's zone."""
        return day_of(self.now, self.zone)

    @property
    def is_device(self) -> bool:
        """Whether a device is watched, not an actor."""
        return self.watch.kind == "udi"

    @property
    def subject_kind(self) -> str:
        """Its kind in words."""
        return "Device" if self.is_device else ROLES.get(self.watch.subject[3:5], "Actor")

    @property
    def state(self) -> tuple[str, str]:
        """Its state in words, and its tone; empty if there is no problem."""
        return state_badge(self.watch, self.watch.health(self.now))

    @property
    def standing(self) -> SubjectStanding:
        """The standing of its subject: its status, and its certificates in the copy, or in the snapshot if the copy has
        none.
        """
        if not self.is_known:
            return NOTHING_KNOWN
        found = standing_of(self.watch.kind, self.seen, self.today, is_delisted=self.watch.is_delisted)
        if self.device is None:
            return found
        found = replace(found, has_unread=found.has_unread and self.device.certificates_unread)
        if not self.device.certificates:
            return found
        found = replace(found, has_newer_read=NEWER_READ_DIFFERS in self.device.doubts)
        return replace(found, certificates=self.device.standing, has_unlisted=False)

    @property
    def certificates_of_device(self) -> Sequence[ShownCertificate]:
        """The certificates of a device that the register lists: those in the copy, or in the snapshot without one."""
        return self.device.certificates if self.device is not None else self.standing.certificates.certificates

    def former_status(self, certificate: Certificate) -> str:
        """The last status that the register gave of a certificate while it was watched, where it gives none now."""
        shown = [each.certificate for each in self.certificates_of_device]
        same = same_certificates(shown, self.seen.certs or ())
        seen = next((of for each, of in zip(shown, same, strict=True) if each is certificate), ())
        return "" if certificate.status else next((each.former_status for each in seen), "")

    @property
    def lacks_certificates(self) -> bool:
        """Whether the certificates of a device were not read, or not all of them."""
        return self.device.certificates_unread if self.device is not None else self.standing.has_unread

    @property
    def badges(self) -> Sequence[Badge]:
        """Badges of its standing; no good ones if the register no longer lists it."""
        return self.standing.warnings if self.watch.is_delisted else self.standing.badges

    @property
    def last_read(self) -> str:
        """The result of the last read, if it was not a full success."""
        if self.watch.is_delisted:
            return DELISTED[0]
        return LAST_READ_IN_PART if self.is_partial else "Not read"

    @property
    def unlisted(self) -> Sequence[ShownCertificate]:
        """The certificates that the register listed once, if it lists none now."""
        if not self.standing.has_unlisted:
            return ()
        return in_order(shown_of(each, self.today) for each in self.seen.unlisted_certs)

    @property
    def others(self) -> Sequence[tuple[ShownCertificate, str]]:
        """The certificates of other records of the UDI-DI, each with when that was read."""
        return [(shown_of(each, self.today), iso_utc(each.other_as_of)) for each in self.seen.other_certs]

    @property
    def is_partial(self) -> bool:
        """Whether the last read lacked only its certificates, or some of them."""
        return self.watch.last_error in READ_IN_PART

    @property
    def why_unread(self) -> str:
        """Why there is no record of it yet."""
        if self.ended is not None:
            return "Nothing was read for it before."
        if self.watch.last_error.startswith(NOT_REGISTERED):
            code = "UDI-DI, without serial number, lot and date" if self.is_device else "SRN"
            return f"Check the code: the register was asked for this {code}. It is asked again."
        if self.watch.last_error:
            return "Nothing of it was read yet. It is tried again."
        return "Nobody has read it yet. A recheck does when its turn comes; you can do it now."

    @property
    def is_known(self) -> bool:
        """Whether there is a record to show, of the last read or of the copy."""
        return self.watch.snapshot is not None or self.device is not None or self.actor is not None

    @property
    def seen(self) -> Snapshot:
        """The compared fields as last seen; before the first successful read those in the copy."""
        if self.watch.snapshot is None and self.device is not None:
            return snapshot_of_device(self.device.device, certificates_read=False, searched=False)
        if self.watch.snapshot is None and self.actor is not None:
            actor = self.actor.actor
            return snapshot_of_actor(actor, label(actor.status_code))
        return self.watch.snapshot or Snapshot()

    @property
    def copy_read_at(self) -> int | None:
        """When the record in the copy was read."""
        if self.instants is not None:
            return self.instants.read_at
        return self.actor.read_at if self.actor is not None else None

    @property
    def country(self) -> str:
        """An actor's country."""
        return country_name(self.actor.actor.country) if self.actor else ""

    @property
    def public_address(self) -> str:
        """The public page of its subject."""
        return (device_address if self.is_device else actor_address)(self.watch.subject)

    @property
    def register_address(self) -> str:
        """The register's page of the record; empty if there is none, as for actors, whose SRN does not open one."""
        if self.device is None or not self.reads_real_register:
            return ""
        return EUDAMED_DEVICE + self.device.device.uuid

    @property
    def certificates_read_at(self) -> int | None:
        """When all of its certificates were last read."""
        return self.instants.certs_at if self.instants is not None else None

    @property
    def missing(self) -> str:
        """The parts of the record that were never read, for a sentence."""
        return " and ".join(self.device.device.missing) if self.device else ""

    @property
    def unseen_number(self) -> str:
        """The number of unseen events."""
        number = len(self.unseen)
        return str(number) if number <= PAGE_LENGTH else f"More than {PAGE_LENGTH}"

    @property
    def days(self) -> list[tuple[date, list[ShownEntry]]]:
        """The timeline by day."""
        unseen_ids = {each.event.id for each in self.unseen}
        days = self.details.timeline.by_day(self.zone)
        return [(each.day, [_shown(entry, unseen_ids, self.today) for entry in each.entries]) for each in days]


def _shown(entry: TimelineEntry, unseen_ids: Collection[int], today: date) -> ShownEntry:
    if isinstance(entry, Event):
        changes = shown_changes(entry.changes, entry.created_at, today)
        return ShownEntry(entry, changes, is_unseen=entry.id in unseen_ids)
    return ShownEntry(entry)
