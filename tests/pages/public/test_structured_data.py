"""Structured data: what search engines read."""

import json

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.pages.public.structured_data import medical_device, organization, script_text
from registerwatch.register.models import ActorReference, Device

SITE = "https://register.example"
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


def test_a_device_has_its_identifiers_maker_and_names() -> None:
    given = medical_device(DEVICE, "Clamp", SITE)

    assert (given["@context"], given["@type"], given["name"]) == ("https://schema.org", "MedicalDevice", "Clamp")
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
    given = medical_device(Device(udi="04012345000016", uuid="u"), "Device 04012345000016", SITE)

    assert set(given) == {"@context", "@type", "additionalType", "name", "url", "identifier"}
    assert len(given["identifier"]) == 1


def test_an_organization_has_its_number_and_country() -> None:
    given = organization(ActorReference("AT-MF-000000902", "Beispiel AG"), "AT", SITE)

    assert (given["@type"], given["name"]) == ("Organization", "Beispiel AG")
    assert given["address"] == {"@type": "PostalAddress", "addressCountry": "AT"}
    assert "address" not in organization(ActorReference("AT-MF-000000902", "Beispiel AG"), "", SITE)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_can_end_the_script_element_and_every_text_arrives(text: str) -> None:
    written = script_text({"name": text})

    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"name": text}


def test_names_that_are_meant_to_break_out_stay_inside() -> None:
    written = script_text({"name": "</script><script>alert(1)</script><!--"})

    assert written == r'{"name":"\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u003c!--"}'
