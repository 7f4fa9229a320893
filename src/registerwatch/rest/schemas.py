"""What the JSON interface answers, field by field, for `/openapi.json`.

Answers are encoded from the records themselves; a test holds them against these descriptions.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(description="Empty when the register has nothing.")]


class Described(BaseModel):
    """Base of the descriptions: other fields are not expected."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Described):
    """Every error has this shape. Match on the status code, not on the message."""

    error: str = Field(description="A sentence for a person.", examples=["`page` counts from 1."])


class SearchRow(Described):
    """A device as a search lists it."""

    udi: str = Field(description="UDI-DI (Basic of GS1, HIBCC or ICCBBA), as registered.", examples=["04012345678901"])
    trade_name: str = Field(description="Trade name, empty when none is registered.", examples=["Ceramill Zolid HT+"])
    manufacturer_name: str = Field(description="Manufacturer's name.", examples=["Amann Girrbach AG"])
    manufacturer_srn: str = Field(
        description="Manufacturer's single registration number (SRN).", examples=["AT-MF-000000252"]
    )
    status: str = Field(description="Market status in English.", examples=["On the EU market"])
    status_code: str = Field(
        description="The register's code of the market status.",
        examples=["refdata.device-model-status.on-the-market"],
    )
    risk_class: str = Field(description="Risk class in English.", examples=["Class IIa"])


class SearchAnswer(Described):
    """One page of a search in the stored copy."""

    results: list[SearchRow] = Field(description="8 rows by name or reference, 20 by SRN, the device itself by UDI-DI.")
    total: int = Field(description="Exact number of all results over all pages.", examples=[42])
    match: Literal["udi", "srn", "name", "reference"] = Field(
        description="Which way of looking found the results; `name` when only filters were given."
    )
    refresh: str | None = Field(
        description="Set when `q` is one UDI-DI or one SRN: the address that reads this code from the register anew.",
        examples=["/v1/refresh?q=04012345678901"],
    )
    error: str | None = Field(description="Why the answer may be incomplete, null when it is not.")


class Certificate(Described):
    """A certificate that the register names for the device."""

    number: str = Field(description="Certificate number.", examples=["Z-25-052-S-IX-E"])
    revision: str | None = Field(None, description="Revision, missing when the register has none.", examples=["2"])
    expiry: str | None = Field(
        None, description="Date of expiry, missing when the register has none.", examples=["2030-09-16"]
    )
    status: str | None = Field(
        None, description="Status in English, missing when the register has none.", examples=["Issued"]
    )
    status_code: str | None = Field(
        None, description="The register's code of the status.", examples=["refdata.certificate-status.issued"]
    )
    valid_from: str | None = Field(None, description="Date from which it is valid.", examples=["2025-09-17"])
    type_code: str | None = Field(None, description="The register's code of the kind of certificate.")
    notified_body: str | None = Field(None, description="Number of the notified body.", examples=["0633"])
    notified_body_name: str | None = Field(None, description="Name of the notified body.")


class ActorReference(Described):
    """An actor as a device names it."""

    srn: str = Field(examples=["IE-AR-000004113"], description="Single registration number.")
    name: str = Field(examples=["CS Life Sciences Europe Ltd"], description="Registered name.")


class Device(SearchRow):
    """One device, as the register has it."""

    found: Literal[True] = Field(description="Always true with status 200.")
    status_date: str | None = Field(
        description="Date of the market status, null when unknown.", examples=["2021-10-08"]
    )
    risk_class_code: Text
    manufacturer_status: str = Field(description="Manufacturer's status in English.", examples=["Active"])
    manufacturer_status_code: Text
    basic_udi: str = Field(description="Basic UDI-DI, empty for legacy devices.", examples=["++E494ZIRKON5F5"])
    legislation: str = Field(description="Applicable legislation.", examples=["MDR"])
    legislation_code: Text
    reference: str = Field(description="Catalogue reference.", examples=["766061"])
    version: int | None = Field(
        description="The register's version number of the record, null when unknown.", examples=[1]
    )
    updated: str | None = Field(
        description="Last change of the record in the register, UTC, null when unknown.",
        examples=["2021-10-08T10:42:27Z"],
    )
    device_name: Text
    device_model: Text
    trade_names: dict[str, str] = Field(
        description="Trade names by language code (ISO 639-1); the empty code stands for all languages.",
        examples=[{"en": "Clamp"}],
    )
    emdn: list[str] = Field(description="Codes of the European Medical Device Nomenclature.", examples=[["Q010699"]])
    authorised_representative: ActorReference | None = Field(description="Null when the manufacturer is in the EU.")
    certs: list[Certificate] = Field(
        description="Certificates; empty never means uncertified, only that none is named."
    )
    uuid: str = Field(
        description="The register's own id of the record.", examples=["c7418f9f-3f31-4329-b2c1-956377dbe23b"]
    )
    source: Literal["eudamed-public"] = Field(description="The register's public name.")
    read_at: str = Field(description="When this was last read, UTC.", examples=["2026-11-21T03:38:00Z"])
    error: str | None = Field(description="Why the last attempt to refresh this record failed, null when it did not.")


