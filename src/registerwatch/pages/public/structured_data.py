"""Structured data of schema.org in pages, as JSON-LD for search engines."""

from typing import Any

import msgspec
from markupsafe import Markup

from registerwatch.copy.certificates.certificate_queries import StoredCertificate
from registerwatch.pages.addresses import actor_address
from registerwatch.pages.public.summaries import PageSummary
from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.identifiers import has_gs1_check_digit
from registerwatch.register.models import ActorReference, Device

CONTEXT = "https://schema.org"
_HARMLESS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_text(content: dict[str, Any]) -> Markup:
    """JSON for the inside of a `<script>`: nothing in it can end the element or begin a comment."""
    return Markup(msgspec.json.encode(content).decode().translate(_HARMLESS))  # noqa: S704  # escaped for its context


def medical_device(device: Device, name: str, summary: PageSummary, *, is_listed: bool = True) -> dict[str, Any]:
    """A device, without a market status if the register no longer lists it. It is a `Product` too, since schema.org
    defines manufacturer, model and part number there.
    """
    public_url = summary.origin.public_url
    others = [text for text in dict.fromkeys(device.trade_names.values()) if text and text != name]
    identifiers = [_identifier("UDI-DI", device.udi), _identifier("Basic UDI-DI", device.basic_udi)]
    maker = ActorReference(device.manufacturer_srn, device.manufacturer_name)
    return _without_empty(
        {
            "@context": CONTEXT,
            "@type": ["MedicalDevice", "Product"],
            "name": name,
            "description": summary.text,
            "alternateName": others,
            "url": summary.address,
            "gtin14": device.udi if is_gtin_14(device.udi) else "",
            "identifier": [each for each in identifiers if each["value"]],
            "manufacturer": _organization(maker, public_url),
            "model": device.device_model,
            "mpn": device.reference,
            "category": device.risk_class,
            "legalStatus": device.status if is_listed else "",
            "code": [{"@type": "MedicalCode", "codeValue": each, "codingSystem": "EMDN"} for each in device.emdn],
        }
    )


def organization(actor: ActorReference, country: str, summary: PageSummary) -> dict[str, Any]:
    """An actor. `country` is an ISO code of two letters, or empty."""
    about = {**(_organization(actor, summary.origin.public_url) or {}), "description": summary.text}
    address = {"@type": "PostalAddress", "addressCountry": country} if country else None
    return {"@context": CONTEXT} | _without_empty({**about, "address": address})


def certification(certificate: StoredCertificate, shown: ShownCertificate, summary: PageSummary) -> dict[str, Any]:
    """A certificate of a manufacturer."""
    maker = ActorReference(certificate.srn, certificate.actor_name)
    number = _identifier("Notified body", certificate.notified_body)
    return _without_empty(
        {
            "@context": CONTEXT,
            "@type": "Certification",
            "name": certificate.number,
            "certificationIdentification": certificate.number,
            "description": summary.text,
            "url": summary.address,
            "about": _organization(maker, summary.origin.public_url),
            "issuedBy": _without_empty(
                {"@type": "Organization", "name": certificate.notified_body_name, "identifier": number}
            ),
            "validFrom": certificate.valid_from,
            "expires": shown.certificate.expiry,
            "additionalProperty": _identifier("Status", shown.register_word or "Not told"),
        }
    )


def _organization(actor: ActorReference, public_url: str) -> dict[str, Any] | None:
    if not actor.name:
        return None
    known = {
        "identifier": _identifier("SRN", actor.srn),
        "url": public_url + actor_address(actor.srn),
    }
    return {"@type": "Organization", "name": actor.name, **(known if actor.srn else {})}


def is_gtin_14(udi: str) -> bool:
    """Whether a UDI-DI is a valid GTIN of 14 digits; those of other issuing entities, and mistyped ones, are not."""
    return len(udi) == 14 and udi.isascii() and udi.isdigit() and has_gs1_check_digit(udi)


def _identifier(kind: str, value: str) -> dict[str, str]:
    return {"@type": "PropertyValue", "propertyID": kind, "value": value}


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
