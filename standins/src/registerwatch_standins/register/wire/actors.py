"""Actors as the actor search, the actor detail and the Basic UDI-DI record send them.

The live service sends contact data of real persons. Here they are made up, so that a test can prove that
nobody keeps them.
"""

from registerwatch_standins.register.records import Actor, Party
from registerwatch_standins.register.wire.codes import (
    REGISTERED,
    actor_type,
    code,
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


def search_row(actor: Actor) -> dict[str, object]:
    """A row of the actor search."""
    place = country(actor.country)
    return {
        "uuid": actor.uuid,
        "ulid": derived_ulid(actor.uuid),
        "name": actor.name,
        "names": _names(actor),
        "actorType": actor_type(actor.type),
        "roleName": actor_type(actor.type)["code"].rpartition(".")[2].replace("-", " ").capitalize(),
        "countryIso2Code": actor.country,
        "countryName": place["name"],
        "countryType": place["type"],
        "dateOfRegistration": actor.registered,
        "eudamedIdentifier": actor.srn,
        "electronicMail": EMAIL,
        "telephone": TELEPHONE,
        "geographicalAddress": f"{actor.street}, {actor.building} {actor.postal_zone} {actor.city}",
        "buildingNumber": None,
        "streetName": None,
        "postbox": None,
        "addressComplement": None,
        "postalZone": actor.postal_zone,
        "cityName": actor.city,
        "abbreviatedName": None,
        "abbreviatedNames": None,
        "latestVersion": True,
        "versionNumber": actor.version_number,
        "associatedToUser": False,
        "registrationUlid": derived_ulid(actor.uuid, "registration"),
        "legislationLinks": None,
        "selectable": True,
        "srn": actor.srn,
    }


def public_information(actor: Actor) -> dict[str, object]:
    """The actor detail, whose record lies under `actorDataPublicView`."""
    return {"importers": None, "nonEuManufacturers": None, "actorDataPublicView": _public_view(actor)}


def party(named: Party, actor: Actor | None) -> dict[str, object]:
    """An actor inside a Basic UDI-DI record."""
    inside: dict[str, object] = {
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
        "geographicalAddress": f"{actor.street}, {actor.building} {actor.postal_zone} {actor.city}",
        "versionNumber": actor.version_number,
        "latestVersion": True,
        "lastUpdateDate": actor.last_updated,
    }


def _names(actor: Actor) -> dict[str, object]:
    return texts({actor.language or "en": actor.name})


def _public_view(actor: Actor) -> dict[str, object]:
    return {
        "ulid": derived_ulid(actor.uuid),
        "uuid": actor.uuid,
        "type": actor_type(actor.type),
        "country": country(actor.country),
        "name": _names(actor),
        "abbreviatedName": None,
        "europeanVatNumberApplicable": False,
        "europeanVatNumber": None,
        "eudamedIdentifier": actor.srn,
        "tradeRegister": None,
        "eori": None,
        "organizationIdentificationDocuments": [],
        "authorisedRepresentatives": None,
        "competentAuthorityResponsibility": None,
        "telephone": TELEPHONE,
        "electronicMail": EMAIL,
        "website": actor.website,
        "actorAddress": _address(actor.street, actor.building, actor.city, actor.postal_zone, actor.country),
        **_validator(actor),
        "regulatoryComplianceResponsibles": [{**PERSON, "electronicMail": EMAIL, "telephone": TELEPHONE}],
        "legislationLinks": None,
        "latestSubsidiary": None,
        "certificates": None,
        "latestVersion": True,
        "versionNumber": actor.version_number,
        "versionState": REGISTERED,
        "lastUpdateDate": actor.last_updated,
        "lastUpdatedByUser": UPDATED_BY,
    }


def _validator(actor: Actor) -> dict[str, object]:
    """The competent authority that let the actor in."""
    return {
        "validatorName": f"Competent authority of {country(actor.country)['name']}",
        "validatorUuid": derived_uuid("validator", actor.country),
        "validatorType": actor_type("CA"),
        "validatorSrn": f"{actor.country}-CA-001",
        "validatorAddress": _address("Park Road", "6", actor.city, "1010", actor.country),
        "validatorEmail": VALIDATOR_EMAIL,
        "validatorTelephone": VALIDATOR_TELEPHONE,
    }


def _address(street: str, building: str, city: str, postal_zone: str, iso2: str) -> dict[str, object]:
    return {
        "streetName": street,
        "streetInfoApplicable": True,
        "buildingNumber": building,
        "complement": None,
        "postbox": None,
        "gps": None,
        "cityName": city,
        "postalZone": postal_zone,
        "country": country(iso2),
    }
