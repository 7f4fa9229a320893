"""Devices and readings of which a test says only what matters, and generated ones."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from registerwatch.register.codes import LEGISLATION_PREFIX, RISK_PREFIX, STATUS_PREFIX, label
from registerwatch.register.device_details import (
    Availability,
    Characteristics,
    Condition,
    LinkedDevice,
    SafetySummary,
    SpecialType,
)
from registerwatch.register.identifiers import has_gs1_check_digit
from registerwatch.register.models import ActorReference, Certificate, Completeness, Device, DeviceReading
from registerwatch.register.other_codes import OtherCode
from registerwatch_standins.register.records import Certificate as RegisteredCertificate

PROPERTY = settings(
    derandomize=True,
    deadline=None,
    max_examples=min(60, settings().max_examples),  # fewer under `--quick`
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""The same examples in every run, so that a failure comes back."""

FEW = settings(PROPERTY, max_examples=min(12, max(3, PROPERTY.max_examples // 3)))
"""For examples that touch a database or an index."""

UDI = "04099999999992"
EUDAMED, DATA_LAKE = "eudamed", "data_lake"


def a_device(uuid: str = "u-1", udi: str = UDI, **differs: Any) -> Device:
    """A device with nothing but its identifiers and what differs; a code brings its label along."""
    for name in ("status", "risk_class", "legislation"):
        if f"{name}_code" in differs:
            differs.setdefault(name, label(differs[f"{name}_code"]))
    return Device(uuid=uuid, udi=udi, **differs)


def a_row(
    uuid: str = "u-1", udi: str = UDI, *, latest: bool = True, lags: bool = False, **differs: Any
) -> DeviceReading:
    """A reading that tells some of a device."""
    return DeviceReading(
        device=a_device(uuid, udi, **differs),
        completeness=Completeness.SOME,
        source=DATA_LAKE if lags else EUDAMED,
        latest_version=latest,
        lags=lags,
    )


def a_full_reading(uuid: str = "u-1", udi: str = UDI, *, latest: bool = True, **differs: Any) -> DeviceReading:
    """A reading of everything."""
    device = a_device(uuid, udi, **{"version": 1, **differs})
    return DeviceReading(
        device=device,
        completeness=Completeness.EVERYTHING,
        source=EUDAMED,
        latest_version=latest,
        detail_version=device.version,
    )


words = st.sampled_from(["", "Alpha", "Beta", "Γάμμα"])
legislations = st.sampled_from(["", *(LEGISLATION_PREFIX + each for each in ("mdr", "ivdr", "mdd", "ivdd"))])
versions = st.none() | st.integers(1, 4)
certificates = st.builds(
    Certificate,
    number=st.sampled_from(["Z-1", "Z-2", "D-3"]),
    revision=st.sampled_from(["", "01"]),
    expiry=st.none() | st.just("2030-01-01"),
)

_CARTON = OtherCode("14099999999999", "container_package", quantity=10, contains=UDI)
_SINGLE = OtherCode("04099999999985", "unit_of_use")
other_codes = st.sampled_from([msgspec.UNSET, (_CARTON,), (_CARTON, _SINGLE)])


_flags = st.dictionaries(st.sampled_from(["active", "kit", "sutures"]), st.booleans(), max_size=3)
details = st.fixed_dictionaries(
    {},
    optional={
        "available_in": st.just((Availability("AT"), Availability("DE", "2026-01-01"))),
        "placed_on_market_in": st.sampled_from(["AT", "DE"]),
        "single_use": st.booleans(),
        "max_reuses": st.integers(1, 3),
        "base_quantity": st.integers(1, 3),
        "special_type": st.sampled_from([SpecialType("MDR software"), SpecialType("Software", "refdata.s.software")]),
        "characteristics": _flags.map(Characteristics.of),
        "storage": st.just((Condition("refdata.storage-handling-conditions-type.SHC005", "SHC005", "Keep dry"),)),
        "warnings": st.just((Condition("refdata.critical-warnings-type.CW018", "CW018"),)),
        "safety_summary": st.just(SafetySummary("61339", "10", "2025-12-01", validated=True)),
        "linked_device": st.just(LinkedDevice("04012345678918", "B-04012345678918", legacy=True)),
        "information_url": st.just("https://www.acme.example/ifu"),
    },
)
"""Fields of a device that are missing where they are not known."""


@st.composite
def devices(draw: st.DrawFn, uuid: str = "u-1", udi: str = UDI, *, detailed: bool = False) -> Device:
    """A device whose fields are there or not; `detailed` ones have details too, whose first value is no change."""
    return a_device(
        uuid,
        udi,
        trade_name=draw(words),
        trade_names=draw(st.dictionaries(st.sampled_from(["", "en", "de"]), st.just("Alpha"), max_size=2)),
        manufacturer_name=draw(words),
        manufacturer_srn=draw(st.sampled_from(["", "DE-MF-000000001"])),
        status_code=draw(st.sampled_from(["", STATUS_PREFIX + "on-the-market"])),
        status_date=draw(st.none() | st.just("2026-01-01")),
        risk_class_code=draw(st.sampled_from(["", RISK_PREFIX + "class-i", RISK_PREFIX + "class-iia"])),
        legislation_code=draw(legislations),
        reference=draw(words),
        version=draw(versions),
        updated=draw(st.none() | st.just("2026-01-01T00:00:00Z")),
        device_name=draw(words),
        emdn=draw(st.sampled_from([(), ("A01",), ("A01", "B02")])),
        authorised_representative=draw(st.none() | st.just(ActorReference("DE-AR-000000002", "Representative"))),
        certs=tuple(draw(st.lists(certificates, max_size=2, unique_by=lambda each: each.key))),
        other_codes=draw(other_codes),
        **(draw(details) if detailed else {}),
    )


@st.composite
def readings(draw: st.DrawFn, uuid: str = "u-1", udi: str = UDI, *, detailed: bool = False) -> DeviceReading:
    """A reading of any source: only a bulk source lags, only a read of the register itself knows a detail."""
    device, completeness = draw(devices(uuid, udi, detailed=detailed)), draw(st.sampled_from(Completeness))
    lags = completeness is Completeness.SOME and draw(st.booleans())
    return DeviceReading(
        device=device,
        completeness=completeness,
        source=DATA_LAKE if lags else EUDAMED,
        latest_version=draw(st.booleans()),
        detail_version=None if completeness is Completeness.SOME else device.version,
        lags=lags,
    )


def a_udi(number: int) -> str:
    """A UDI-DI of GS1 that no register has, with its check digit."""
    digits = f"0409999{number:06d}"
    return next(f"{digits}{last}" for last in range(10) if has_gs1_check_digit(f"{digits}{last}"))


def a_registered_certificate(number: str, listed_in: Any = "basic-udi-record", **differs: Any) -> RegisteredCertificate:
    """A certificate of the stand-in register, in one of the two places that list some."""
    fields = {
        "number": number,
        "revision": None,
        "expiry": "2027-05-01",
        "starting_validity": "2026-05-01",
        "issue_date": "2026-05-01",
        "notified_body": "0123",
        "notified_body_name": "Body",
        "type": "MDR_QUALITY_MANAGEMENT_SYSTEM" if listed_in == "certificate-search" else "MDD_II_EX_4",
        "status": "issued",
        "listed_in": listed_in,
    }
    return RegisteredCertificate(**{**fields, **differs})
