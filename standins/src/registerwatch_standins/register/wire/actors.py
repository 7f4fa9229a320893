"""Actors as the actor search and the Basic UDI-DI record send them.

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
    texts,
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
        "dateOfRegistration": actor.registered,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "geographicalAddress": _one_line_address(actor),
        "postalZone": actor.postal_zone,
        "cityName": actor.city,
        "versionNumber": actor.version_number,
    }


def public_information(actor: Actor) -> Fields:
    """The detail of an actor. It has the status, which no row of the search tells."""
    place = country(actor.country)
    record = {
        **constant_fields("actor detail"),
        "ulid": derived_ulid(actor.uuid),
        "uuid": actor.uuid,
        "type": actor_type(actor.type),
        "country": place,
        "name": _names(actor),
        "eudamedIdentifier": actor.srn,
        "actorStatus": code("actor-status", actor.status),
        "actorStatusFromDate": actor.registered[:10],
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "regulatoryComplianceResponsibles": [PERSON],
        "lastUpdatedByUser": EMAIL,
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
        "lastUpdateDate": actor.last_updated,
    }
    return {"importers": None, "nonEuManufacturers": None, "actorDataPublicView": record}


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


def _one_line_address(actor: Actor) -> str:
    return f"{actor.street}, {actor.building} {actor.postal_zone} {actor.city}"
