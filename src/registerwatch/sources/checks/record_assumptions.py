"""Assumptions about EUDAMED's records and refusals."""

from registerwatch.sources.checks.assumption import NO_LIST, SEND, Assumption
from registerwatch.sources.checks.names import CheckName

_PATHS, _DEVICE, _FAILS = "Base URL and paths", "What a device is made of", "How it fails"
_FIELD = (
    "A field that is missing or has another type is not known for records that are read from now on; what is stored is"
    " kept."
)
_REQUIRED = f"The service always sends it, so nothing changes. {SEND}"

RECORDS = (
    Assumption(
        CheckName.DEVICE_DETAIL,
        "Fields of a device",
        "The detail of a device has every field that is read, of the known type.",
        _DEVICE,
        1,
        f"{_FIELD} {SEND}",
    ),
    Assumption(
        CheckName.UNKNOWN_RECORD,
        "A record that there is not",
        "A record that the register does not have is answered with status 302.",
        _FAILS,
        1,
        f"“Not found” and “could not be read” may be confused: records that are gone are asked for again. {SEND}",
    ),
    Assumption(
        CheckName.DETAIL_LANGUAGE,
        "A device without a language",
        "The detail of a device without `languageIso2Code` is refused with status 400.",
        _PATHS,
        1,
        _REQUIRED,
        is_daily=False,
    ),
    Assumption(
        CheckName.BASIC_UDI_RECORD,
        "Fields of a Basic UDI-DI record",
        "The Basic UDI-DI record of a device has every field that is read, of the known type.",
        _DEVICE,
        1,
        f"{_FIELD} {SEND}",
    ),
    Assumption(
        CheckName.BASIC_UDI_LANGUAGE,
        "A Basic UDI-DI record without a language",
        "The Basic UDI-DI record without `languageIso2Code` is refused with status 400.",
        _PATHS,
        1,
        _REQUIRED,
        is_daily=False,
    ),
    Assumption(
        CheckName.BASIC_UDI_ULID,
        "The key of a Basic UDI-DI record",
        "The `ulid` of a Basic UDI-DI record is the `basicUdiDiDataUlid` of the rows of its devices.",
        _DEVICE,
        1,
        f"Records may be shared between devices that do not have the same one. {SEND}",
    ),
    Assumption(
        CheckName.BASIC_UDI_SHARED,
        "One Basic UDI-DI record for all of its devices",
        "Two devices of one Basic UDI-DI have the same Basic UDI-DI record.",
        _DEVICE,
        1,
        "One read must not count for all devices of a Basic UDI-DI: what is shown of a device may be another one's."
        f" {SEND}",
    ),
    Assumption(
        CheckName.BASIC_UDI_LEGACY,
        "The Basic UDI-DI of a legacy device",
        "A legacy device without a Basic UDI-DI has `B-` and its UDI-DI in the place of it.",
        _DEVICE,
        1,
        f"Legacy devices may be shown with another Basic UDI-DI. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.LEGISLATION_CODES,
        "Codes of legislations are known",
        "Every legislation has one of five codes.",
        "Codes and their English labels",
        0,
        "A code without a label is shown as its last part made readable; nothing is lost. Please tell us the code, so"
        " that a release names it.",
    ),
    Assumption(
        CheckName.FILTER_ACTOR_SRN,
        "Search of actors by SRN",
        "`srn` of the actor search finds exactly one actor.",
        _PATHS,
        2,
        "Actors cannot be read one by one; what is stored is served as before. The parameter may have another name:"
        f" look for a release that knows it. {SEND}",
    ),
    Assumption(
        CheckName.ACTOR_ROW,
        "Fields of actors in lists",
        "Rows of the actor search have every field that is read, of the known type.",
        _PATHS,
        0,
        f"{_FIELD} {SEND}",
    ),
    Assumption(
        CheckName.ACTOR_LANGUAGE,
        "The actor search without a language",
        "The actor search without `languageIso2Code` fails with status 500.",
        _PATHS,
        1,
        _REQUIRED,
        is_daily=False,
    ),
    Assumption(
        CheckName.ACTOR_DETAIL,
        "Fields of an actor",
        "The record of an actor has every field that is read, of the known type.",
        _PATHS,
        1,
        f"{_FIELD} {SEND}",
    ),
    Assumption(
        CheckName.CERTIFICATE_DETAIL,
        "Fields of a certificate",
        "The record of a certificate answers without parameters, and has every field that is read.",
        _PATHS,
        1,
        f"Scopes of certificates are not read any more; those that are stored are kept. {SEND}",
    ),
    Assumption(
        CheckName.TIMES,
        "Dates and instants",
        "Dates and instants have no zone, and at most three digits of a fraction.",
        _DEVICE,
        0,
        "Instants without a zone are taken as Brussels time, and those with one as what it says. Those of another form"
        f" are not known. {SEND}",
    ),
    Assumption(
        CheckName.REFUSAL_ROW,
        "Fields of refused applications",
        "Refused applications have every field that is read, of the known type.",
        _PATHS,
        0,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.NOTIFIED_BODY,
        "Fields of notified bodies",
        "Notified bodies come as a bare list, each with its number of four digits and its name.",
        _PATHS,
        1,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.NOMENCLATURE,
        "Nomenclature (EMDN)",
        "The nomenclature is answered as a list of terms with codes, or fails with status 500.",
        _PATHS,
        1,
        f"Load names of EMDN codes from a file: `registerwatch nomenclature load FILE`. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.PACE,
        "The pace at which EUDAMED is asked",
        "EUDAMED throttles no request at the pace of this service.",
        _FAILS,
        0,
        "The service waits and asks again, so nothing is lost. Where it happens at every look, lower"
        " REGISTERWATCH_REGISTER_REQUESTS_PER_MINUTE.",
        is_daily=False,
    ),
)