class DeviceNotFound(Described):
    """There is no such device to show."""

    found: Literal[False] = Field(description="Always false with status 404.")
    udi: str = Field(description="What was asked for.", examples=["04012345678901"])
    error: str = Field(
        description="Whether the register has no such device or could not be read.",
        examples=["The register has no device with this UDI-DI."],
    )


class Actor(Described):
    """An actor and a page of its devices. An empty `name` together with `error` means that it was not found."""

    srn: str = Field(description="Single registration number, as asked for.", examples=["AT-MF-000000252"])
    name: str = Field(description="Registered name.", examples=["Amann Girrbach AG"])
    country: str = Field(description="Country, ISO 3166 code of two letters.", examples=["AT"])
    manufacturer_status: str = Field(description="Status in English.", examples=["Active"])
    manufacturer_status_code: str = Field(description="The register's code.", examples=["refdata.actor-status.active"])
    device_total: int = Field(
        description="The register's count of the actor's registrations; with a filter, the copy's count.",
        examples=[638],
    )
    devices: list[SearchRow] = Field(description="At most 20 of the devices, by `page`.")
    read_at: str | None = Field(description="When the actor was last read, UTC; null when it never was.")
    error: str | None = Field(description="Null, or why the answer is missing, old or incomplete.")


class RefreshAnswer(Described):
    """What a refresh of one code brought. Exactly one of `device` and `actor` is there."""

    refreshed: bool = Field(description="Whether the register answered and the copy now holds what it said.")
    changed: bool = Field(description="Whether that differs from what was stored before.")
    device: Device | DeviceNotFound | None = Field(None, description="For a UDI-DI: the device as it is stored now.")
    actor: Actor | None = Field(None, description="For an SRN: the actor as it is stored now.")
    error: str | None = Field(description="Why nothing was refreshed, null when it was.")


class HealthDatabase(Described):
    """The database behind the service."""

    kind: Literal["sqlite", "postgresql"] = Field(description="Which database it is.")


class HealthCopy(Described):
    """The stored copy."""

    devices: int = Field(description="Stored registrations.", examples=[3200000])
    revision: int = Field(description="Number of the last stored change or read.", examples=[3200417])
    filled_at: str | None = Field(description="End of the last fill, UTC, null when there was none.")
    age_seconds: int | None = Field(description="Seconds since the copy was last brought up to date, null when never.")


class HealthIndex(Described):
    """The search index of this node."""

    devices: int = Field(description="Devices that can be found.", examples=[3150000])
    lag: int = Field(description="Stored changes that cannot be found yet.", examples=[0])


class HealthRegister(Described):
    """Reading the register."""

    last_read_at: str | None = Field(description="Last successful read, UTC, null when there was none.")
    reads: dict[str, int] = Field(description="Reads of this process by result: found, not_found, unreadable.")


class Live(Described):
    """That the process answers."""

    live: Literal[True] = Field(True, description="Always true.")


class Ready(Described):
    """That the process takes requests."""

    ready: Literal[True] = Field(True, description="Always true; a 503 has the shape of an error.")


class Health(Described):
    """Whether the service works, and with what."""

    status: Literal["ok"] = Field(description="`ok` with status 200; a 503 has the shape of an error.")
    version: str = Field(description="Version of the program.", examples=["0.1.0"])
    database: HealthDatabase
    stored_copy: HealthCopy = Field(alias="copy")
    index: HealthIndex
    register_reads: HealthRegister = Field(alias="register")
