"""What the stand-in knows of a registration, an actor and a certificate, whatever the form it is sent in.

Codes are kept without their `refdata.…` prefix. Dates and timestamps are kept as the register writes them:
`2026-03-05` and `2026-03-05T16:44:01.103`, Brussels local time without a zone.
"""

from typing import Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from registerwatch_standins.register.countries import MARKET_COUNTRIES

IssuingAgency = Literal["gs1", "hibcc", "iccbba"]
ListedIn = Literal["basic-udi-record", "certificate-search"]
Criterion = Literal["STANDARD", "LEGACY", "SPP"]
CodeKind = Literal["unit_of_use", "direct_marking", "secondary", "container_package"]

BRUSSELS = ZoneInfo("Europe/Brussels")
DIRECTIVES = frozenset({"mdd", "aimdd", "ivdd"})
DEVICE_STATUSES = ("on-the-market", "no-longer-on-the-market", "not-intended-for-eu-market")
_CERTIFICATE_STATUSES = (
    "issued supplemented amended reissued reinstated restricted suspended withdrawn cancelled expired"
)
CERTIFICATE_STATUSES = tuple(_CERTIFICATE_STATUSES.split())
MEASURED_STATUSES = tuple(each for each in CERTIFICATE_STATUSES if each not in ("reinstated", "expired"))
"""Those of certificates that were found in the register: that one has expired only its date tells."""
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


class Condition(Struct, frozen=True, omit_defaults=True):
    """A condition of storage or handling (`SHC005`) or a warning (`CW018`), with words of its own where it has some."""

    code: str
    words: str | None = None


class ClinicalSize(Struct, frozen=True, omit_defaults=True):
    """A clinical size: its type (`CST19`) and a value in a unit (`MU50`), a range, or a text."""

    type: str
    value: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    unit: str | None = None
    text: str | None = None


class LinkedDevice(Struct, frozen=True):
    """The registration under a directive of the same device."""

    primary_di: str
    linked_on: str


class Sscp(Struct, frozen=True):
    """The summary of safety and clinical performance that a Basic UDI-DI record refers to."""

    reference: str
    revision: str
    issue_date: str


class Registration(Struct, frozen=True):
    """One record of the register. `uuid` is unique; `primary_di` is not.

    What `OF_BASIC_UDI` names is that of the Basic UDI-DI record, and the same in all registrations under it.
    """

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
    single_use: bool | None = None
    max_reuses: int | None = None
    storage: tuple[Condition, ...] = ()
    warnings: tuple[Condition, ...] = ()
    clinical_sizes: tuple[ClinicalSize, ...] = ()
    markets: tuple[str, ...] | None = tuple(MARKET_COUNTRIES)
    """Where it is made available, by ISO codes; null where nothing is told."""
    legacy_twin: LinkedDevice | None = None
    special_type: str | None = None
    sscp: Sscp | None = None
    basic_version: int = 1
    """The version of the Basic UDI-DI record, whose last update is `last_updated`."""
    registered: str = ""
    """When it was registered, empty for `version_date`."""

    @property
    def criterion(self) -> Criterion:
        """`LEGACY` under a directive, `SPP` for a system or procedure pack, else `STANDARD`."""
        if self.legislation in DIRECTIVES:
            return "LEGACY"
        return "SPP" if "-PR-" in self.manufacturer.srn else "STANDARD"

    @property
    def basic_code(self) -> str:
        """The code of its Basic UDI-DI record: under a directive mostly that of EUDAMED, made of the UDI-DI."""
        return self.basic_udi or f"B-{self.primary_di}"

    @property
    def trade_name(self) -> str | None:
        """The one text that a search row shows: English where there is one, else the first."""
        if not self.trade_names:
            return None
        return self.trade_names.get("en") or next(iter(self.trade_names.values()))


OF_BASIC_UDI = frozenset(
    {"device_name", "model", "risk_class", "implantable", "reusable", "special_type", "sscp", "basic_version"}
)
"""Beside these, certificates that the record lists and the time of its last update."""


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
