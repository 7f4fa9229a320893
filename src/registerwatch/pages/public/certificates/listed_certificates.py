"""Sections with a manufacturer's certificates: on its own page, a device's page and a watch's page."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from functools import cached_property

import msgspec
from markupsafe import Markup

from registerwatch.bootstrap import Service
from registerwatch.copy.certificates.certificate_queries import StoredCertificate, StoredRefusal
from registerwatch.copy.certificates.device_certificates import replaced
from registerwatch.lookup.certificate_proof import what_it_proves
from registerwatch.lookup.certificate_service import CertificatesOfActor, ListKnowledge, ListState, RefusalsOfActor
from registerwatch.lookup.certificate_summary import instant_or_none
from registerwatch.lookup.devices import ServedDevice
from registerwatch.pages.rendering import moment
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.certificate_identity import may_be_same, same_certificates
from registerwatch.register.certificate_kinds import kind_of_certificate, what_was_examined
from registerwatch.register.certificate_reads import DeviceRead, ListedStanding, NamedCertificate
from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.models import Certificate

MAX_ON_PAGE = 100
MAX_BESIDE = 10
"""Certificates of a manufacturer on the page of a device or a watch; its own page has the rest."""

BY_SCOPE = "Its scope names the Basic UDI-DI of this device"
BY_RECORD = "The register names it for this device"
BY_OLDER_SCOPE = Markup(
    "In doubt: its scope, as of {}, names the Basic UDI-DI of this device; the device’s record, read later, as of {},"
    " does not list it"
)
NOT_THIS = "No proof for this device: neither its scope nor the device’s record names it"
SCOPE_UNREAD = "Not known: its scope was not read yet, and the device’s record does not name it"


class CertificateRow(msgspec.Struct, frozen=True, dict=True):
    """A certificate on a day. `of_device` is its relation to the device of the page; empty on other pages."""

    certificate: StoredCertificate
    today: date
    of_device: str = ""
    own: DeviceRead | None = None
    """The certificate in the record of that device."""

    @property
    def kind(self) -> str:
        """The kind of certificate in words."""
        return kind_of_certificate(self.certificate.type_code)

    @property
    def examined(self) -> str:
        """What was examined for it, empty if its kind does not say."""
        return what_was_examined(self.certificate.type_code)

    @cached_property
    def standing(self) -> ListedStanding:
        """Its standing at the newest read."""
        return self.certificate.standing(self.today, self.own)

    @property
    def shown(self) -> ShownCertificate:
        """The certificate with its state."""
        return self.standing.shown

    @property
    def is_over(self) -> bool:
        """Whether its status, its date or the register's list has ended it."""
        return self.shown.state.tone == "bad"

    @property
    def is_unlisted(self) -> bool:
        """Whether the register no longer lists it."""
        return self.certificate.unlisted_at is not None

    @property
    def proves(self) -> str:
        """What it proves and what it does not."""
        return what_it_proves(self.certificate, self.today)

    @property
    def order(self) -> tuple[bool, bool, bool, bool, bool, int, str]:
        """The sort key: certificates for the device, then in force, then possible or future ones; no longer listed ones
        last. In each group they are in the order of their ends, undated ones last.
        """
        names = self.of_device in (BY_SCOPE, BY_RECORD)
        left = self.shown.remaining
        end = -(left or 0) if self.is_over else left or 0
        standing = not self.shown.counts, self.is_over, self.is_unlisted
        return not names, *standing, left is None, end, self.certificate.id


class CertificateOfDevice(msgspec.Struct, frozen=True):
    """A certificate on a day that only records of devices name."""

    found: NamedCertificate
    today: date

    @property
    def shown(self) -> ShownCertificate:
        """The certificate with its state."""
        return self.found.shown(self.today)

    @property
    def as_named(self) -> ShownCertificate:
        """The certificate as the record had it."""
        return self.found.as_named(self.today)


