"""Actors as the actor search and the Basic UDI-DI record send them.

The live service sends contact data of real persons. Here they are made up, so that a test can prove that
nobody keeps them.
"""

from registerwatch_standins.register.countries import BODY_COUNTRIES, country_name, country_of_srn, country_type
from registerwatch_standins.register.records import Actor, Party
from registerwatch_standins.register.wire.codes import (
    Fields,
    actor_type,
    code,
    constant_fields,
    country,
    derived_ulid,
    derived_uuid,
    texts,
    timestamp,
)

EMAIL = "someone@example.org"
TELEPHONE = "+00 000 000000"
PERSON = {"firstName": "Given", "familyName": "Family"}


def search_row(actor: Actor) -> Fields:
    """A row of the actor search."""
    place = country(actor.country)
    kind = actor_type(actor.type)
    return {
        **constant_fields("actor search row"),
        "uuid": actor.uuid,
        "ulid": derived_ulid(actor.uuid),
        "registrationUlid": derived_ulid(actor.uuid, "registration"),
        "name": actor.name,
        "names": _names(actor),
        "srn": actor.srn,
        "eudamedIdentifier": actor.srn,
        "actorType": kind,
        "roleName": kind["code"].rpartition(".")[2].replace("-", " ").capitalize(),
        "countryIso2Code": actor.country,
        "countryName": place["name"],
        "countryType": place["type"],
        "dateOfRegistration": timestamp(actor.registered),
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "geographicalAddress": _one_line_address(actor),
        "postalZone": actor.postal_zone,
        "cityName": actor.city,
        "versionNumber": actor.version_number,
        "actorStatus": code("actor-status", actor.status),
    }


def public_information(actor: Actor) -> Fields:
    """The detail of an actor. It does not tell the status."""
    place = country(actor.country)
    record = {
        **constant_fields("actor detail"),
        "ulid": derived_ulid(actor.uuid),
        "uuid": actor.uuid,
        "type": actor_type(actor.type),
        "country": place,
        "name": _names(actor),
        "eudamedIdentifier": actor.srn,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "regulatoryComplianceResponsibles": [PERSON],
        "lastUpdatedByUser": EMAIL,
        "europeanVatNumberApplicable": vat_number(actor) is not None,
        "europeanVatNumber": vat_number(actor),
        "website": actor.website,
        "actorAddress": {
            "streetName": actor.street,
            "streetInfoApplicable": True,
            "buildingNumber": actor.building,
            "complement": None,
            "postbox": None,
            "gps": None,
            "cityName": actor.city,
            "postalZone": actor.postal_zone,
            "country": place,
        },
        "versionNumber": actor.version_number,
        "lastUpdateDate": timestamp(actor.last_updated),
    }
    return {"importers": None, "nonEuManufacturers": None, "actorDataPublicView": record}


def party(named: Party, actor: Actor | None) -> Fields:
    """An actor inside another record."""
    iso2 = actor.country if actor else country_of_srn(named.srn)
    return {
        **constant_fields("actor inside"),
        "uuid": actor.uuid if actor else derived_uuid("actor", named.srn),
        "versionNumber": actor.version_number if actor else 1,
        "lastUpdateDate": timestamp(actor.last_updated) if actor else None,
        "name": named.name,
        "names": _names(actor) if actor else texts({"en": named.name}),
        "actorType": {**actor_type(named.srn[3:5]), "srnCode": None, "category": None},
        "status": code("actor-status", named.status),
        "countryIso2Code": iso2,
        "countryName": country(iso2)["name"],
        "geographicalAddress": _one_line_address(actor) if actor else None,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "srn": named.srn,
    }


def representative(named: Party, actor: Actor | None) -> Fields:
    """The authorised representative in a Basic UDI-DI record or a certificate."""
    return {
        "authorisedRepresentativeUuid": actor.uuid if actor else derived_uuid("actor", named.srn),
        "name": named.name,
        "srn": named.srn,
        "countryName": country(actor.country if actor else country_of_srn(named.srn))["name"],
        "address": _one_line_address(actor) if actor else None,
        "mandateStatus": None,
    }


def notified_body(number: str, name: str) -> Fields:
    """A notified body inside another record."""
    iso2 = BODY_COUNTRIES.get(number, "DE")
    return {
        **constant_fields("actor inside"),
        "uuid": body_uuid(number),
        "versionNumber": 1,
        "lastUpdateDate": "2026-02-10T09:00:00.123",
        "name": name,
        "names": texts({"en": name}),
        "actorType": {**code("actor-type", "notified-body"), "srnCode": None, "category": None},
        "status": code("actor-status", "active"),
        "countryIso2Code": iso2,
        "countryName": country_name(iso2),
        "geographicalAddress": None,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "srn": number,
    }


def listed_body(number: str, name: str) -> Fields:
    """A notified body, as the list of them has it."""
    active = code("actor-status", "active")
    return {
        "uuid": body_uuid(number),
        "name": name,
        "eudamedIdentifier": number,
        "legislationStatusMap": {
            "refdata.applicable-legislation.mdr": active,
            "refdata.applicable-legislation.ivdr": active,
        },
    }


def vat_number(actor: Actor) -> str | None:
    """A made-up number of an actor of a member state."""
    return f"{actor.country}{actor.srn[-9:]}" if country_type(actor.country) == "EU_MEMBER_STATE" else None


def body_uuid(number: str) -> str:
    """The key of a notified body; of some it is 32 capital hexadecimal digits without hyphens."""
    uuid = derived_uuid("notified body", number)
    return uuid.replace("-", "").upper() if int(number[-1], 16) % 3 == 0 else uuid


def _names(actor: Actor) -> Fields:
    return texts({actor.language or "en": actor.name})


def _one_line_address(actor: Actor) -> str:
    return f"{actor.street}, {actor.building} {actor.postal_zone} {actor.city}"
