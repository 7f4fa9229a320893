"""The part of a world that is about certificates as such: their listing, refused applications, notified bodies."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypedDict, Unpack
from zlib import crc32

from msgspec.structs import replace

from registerwatch_standins.register.archive import Archive
from registerwatch_standins.register.changes import Change, ChangeLog
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.listings import Listings, Pair, VersionKeys, listing
from registerwatch_standins.register.records import (
    Actor,
    Certificate,
    CertificateListing,
    Party,
    RefusedApplication,
)
from registerwatch_standins.register.wire.codes import derived_ulid, derived_uuid
from registerwatch_standins.register.wire.interface import BUILD, FLAGS

PROCEDURES = ("annex-ix-chapters-i-iii", "annex-ix-chapter-ii", "annex-x", "annex-xi-part-a")
_LOGGED = ("number", "revision", "status", "expiry", "issue_date", "starting_validity", "type", "notified_body")


class CertificateFields(TypedDict, total=False):
    """Fields of a certificate that a change can set."""

    number: str
    revision: str | None
    expiry: str | None
    starting_validity: str | None
    issue_date: str | None
    notified_body: str
    notified_body_name: str
    type: str
    status: str


class CertificateWorld:
    """What the certificate routes answer from.

    The change log has a listed certificate as `certificate` (`None` → the certificate, and back when it goes), a change
    of one as `certificate_status`, `certificate_expiry`, … and a refused application as `application`; `primary_di` is
    null in each, and `uuid` is that of the row.
    """

    def __init__(self, archive: Archive, clock: Callable[[], datetime]) -> None:
        self._archive = archive
        self._clock = clock
        self._actors: dict[str, Actor] = {}
        self._actor_history: dict[str, list[tuple[str, Actor]]] = {}
        self._listings = Listings(archive)
        self._refused: list[RefusedApplication] = []
        self.change_log = ChangeLog()
        self.scopes_named = 4
        """One certificate in so many names the Basic UDI-DIs that it covers; 0: none but those that were told to."""
        self.build_version = BUILD
        self.feature_flags = dict(FLAGS)

    # Reading

    def search_certificates(
        self, wanted: CertificateFilter, offset: int, limit: int
    ) -> tuple[int, list[CertificateListing]]:
        """How many listed certificates pass, and a page of them, the newest first."""
        rows = self._listings.search(wanted)
        return len(rows), [self._present(row) for row in rows[offset : offset + limit]]

    def certificate(self, uuid: str) -> CertificateListing | None:
        """The listed certificate with this key."""
        row = self._listings.row(uuid)
        return row and self._present(row)

    def scope(self, row: CertificateListing) -> tuple[str, ...]:
        """The Basic UDI-DIs that the scopes of a certificate name. Most name none, whatever it covers."""
        named = row.names_devices
        if named is None:
            named = self.scopes_named > 0 and crc32(row.ulid.encode()) % self.scopes_named == 0
        return row.basic_udis if named else ()

    def refusals(self, offset: int, limit: int) -> tuple[int, list[RefusedApplication]]:
        """How many refused applications there are, and a page of them, the newest first."""
        rows = [*reversed(self._refused), *self._archive.refusals()]
        page = [replace(row, manufacturer=self._party(row.manufacturer)) for row in rows[offset : offset + limit]]
        return len(rows), page

    def notified_bodies(self) -> dict[str, str]:
        """The names of the notified bodies that a certificate names, by number."""
        bodies = dict(self._archive.notified_bodies())
        for row in self._listings.since():
            bodies.setdefault(row.certificate.notified_body, row.certificate.notified_body_name)
        return dict(sorted(bodies.items()))

    def actor(self, srn: str) -> Actor | None:
        """The actor with this SRN."""
        return self._actors.get(srn) or self._archive.actor(srn)

    def actor_as_of(self, srn: str, moment: datetime) -> Actor | None:
        """An actor as it stood at a moment."""
        stamp = timestamp(moment)
        past = (before for changed_at, before in self._actor_history.get(srn, []) if changed_at > stamp)
        return next(past, self.actor(srn))

    def certificate_as_of(self, ulid: str, moment: datetime) -> CertificateListing | None:
        """The latest version of a certificate as it was listed at a moment, or `None` where it was not."""
        row = self._listings.as_of(ulid, timestamp(moment))
        return row and self._as_of(row, moment)

    def certificates_as_of(self, wanted: CertificateFilter, moment: datetime) -> list[CertificateListing]:
        """The latest versions of certificates that passed a filter at a moment."""
        return [self._as_of(row, moment) for row in self._listings.search_as_of(wanted, timestamp(moment))]

    # Changing

    @property
    def certificate_versions(self) -> VersionKeys:
        """Whether a new version of a certificate keeps the uuid, and whether the old row stays where it does not."""
        return self._listings.version_keys

    @certificate_versions.setter
    def certificate_versions(self, keys: VersionKeys) -> None:
        self._listings.version_keys = keys

    def list_certificate(
        self,
        srn: str,
        *,
        basic_udis: Iterable[str] = (),
        names_devices: bool | None = None,
        **fields: Unpack[CertificateFields],
    ) -> CertificateListing:
        """List a new certificate of a manufacturer; the devices under `basic_udis` have it then.

        The scopes name them, unless `names_devices` says otherwise. Fields that are left out are made up. Raises
        `KeyError` for an unknown SRN.
        """
        holder, serial = self._known(srn), self.change_log.written
        certificate = replace(_certificate(serial, self.now()[:10]), **fields)
        uuid = derived_uuid("listed certificate", srn, str(serial))
        covered = tuple(basic_udis)
        names = bool(covered) if names_devices is None else names_devices
        row = replace(listing(uuid, certificate, holder.party, covered), names_devices=names, version_date=self.now())
        return self._list(row)

    def twin_certificate(self, uuid: str) -> CertificateListing:
        """List a certificate once more, with another uuid and ulid. Raises `KeyError` for an unknown uuid."""
        row = self._latest(uuid)
        twin = derived_uuid("twin", uuid, str(self.change_log.written))
        return self._list(replace(row, uuid=twin, ulid=derived_ulid(twin), version_number=1))

    def change_certificate(
        self, uuid: str, /, *, basic_udis: Iterable[str] | None = None, **fields: Unpack[CertificateFields]
    ) -> CertificateListing:
        """Change a listed certificate, for all registrations that have it; this makes a new version.

        Of twins only this one changes. Raises `KeyError` for an unknown uuid and for an old version.
        """
        before = self._latest(uuid)
        covered = before.basic_udis if basic_udis is None else tuple(basic_udis)
        after = replace(before, certificate=replace(before.certificate, **fields), basic_udis=covered)
        now = self.now()
        changed = self._listings.change(before, after, now)
        self._log_pairs([(before, changed)], now)
        return self._present(changed)

    def unlist_certificate(self, uuid: str) -> None:
        """Take a certificate out of the search, and out of registrations. Raises `KeyError` for an unknown uuid."""
        row, now = self._latest(uuid), self.now()
        self._listings.unlist(row, now)
        self._log_pairs([(row, None)], now)

    def refuse_application(
        self, srn: str, *, reference: str = "", procedure: str = PROCEDURES[0], notified_body: str = "0123"
    ) -> RefusedApplication:
        """An application of a manufacturer is refused today. Raises `KeyError` for an unknown SRN."""
        holder, now = self._known(srn), self.now()
        uuid = derived_uuid("refused", srn, str(self.change_log.written))
        refused = RefusedApplication(
            uuid=uuid,
            ulid=derived_ulid(uuid),
            reference=reference or f"APP-{notified_body}-{90_000 + len(self._refused)}",
            procedure=procedure,
            refused_on=now[:10],
            manufacturer=holder.party,
            notified_body=notified_body,
        )
        self._refused.append(refused)
        self.change_log.write(Change(now, uuid, None, srn, "application", None, refused))
        return refused

    def now(self) -> str:
        """The present moment as the register writes it."""
        return timestamp(self._clock())

    # Inside

    def _list(self, row: CertificateListing) -> CertificateListing:
        now = self.now()
        self._log_pairs([(None, self._listings.add(row, now))], now)
        return row

    def _log_pairs(self, pairs: list[Pair], now: str) -> None:
        """Write what became of rows into the change log."""
        for before, after in pairs:
            row = after or before
            if row is None:
                continue
            key = now, row.uuid, None, row.manufacturer.srn
            old, new = before and before.certificate, after and after.certificate
            if old is None or new is None:
                self.change_log.write(Change(*key, "certificate", old, new))
                continue
            for field in _LOGGED:
                was, becomes = getattr(old, field), getattr(new, field)
                if was != becomes:
                    self.change_log.write(Change(*key, f"certificate_{field}", was, becomes))

    def _latest(self, uuid: str) -> CertificateListing:
        row = self._listings.row(uuid)
        if row is None or not row.latest_version:
            raise KeyError(uuid)
        return row

    def _known(self, srn: str) -> Actor:
        holder = self.actor(srn)
        if holder is None:
            raise KeyError(srn)
        return holder

    def _as_of(self, row: CertificateListing, moment: datetime) -> CertificateListing:
        holder = self.actor_as_of(row.manufacturer.srn, moment)
        return replace(row, manufacturer=holder.party) if holder else row

    def _present(self, row: CertificateListing) -> CertificateListing:
        return replace(row, manufacturer=self._party(row.manufacturer))

    def _party(self, party: Party) -> Party:
        changed = self._actors.get(party.srn)
        return changed.party if changed else party


def timestamp(moment: datetime) -> str:
    """A moment as the register writes it: milliseconds, no zone."""
    return moment.isoformat(timespec="milliseconds")


def _certificate(serial: int, today: str) -> Certificate:
    """A certificate of today for five years."""
    return Certificate(
        number=f"Z-0123-{serial:06d}",
        revision=None,
        expiry=f"{int(today[:4]) + 5}-{today[5:7]}-{min(28, int(today[8:])):02d}",
        starting_validity=today,
        issue_date=today,
        notified_body="0123",
        notified_body_name="TÜV SÜD Product Service GmbH",
        type="MDR_QUALITY_MANAGEMENT_SYSTEM",
        status="issued",
        listed_in="certificate-search",
    )
