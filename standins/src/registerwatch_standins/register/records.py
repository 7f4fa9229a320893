"""What the stand-in knows of a registration, an actor and a certificate, whatever the form it is sent in.

Codes are kept without their `refdata.…` prefix. Dates and timestamps are kept as the register writes them:
`2026-03-05` and `2026-03-05T16:44:01.103`, Brussels local time without a zone.
"""

from typing import Literal

from msgspec import Struct

IssuingAgency = Literal["gs1", "hibcc", "iccbba"]
ListedIn = Literal["basic-udi-record", "certificate-search"]
Criterion = Literal["STANDARD", "LEGACY", "SPP"]
CodeKind = Literal["unit_of_use", "direct_marking", "secondary", "container_package"]

DIRECTIVES = frozenset({"mdd", "aimdd", "ivdd"})
DEVICE_STATUSES = ("on-the-market", "no-longer-on-the-market", "not-intended-for-eu-market")
_CERTIFICATE_STATUSES = (
    "issued supplemented amended reissued reinstated restricted suspended withdrawn cancelled expired"
)
CERTIFICATE_STATUSES = tuple(_CERTIFICATE_STATUSES.split())
ACTOR_STATUSES = ("active", "inactive")
ACTOR_TYPES = {
    "MF": "manufacturer",
    "AR": "authorised-representative",
    "IM": "importer",
    "PR": "system-procedure-pack-producer",
}


class Party(Struct, frozen=True):
    """An actor as a registration names it."""

    srn: str
    name: str
    status: str = "active"


class Certificate(Struct, frozen=True):
    """A certificate as the register lists it in one of its two disjoint places.

    `type` is a name such as `MDD_II_EX_4` or `MDR_QUALITY_MANAGEMENT_SYSTEM`.
    """

    number: str
    revision: str | None
    expiry: str | None
    starting_validity: str | None
    issue_date: str | None
    notified_body: str
    notified_body_name: str
    type: str
    status: str
    listed_in: ListedIn


class CertificateListing(Struct, frozen=True):
    """A row of the certificate search: a certificate, whose it is, and the Basic UDI-DIs that it covers.

    `ulid` stays when a new version comes under another uuid. `names_devices` says whether the scopes name those Basic
    UDI-DIs; null leaves it to the world.
    """

    uuid: str
    ulid: str
    certificate: Certificate
    manufacturer: Party
    basic_udis: tuple[str, ...]
    version_number: int = 1
    version_date: str | None = None
    latest_version: bool = True
    names_devices: bool | None = None


class RefusedApplication(Struct, frozen=True):
    """An application for a certificate that a notified body refused."""

    uuid: str
    ulid: str
    reference: str
    procedure: str
    refused_on: str
    manufacturer: Party
    notified_body: str


class OtherCode(Struct, frozen=True, omit_defaults=True):
    """A code of a device that is not its UDI-DI. `contains` is what a package holds: the UDI-DI, or another package."""

    code: str
    kind: CodeKind
    quantity: int | None = None
    contains: str = ""


class Registration(Struct, frozen=True):
    """One record of the register. `uuid` is unique; `primary_di` is not."""

    uuid: str
    primary_di: str
    issuing_agency: IssuingAgency
    basic_udi: str | None
    device_name: str | None
    model: str | None
    trade_names: dict[str, str] | None
    reference: str | None
    risk_class: str
    legislation: str
    status: str
    status_date: str | None
    emdn: tuple[str, ...]
    manufacturer: Party
    authorised_representative: Party | None
    certificates: tuple[Certificate, ...]
    version_number: int
    latest_version: bool
    version_date: str
    last_updated: str
    other_codes: tuple[OtherCode, ...] = ()
    sterile: bool | None = None
    latex: bool | None = None
    implantable: bool | None = None
    reusable: bool | None = None

    @property
    def criterion(self) -> Criterion:
        """`LEGACY` under a directive, `SPP` for a system or procedure pack, else `STANDARD`."""
        if self.legislation in DIRECTIVES:
            return "LEGACY"
        return "SPP" if "-PR-" in self.manufacturer.srn else "STANDARD"

    @property
    def trade_name(self) -> str | None:
        """The one text that a search row shows: English where there is one, else the first."""
        if not self.trade_names:
            return None
        return self.trade_names.get("en") or next(iter(self.trade_names.values()))


class Actor(Struct, frozen=True):
    """An economic operator. Contact data are made up when an actor is sent, and never kept."""

    uuid: str
    srn: str
    type: str
    name: str
    language: str | None
    country: str
    status: str
    registered: str
    last_updated: str
    version_number: int
    street: str
    building: str
    postal_zone: str
    city: str
    website: str | None

    @property
    def party(self) -> Party:
        """The actor as a registration names it."""
        return Party(self.srn, self.name, self.status)
