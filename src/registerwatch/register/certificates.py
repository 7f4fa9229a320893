"""Certificates, refused applications and notified bodies as the register lists them for the whole of it.

`Certificate` of `models.py` is what a device names. `RegisteredCertificate` is a row of the register's certificate
search, which names the manufacturer; only its scopes may name devices.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from registerwatch.register.models import field_doc

NUMBER, REVISION, EXPIRY, STATUS, REFUSED = (
    "certificate",
    "cert_revision",
    "cert_expiry",
    "cert_status",
    "cert_refused",
)
"""Names of changes of a manufacturer's certificates; changes that devices also have share their names."""


MAX_NAMED = 20_000
"""Basic UDI-DIs of one certificate that are kept. One with this many may name more."""
MAX_NUMBER, MAX_BODY, MAX_REVISION = 200, 20, 100
"""The longest values that certificates are identified by. A row with a longer one is not read: its beginning would be
another value, and PostgreSQL has no indexes of very long values.
"""


MAX_SHOWN_REVISION = 20


def certificate_name(number: str, revision: str) -> str:
    """A certificate's name for people: `Z-25-052, revision 01`; either may be empty."""
    shown = shown_revision(revision)
    return ", ".join(filter(None, [number, f"revision {shown}" if shown else ""]))


def shown_revision(revision: str) -> str:
    """The revision for people; empty where it is longer than others or has unprintable characters."""
    return revision if len(revision) <= MAX_SHOWN_REVISION and revision.isprintable() else ""


def is_long(number: str, body: str, revision: str = "") -> bool:
    """Whether a certificate's number, notified body or revision is too long to be looked up by."""
    return len(number) > MAX_NUMBER or len(body) > MAX_BODY or len(revision) > MAX_REVISION


class RegisteredCertificate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A certificate that the certificate search lists. Texts are empty and dates null where the register has none."""

    id: str
    """The register's ulid, which stays when a version gets another uuid; its uuid where it has none."""
    uuid: str
    srn: str
    actor_name: str = ""
    notified_body: str = ""
    number: str
    revision: str = ""
    type_code: str = ""
    status_code: str = ""
    issue_date: str | None = None
    valid_from: str | None = None
    expiry: str | None = None
    version: int | None = None
    is_latest: bool = True

    @property
    def listing_key(self) -> str:
        """Identifies a row of the list, which may have old versions beside the present one."""
        return self.uuid

    @property
    def own_number(self) -> tuple[str, str, str]:
        """The key that revisions of a certificate share: manufacturer, notified body and number."""
        return self.srn, self.notified_body, self.number

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The key that twins share: records that the register lists under several ids."""
        return *self.own_number, self.revision


class Scope(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a certificate is for. Most scopes name no device."""

    basic_udi: Annotated[str, field_doc("Basic UDI-DI, missing where the scope names none.", "++E494ZIRKON5F5")] = ""
    risk_class_code: Annotated[
        str, field_doc("The register's code of the risk class.", "refdata.risk-class.class-iia")
    ] = ""
    device_type_codes: Annotated[
        tuple[str, ...], field_doc("The register's codes of the types of devices.", ["refdata.device-type.sterile"])
    ] = ()
    description: Annotated[str, field_doc("The notified body's own words.", "Zirconia blanks")] = ""


class CertificateDocument(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A document that the register has of a certificate, without its content."""

    uuid: str
    name: str = ""
    """The name of the file, as the notified body gave it."""
    size: int | None = None
    """Bytes, as the register says."""
    content_type: str = ""


class CertificateFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Further facts in the record of a certificate. They are not compared."""

    status_reason_codes: tuple[str, ...] = ()
    """Why its status changed, by the register's codes."""
    additional_reason: str = ""
    """The reason in the notified body's own words."""
    decision_date: str | None = None
    documents: tuple[CertificateDocument, ...] = ()


class ReadCertificate(msgspec.Struct, frozen=True):
    """The record of a certificate, as it was read."""

    scopes: Sequence[Scope]
    facts: CertificateFacts = CertificateFacts()


class Refusal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An application for a certificate that a notified body refused."""

    id: str
    """The register's ulid, or its uuid where it has none."""
    srn: str = ""
    actor_name: str = ""
    notified_body: str = ""
    reference: str
    procedure_code: str = ""
    refused_on: str | None = None

    @property
    def listing_key(self) -> str:
        """Identifies a row of the list."""
        return self.id

    @property
    def identity(self) -> tuple[str, str, str]:
        """The key that records of one application share."""
        return self.srn, self.notified_body, self.reference


class NotifiedBody(msgspec.Struct, frozen=True, gc=False):
    """A notified body: its number of four digits, and its name."""

    number: str
    name: str


class CertificateChange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One changed field of a manufacturer's certificates, in the form of changes in events.

    `certificate` is the number of the certificate whose field it is, null for a refused application; `revision` is its
    revision, null where the register gives none. `standing` is how a new certificate, or a next revision of another
    status, stands by its status, null where that leaves it plainly valid.
    """

    field: str
    old: str
    new: str
    certificate: str | None = None
    revision: str | None = None
    standing: str | None = None


class StoredCertificate(msgspec.Struct, frozen=True):
    """A stored certificate. `last_expiry` is the last one that the register had."""

    certificate: RegisteredCertificate
    last_expiry: str | None = None
    unlisted_at: int | None = None
    """When the first complete walk began that did not list it, None while it is listed."""

    @property
    def is_listed(self) -> bool:
        """Whether the last complete walk, or one after it, listed it."""
        return self.unlisted_at is None


class WrittenCertificate(msgspec.Struct, frozen=True):
    """A certificate to store; `before` is the stored one, None for a new one."""

    certificate: RegisteredCertificate
    last_expiry: str | None
    visible_at: int
    before: StoredCertificate | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it differs from before, so that its scopes may differ too."""
        return self.before is None or self.certificate != self.before.certificate


class CertificateNews(msgspec.Struct, frozen=True):
    """Changes of one record, for the watches of its manufacturer."""

    srn: str
    certificate_id: str
    changes: tuple[CertificateChange, ...]
    visible_at: int


_scopes_decoder = msgspec.json.Decoder(tuple[Scope, ...])
_facts_decoder = msgspec.json.Decoder(CertificateFacts)
_encoder = msgspec.json.Encoder()


def encoded_scopes(scopes: Sequence[Scope]) -> str:
    """JSON of scopes for storing."""
    return _encoder.encode(scopes).decode()


def decoded_scopes(stored: str) -> tuple[Scope, ...]:
    """Stored scopes."""
    return _scopes_decoder.decode(stored)


def encoded_facts(facts: CertificateFacts) -> str:
    """JSON of facts for storing."""
    return _encoder.encode(facts).decode()


def decoded_facts(stored: str) -> CertificateFacts:
    """Stored facts."""
    return _facts_decoder.decode(stored)


def encoded_changes(changes: Sequence[CertificateChange]) -> str:
    """JSON of changes for storing."""
    return _encoder.encode(changes).decode()


def named_devices(scopes: Sequence[Scope]) -> list[str]:
    """The Basic UDI-DIs that scopes name, in order, each once."""
    return list(dict.fromkeys(scope.basic_udi for scope in scopes if scope.basic_udi))
