"""Actors as the actor search, the actor detail and the Basic UDI-DI record send them.

The live service sends contact data of real persons. Here they are made up, so that a test can prove that
nobody keeps them.
"""

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
)

EMAIL = "someone@example.org"
TELEPHONE = "+00 000 000000"
VALIDATOR_EMAIL = "validator@example.org"
VALIDATOR_TELEPHONE = "+00 000 000001"
PERSON = {"firstName": "Given", "familyName": "Family"}
UPDATED_BY = "Given Family"


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
        "dateOfRegistration": actor.registered,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "geographicalAddress": _one_line_address(actor),
        "postalZone": actor.postal_zone,
        "cityName": actor.city,
        "versionNumber": actor.version_number,
    }


def public_information(actor: Actor) -> Fields:
    """The actor detail, whose record lies under `actorDataPublicView`."""
    responsible = {**PERSON, "electronicMail": EMAIL, "telephone": TELEPHONE}
    view = {
        **constant_fields("actor detail"),
        **_validator(actor),
        "ulid": derived_ulid(actor.uuid),
        "uuid": actor.uuid,
        "type": actor_type(actor.type),
        "country": country(actor.country),
        "name": _names(actor),
        "eudamedIdentifier": actor.srn,
        "telephone": TELEPHONE,
        "electronicMail": EMAIL,
        "website": actor.website,
        "actorAddress": _address(actor.street, actor.building, actor.city, actor.postal_zone, actor.country),
        "regulatoryComplianceResponsibles": [responsible],
        "versionNumber": actor.version_number,
        "lastUpdateDate": actor.last_updated,
        "lastUpdatedByUser": UPDATED_BY,
    }
    return {"importers": None, "nonEuManufacturers": None, "actorDataPublicView": view}


def party(named: Party, actor: Actor | None) -> Fields:
    """An actor inside a Basic UDI-DI record."""
    inside: Fields = {
        "srn": named.srn,
        "name": named.name,
        "status": code("actor-status", named.status),
        "actorType": actor_type(named.srn[3:5]),
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
    }
    if actor is None:
        return inside
    return {
        **inside,
        "uuid": actor.uuid,
        "ulid": derived_ulid(actor.uuid),
        "names": _names(actor),
        "countryIso2Code": actor.country,
        "countryName": country(actor.country)["name"],
        "geographicalAddress": _one_line_address(actor),
        "versionNumber": actor.version_number,
        "latestVersion": True,
        "lastUpdateDate": actor.last_updated,
    }


def _names(actor: Actor) -> Fields:
    return texts({actor.language or "en": actor.name})


def _validator(actor: Actor) -> Fields:
    """The competent authority that validated the registration."""
    return {
        "validatorName": f"Competent authority of {country(actor.country)['name']}",
        "validatorUuid": derived_uuid("validator", actor.country),
        "validatorType": actor_type("CA"),
        "validatorSrn": f"{actor.country}-CA-001",
        "validatorAddress": _address("Park Road", "6", actor.city, "1010", actor.country),
        "validatorEmail": VALIDATOR_EMAIL,
        "validatorTelephone": VALIDATOR_TELEPHONE,
    }


def _one_line_address(actor: Actor) -> str:
    return f"{actor.street}, {actor.building} {actor.postal_zone} {actor.city}"


def _address(street: str, building: str, city: str, postal_zone: str, iso2: str) -> Fields:
    unknown = dict.fromkeys(("complement", "postbox", "gps"))
    place = {"cityName": city, "postalZone": postal_zone, "country": country(iso2)}
    return {**unknown, **place, "streetName": street, "streetInfoApplicable": True, "buildingNumber": building}