class CertificateSection(msgspec.Struct, frozen=True):
    """Certificates of a manufacturer and refused applications; `most` rows of them are shown."""

    srn: str
    rows: Sequence[CertificateRow]
    total: int
    knowledge: ListKnowledge
    refused: Sequence[StoredRefusal] = ()
    has_more_refused: bool = False
    refusals: ListKnowledge = msgspec.field(default_factory=lambda: ListKnowledge("refusals"))
    most: int = MAX_ON_PAGE

    @property
    def shown(self) -> Sequence[CertificateRow]:
        """The rows that are shown."""
        return self.rows[: self.most]

    @property
    def is_cut(self) -> bool:
        """Whether there are more rows than shown."""
        return self.total > len(self.shown)

    @property
    def as_of(self) -> str | None:
        """When the register's list was last read completely."""
        return instant(self.knowledge)

    @property
    def refusals_as_of(self) -> str | None:
        """`as_of` of refused applications."""
        return instant(self.refusals)

    @property
    def says_none(self) -> bool:
        """Whether an empty section means that the register lists none."""
        return self.knowledge.as_of is not None

    @property
    def notice(self) -> tuple[str, str]:
        """What is not known, as words and a tone; empty words if the list was read completely."""
        return notice_of(self.knowledge)

    @property
    def refusals_notice(self) -> tuple[str, str]:
        """What is not known of refused applications, if that differs from `notice`."""
        return notice_of(self.refusals) if self.refusals.state is not self.knowledge.state else ("", "")


async def section_of_actor(service: Service, srn: str, today: date, *, most: int = MAX_ON_PAGE) -> CertificateSection:
    """Everything of a manufacturer on a day."""
    found, refused = await service.certificates.everything_of_actor(srn, MAX_ON_PAGE)
    rows = _rows(found, today)
    return CertificateSection(srn, rows, found.total, found.knowledge, *_of_refusals(refused), most)


async def section_beside_device(service: Service, device: ServedDevice) -> CertificateSection | None:
    """The certificates of a device's manufacturer, those that name the device first; None without a manufacturer."""
    srn = device.manufacturer_srn
    if not srn:
        return None
    found = await service.certificates.of_actor(srn, MAX_ON_PAGE)
    named = await service.certificates.naming(device.basic_udi, found.certificates)
    rows = _rows(found, _today(service), device, named)
    return CertificateSection(srn, rows, found.total, found.knowledge, most=MAX_BESIDE)


def notice_of(knowledge: ListKnowledge) -> tuple[str, str]:
    """What is not known of a list, as words and a tone: it could not be read, or was never read."""
    return knowledge.error or "", "" if knowledge.state is ListState.UNREAD else "warn"


def instant(knowledge: ListKnowledge) -> str | None:
    """When a list was last read completely."""
    return None if knowledge.as_of is None else iso_utc(knowledge.as_of)


def _rows(
    found: CertificatesOfActor, today: date, device: ServedDevice | None = None, named: Collection[str] = ()
) -> list[CertificateRow]:
    """Rows of certificates, with the relation to a device; `named` are ids of those whose scopes name it."""
    listed = found.certificates
    if device is None:
        rows = [CertificateRow(each, today) for each in listed]
    else:
        own = [each for each in device.certs if not each.scoped]  # scoped ones are shown by their scope
        as_of = device.certs_read_at or device.basic_read_at
        rows = [
            CertificateRow(
                each,
                today,
                _what_it_is(each, device, is_named=each.id in named, is_in_record=bool(of)),
                DeviceRead(as_of, of) if as_of is not None and of else None,
            )
            for each, of in _own_of(listed, own, as_of)
        ]
    return sorted(rows, key=lambda row: row.order)


def _own_of(
    listed: Sequence[StoredCertificate], own: Sequence[Certificate], as_of: str | None
) -> Iterable[tuple[StoredCertificate, Sequence[Certificate]]]:
    """Listed certificates, each with those that a device has of it. `as_of` is when the device was read, if known."""
    until = replaced(listed)
    for each, of in zip(listed, same_certificates(listed, own), strict=True):
        is_of_another = as_of is not None and as_of > until.get(each.id, as_of)
        yield each, [] if is_of_another else of


def _what_it_is(certificate: StoredCertificate, device: ServedDevice, *, is_named: bool, is_in_record: bool) -> str:
    if is_named:
        return _named_by_scope(certificate, device)
    if is_in_record:
        return BY_RECORD
    return SCOPE_UNREAD if certificate.scopes_read_at is None else NOT_THIS


def _named_by_scope(certificate: StoredCertificate, device: ServedDevice) -> str:
    """The words for a scope that names a device; they mention a later read of the device that does not list it."""
    scope_as_of, certs_as_of = instant_or_none(certificate.scopes_read_at), device.certs_read_at
    is_read_later = scope_as_of is not None and certs_as_of is not None and certs_as_of > scope_as_of
    if not is_read_later or any(may_be_same(certificate, each) for each in device.certs):
        return BY_SCOPE
    return BY_OLDER_SCOPE.format(moment(scope_as_of), moment(certs_as_of))


def _of_refusals(found: RefusalsOfActor) -> tuple[Sequence[StoredRefusal], bool, ListKnowledge]:
    return found.page.rows, found.page.more, found.knowledge


def _today(service: Service) -> date:
    return day_of(service.clock.now())
