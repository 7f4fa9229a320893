"""Certificates of manufacturers for the surfaces: the stored ones, how completely the register was read, and when.

"There is none", "it was not read yet" and "it could not be read" are three answers; `ListKnowledge` says which.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum

import msgspec

from registerwatch.copy.certificates.certificate_queries import (
    CertificateCounts,
    CertificateQueries,
    CertificateSelection,
    StoredCertificate,
    StoredRefusal,
    StoredWalk,
)
from registerwatch.errors import InvalidInput
from registerwatch.lookup.certificate_history import ObservedChange, observed_changes
from registerwatch.platform.clock import utc_in_words
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.certificate_reads import (
    NamedCertificate,
    NewerRead,
    confirmed_at,
    listed_otherwise,
    newer_reads,
)
from registerwatch.register.certificate_states import shown_certificate
from registerwatch.register.certificates import CertificateDocument, CertificateFacts, decoded_facts
from registerwatch.register.models import Certificate, Device

CERTIFICATES, REFUSALS = "certificates", "refusals"
"""Names of the lists, as `walks` has them."""
_IN_WORDS = {CERTIFICATES: "certificates", REFUSALS: "refused applications"}
MAX_ID_LENGTH = 64
MAX_REFUSALS = 100
MAX_BASIC_UDIS = 1_000
"""Basic UDI-DIs that are shown for one certificate."""
MAX_CHANGES = 50
"""Changes of a certificate that are shown, the last ones."""
MAX_SHOWN = 20
"""Certificates that are shown beside something else: an actor, a device."""
MAX_PROBLEM_LENGTH = 300
ID_PATTERN = f"^[0-9A-Za-z-]{{1,{MAX_ID_LENGTH}}}$"
_ID = re.compile(ID_PATTERN.replace("$", r"\Z"))


class ListState(StrEnum):
    """The state of a list of the register."""

    COMPLETE = "complete"
    """It was read whole at the last attempt: what is not stored is not listed."""
    OUTDATED = "outdated"
    """It was read whole before, and the last attempt failed."""
    FAILED = "failed"
    """It was never read whole, and the last attempt failed."""
    UNREAD = "unread"
    """It was not read yet."""


class ListKnowledge(msgspec.Struct, frozen=True):
    """The last read of a list. `as_of`: when it was last read completely, None where it never was."""

    name: str
    as_of: int | None = None
    problem: str = ""

    @classmethod
    def of(cls, name: str, walk: StoredWalk | None) -> "ListKnowledge":
        """The knowledge from a stored walk, None where none has begun."""
        return cls(name) if walk is None else cls(name, walk.complete_at, walk.problem[:MAX_PROBLEM_LENGTH])

    @property
    def state(self) -> ListState:
        """The state of the list."""
        if self.as_of is None:
            return ListState.FAILED if self.problem else ListState.UNREAD
        return ListState.OUTDATED if self.problem else ListState.COMPLETE

    @property
    def error(self) -> str | None:
        """Why the stored records may be incomplete, as sentences; else None."""
        words = _IN_WORDS[self.name]
        if self.state is ListState.UNREAD:
            return f"The register’s list of {words} has not been read yet."
        if self.state is ListState.FAILED:
            return f"The register’s list of {words} could not be read. {self.problem}"
        if self.state is ListState.OUTDATED:
            return f"The register’s list of {words} could not be read again. {self.problem}"
        return None


class CertificatesPage(msgspec.Struct, frozen=True):
    """A page of certificates, how many there are, how many beside them have no date of expiry."""

    page: RowPage[StoredCertificate]
    counts: CertificateCounts
    knowledge: ListKnowledge
    of_devices: Sequence[NamedCertificate] = ()
    """Where a number was asked for: certificates that only records of devices name."""


class CertificatesOfActor(msgspec.Struct, frozen=True):
    """The certificates of a manufacturer that were registered last, and how many it has."""

    certificates: Sequence[StoredCertificate]
    total: int
    knowledge: ListKnowledge


class RefusalsOfActor(msgspec.Struct, frozen=True):
    """Refused applications of a manufacturer."""

    page: RowPage[StoredRefusal]
    knowledge: ListKnowledge


class CertificateDetails(msgspec.Struct, frozen=True):
    """A certificate with its scopes and the rest of its record, None where these were never read."""

    certificate: StoredCertificate
    scopes: "Sequence[StoredScope] | None"
    facts: CertificateFacts | None
    basic_udis: Sequence[str]
    knowledge: ListKnowledge
    history: Sequence[ObservedChange]
    has_older_history: bool

    @property
    def documents(self) -> Sequence[CertificateDocument]:
        """The documents that its record names."""
        return self.facts.documents if self.facts is not None else ()


class NoCertificate(msgspec.Struct, frozen=True):
    """There is no such certificate to show. `reason` says whether the register has none or it was not read."""

    id: str
    reason: str
    knowledge: ListKnowledge


class StoredScope(msgspec.Struct, frozen=True, gc=False):
    """A scope of a certificate, as stored."""

    basic_udi: str = ""
    risk_class_code: str = ""
    device_type_codes: tuple[str, ...] = ()
    description: str = ""


class CertificateService:
    """Certificates in one database."""

    def __init__(self, queries: CertificateQueries) -> None:
        self._queries = queries

    async def find(self, selection: CertificateSelection, limit: int, after: str | None = None) -> CertificatesPage:
        """A page of a selection, the last registered ones first, after the one with the id `after`."""
        page, counts, walks, of_devices = await asyncio.gather(
            self._queries.page(selection, limit, after),
            self._queries.counts(selection),
            self._queries.walks(),
            self._of_devices(selection),
        )
        return CertificatesPage(page, counts, ListKnowledge.of(CERTIFICATES, walks.get(CERTIFICATES)), of_devices)

    async def of_actor(self, srn: str, limit: int = MAX_SHOWN) -> CertificatesOfActor:
        """The last registered certificates of a manufacturer. Quick: they are shown beside hot reads."""
        found, total = await self._queries.newest_of(srn, limit)
        walks = await self._queries.walks()  # two tasks would cost more than they save
        return CertificatesOfActor(found, total, ListKnowledge.of(CERTIFICATES, walks.get(CERTIFICATES)))

    async def everything_of_actor(self, srn: str, limit: int) -> tuple[CertificatesOfActor, RefusalsOfActor]:
        """The certificates and refused applications of a manufacturer."""
        (found, total), refused, walks = await asyncio.gather(
            self._queries.newest_of(srn, limit), self._queries.refusals_of(srn, MAX_REFUSALS), self._queries.walks()
        )
        certificates = CertificatesOfActor(found, total, ListKnowledge.of(CERTIFICATES, walks.get(CERTIFICATES)))
        return certificates, RefusalsOfActor(refused, ListKnowledge.of(REFUSALS, walks.get(REFUSALS)))

    async def refusals(self, srn: str) -> RefusalsOfActor:
        """The refused applications of a manufacturer."""
        page, walks = await asyncio.gather(self._queries.refusals_of(srn, MAX_REFUSALS), self._queries.walks())
        return RefusalsOfActor(page, ListKnowledge.of(REFUSALS, walks.get(REFUSALS)))

    async def read(self, certificate_id: str) -> CertificateDetails | NoCertificate:
        """One certificate by the register's ulid or uuid. Raises `InvalidInput` for any other id."""
        if not _ID.match(certificate_id):
            raise InvalidInput("Send the register’s id of a certificate, such as c266239c-462c-4840-9017-4efac3289fbc.")
        spellings = list(dict.fromkeys((certificate_id, certificate_id.lower(), certificate_id.upper())))
        found, walks = await asyncio.gather(self._queries.with_id(spellings), self._queries.walks())
        knowledge = ListKnowledge.of(CERTIFICATES, walks.get(CERTIFICATES))
        if found is None:
            return NoCertificate(certificate_id, _why_none(knowledge), knowledge)
        certificate, scopes = found.certificate, found.scopes
        basic_udis = await self._queries.basic_udis(certificate.id, MAX_BASIC_UDIS)
        history = await self._queries.history(found, MAX_CHANGES)
        return CertificateDetails(
            certificate,
            None if scopes is None else _scopes.decode(scopes),
            None if found.facts is None else decoded_facts(found.facts),
            basic_udis,
            knowledge,
            observed_changes(certificate, history.rows),
            history.more or any(each.dropped_at is not None for each in history.rows[-1:]),
        )

    async def newer_reads(self, device: Device, read_at: str | None, today: date) -> Mapping[Certificate, NewerRead]:
        """The certificates of a device, whose own were last read at `read_at`, of which a newer read differs: one of
        the register's list, or one of another device of its manufacturer; the latter not where the list, read later
        still, has what the device has.
        """
        numbers = {each.number for each in device.certs if each.number}
        if read_at is None or not numbers or not device.manufacturer_srn:
            return {}
        reads, lists = await self._queries.reads_and_lists(device.manufacturer_srn, numbers)
        others = [each for each in reads if each.read.udi != device.udi]
        own = [shown_certificate(each, today) for each in device.certs]
        listed = same_certificates(device.certs, lists)
        confirmed = [confirmed_at(each, same, today) for each, same in zip(own, listed, strict=True)]
        found = newer_reads(own, [max(read_at, each) for each in confirmed], others, today)
        later = [
            None if each.certificate.scoped else listed_otherwise(each, read_at, same, own, today)
            for each, same in zip(own, listed, strict=True)
        ]
        return {
            each.certificate: NewerRead(each, instant if each.certificate.scoped and instant else read_at, *newer)
            for each, instant, *newer in zip(own, confirmed, found, later, strict=True)
            if any(newer)
        }

    async def _of_devices(self, selection: CertificateSelection) -> Sequence[NamedCertificate]:
        """Certificates with the number of a selection that only records of devices name, of its manufacturer and its
        notified body.
        """
        if selection.number is None:
            return ()
        return await self._queries.of_devices_alone(
            selection.number, MAX_SHOWN, srn=selection.srn, notified_body=selection.notified_body
        )

    async def naming(self, basic_udi: str, certificates: Sequence[StoredCertificate]) -> frozenset[str]:
        """Ids of those certificates whose scopes name a Basic UDI-DI."""
        return await self._queries.naming(basic_udi, (each.id for each in certificates)) if basic_udi else frozenset()


_scopes = msgspec.json.Decoder(tuple[StoredScope, ...])


def _why_none(knowledge: ListKnowledge) -> str:
    if knowledge.as_of is None:
        return knowledge.error or ""
    read_at = utc_in_words(knowledge.as_of)
    return " ".join(filter(None, (f"The register had no certificate with this id on {read_at}.", knowledge.error)))
