"""Structured data: what search engines read."""

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.lookup.devices import ServedDevice
from registerwatch.pages.public.device import DeviceView
from registerwatch.pages.public.structured_data import medical_device, organization, script_text
from registerwatch.pages.public.summaries import Origin, PageSummary, device_summary
from registerwatch.register.models import ActorReference, Device

SITE = "https://register.example"
UDI = "04012345000016"
TODAY = date(2026, 11, 22)
DEVICE = Device(
    udi="++E1/4",
    uuid="u",
    trade_name="Clamp",
    trade_names={"en": "Clamp", "de": "Klemme", "fr": "Clamp"},
    basic_udi="++B1",
    manufacturer_name="Muster GmbH",
    manufacturer_srn="DE-MF-000000901",
    reference="R-1",
    device_model="M1",
    risk_class="Class I",
    status="On the EU market",
    emdn=("P09", "P10"),
)


VOCABULARY: dict[str, set[str]] = {
    # What schema.org 29 lets each type have, of the properties that are used, those that it inherits among them.
    "MedicalDevice": {"name", "alternateName", "description", "url", "identifier", "legalStatus", "code"},
    "Product": {
        *("name", "alternateName", "description", "url", "identifier"),
        *("gtin14", "manufacturer", "model", "mpn", "category"),
    },
    "Organization": {"name", "description", "url", "identifier", "address"},
    "PropertyValue": {"propertyID", "value"},
    "MedicalCode": {"codeValue", "codingSystem"},
    "PostalAddress": {"addressCountry"},
}
REQUIRED = {
    "MedicalDevice": {"name", "description", "url", "identifier"},
    "Product": {"name", "description", "url", "identifier"},
    "Organization": {"name"},
    "PropertyValue": {"propertyID", "value"},
    "MedicalCode": {"codeValue", "codingSystem"},
    "PostalAddress": {"addressCountry"},
}


def problems(node: object) -> list[str]:
    """What is wrong with a node and those in it: types and properties that schema.org does not have, missing ones,
    empty values, addresses that are not absolute.
    """
    if isinstance(node, list):
        return [problem for each in node for problem in problems(each)] if node else ["an empty list"]
    if not isinstance(node, dict):
        return [] if isinstance(node, str) and node else [f"the value {node!r}"]
    types = node["@type"] if isinstance(node["@type"], list) else [node["@type"]]
    given = set(node) - {"@context", "@type"}
    found = [f"{types} with {name}" for name in given - set().union(*(VOCABULARY[each] for each in types))]
    found += [f"{each} without {name}" for each in types for name in REQUIRED[each] - given]
    found += [f"url {node[name]}" for name in given & {"url"} if not node[name].startswith(SITE)]
    return found + [problem for name in given for problem in problems(node[name])]


def _summary(udi: str = DEVICE.udi, *, is_eudamed: bool = True) -> PageSummary:
    read_at = "2026-11-21T03:38:00Z"
    served = ServedDevice(udi=udi, uuid="u", read_at=read_at, certs_read_at=read_at, complete=True, missing=[])
    view = DeviceView(served, today=TODAY)
    return device_summary(view, Origin(SITE, is_eudamed, "EUDAMED" if is_eudamed else "a source that is not EUDAMED"))


ACTOR = PageSummary(
    "Beispiel AG", "Beispiel AG: Manufacturer.", f"{SITE}/a/AT-MF-000000902", Origin(SITE, True, "EUDAMED")
)


@pytest.mark.parametrize("device", [DEVICE, Device(udi=UDI, uuid="u")], ids=["full", "bare"])
def test_a_device_is_described_in_the_words_of_schema_org(device: Device) -> None:
    given = medical_device(device, "Clamp", _summary(device.udi))

    assert given["@context"] == "https://schema.org"
    assert given["@type"] == ["MedicalDevice", "Product"]
    assert problems(given) == []


def test_an_actor_is_described_in_the_words_of_schema_org() -> None:
    for country in ("AT", ""):
        given = organization(ActorReference("AT-MF-000000902", "Beispiel AG"), country, ACTOR)

        assert given["@context"] == "https://schema.org"
        assert problems(given) == []


@pytest.mark.parametrize(
    ("udi", "is_gtin"),
    [
        ("04012345000016", True),
        ("14012345000013", True),
        ("04012345000017", False),  # another check digit
        ("4012345000016", False),  # 13 digits: the register's UDI-DI is not so
        ("++E1/4", False),
        ("PP11234567890123", False),
        ("０４０１２３４５００００１６", False),  # digits, and not of ASCII
    ],
)
def test_a_udi_di_that_is_a_gtin_is_told_as_one(udi: str, is_gtin: bool) -> None:
    given = medical_device(Device(udi=udi, uuid="u"), "Clamp", _summary(udi))

    assert given.get("gtin14") == (udi if is_gtin else None)
    assert given["identifier"][0]["value"] == udi


def test_who_is_told_of_a_device_is_told_where_the_record_is_from() -> None:
    eudamed = medical_device(DEVICE, "Clamp", _summary())["description"]
    other = medical_device(DEVICE, "Clamp", _summary(is_eudamed=False))["description"]

    assert "Read from EUDAMED on 21 Nov 2026 or later." in eudamed
    assert "Read from a source that is not EUDAMED on 21 Nov 2026 or later." in other


def test_a_device_has_its_identifiers_maker_and_names() -> None:
    given = medical_device(DEVICE, "Clamp", _summary())

    assert (given["@context"], given["name"]) == ("https://schema.org", "Clamp")
    assert given["@type"] == ["MedicalDevice", "Product"]
    assert given["url"] == f"{SITE}/d/%2B%2BE1%2F4"
    assert given["alternateName"] == ["Klemme"]
    assert given["identifier"] == [
        {"@type": "PropertyValue", "propertyID": "UDI-DI", "value": "++E1/4"},
        {"@type": "PropertyValue", "propertyID": "Basic UDI-DI", "value": "++B1"},
    ]
    assert given["manufacturer"] == {
        "@type": "Organization",
        "name": "Muster GmbH",
        "identifier": {"@type": "PropertyValue", "propertyID": "SRN", "value": "DE-MF-000000901"},
        "url": f"{SITE}/a/DE-MF-000000901",
    }
    assert [each["codeValue"] for each in given["code"]] == ["P09", "P10"]
    assert (given["mpn"], given["model"], given["legalStatus"]) == ("R-1", "M1", "On the EU market")


def test_what_the_register_does_not_tell_is_left_out() -> None:
    given = medical_device(Device(udi=UDI, uuid="u"), f"Device {UDI}", _summary(UDI))

    assert set(given) == {"@context", "@type", "name", "description", "url", "gtin14", "identifier"}
    assert len(given["identifier"]) == 1


def test_an_organization_has_its_number_and_country() -> None:
    given = organization(ActorReference("AT-MF-000000902", "Beispiel AG"), "AT", ACTOR)

    assert (given["@type"], given["name"]) == ("Organization", "Beispiel AG")
    assert given["address"] == {"@type": "PostalAddress", "addressCountry": "AT"}
    assert "address" not in organization(ActorReference("AT-MF-000000902", "Beispiel AG"), "", ACTOR)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_can_end_the_script_element_and_every_text_arrives(text: str) -> None:
    written = script_text({"name": text})

    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"name": text}


def test_names_that_are_meant_to_break_out_stay_inside() -> None:
    written = script_text({"name": "</script><script>alert(1)</script><!--"})

    assert written == r'{"name":"\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u003c!--"}'
