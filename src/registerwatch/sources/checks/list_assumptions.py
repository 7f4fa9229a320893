"""Assumptions about EUDAMED's lists and their filters."""

from registerwatch.sources.checks.assumption import NO_EFFECT, NO_LIST, SEND, Assumption
from registerwatch.sources.checks.names import CheckName

_PATHS, _FILTERS, _CODES = (
    "Base URL and paths",
    "Filters of the device search",
    "Codes and their English labels",
)
_UNLABELLED = (
    "A code without a label is shown as its last part made readable; nothing is lost. Please tell us the code, so that"
    " a release names it."
)
_OTHER_FILTER = f"{NO_EFFECT} {SEND}"

LISTS = (
    Assumption(
        CheckName.BUILD,
        "It names its build",
        "`/applicationInfo` names the build that answers.",
        _PATHS,
        1,
        "Another build may answer in other ways; the other lines say whether it does. Without a name of the build,"
        " everything is checked daily instead of at every new build.",
    ),
    Assumption(
        CheckName.FLAGS,
        "The same is switched on",
        "`/configurationParameters` names the known flags, nine of them on and three off.",
        _PATHS,
        1,
        "A flag that is on now means that EUDAMED publishes something new, which this release does not read. What it"
        f" reads is stored as before. {SEND}",
    ),
    Assumption(
        CheckName.LIST_DEVICES,
        "List of devices: size of its pages",
        "The device search sends the 300 rows a page that were asked for.",
        _PATHS,
        1,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.LIST_ENVELOPE,
        "List of devices: what stands around its rows",
        "A page says how many records there are, which page it is, and whether it is the last, as whole numbers and"
        " true or false.",
        _PATHS,
        0,
        "Walks through lists may not know where they end, and reads of devices may fail. What is stored is served as"
        f" before. {SEND}",
    ),
    Assumption(
        CheckName.LIST_PAGING,
        "List of devices: pages are counted from 0",
        "Pages are counted from 0, and the next page goes on where one ends.",
        _PATHS,
        1,
        f"Walks through lists leave out or repeat a page; do not rely on what is reported as gone. {SEND}",
    ),
    Assumption(
        CheckName.LIST_CAP,
        "List of devices: 300 rows at most",
        "A page of the device search has 300 rows at most, however many are asked for.",
        _PATHS,
        1,
        f"The service asks for 300, so nothing is lost where more are possible. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.LIST_DEFAULT_SIZE,
        "List of devices: `size` decides",
        "`pageSize` without `size` gives 20 rows, or is refused with status 400.",
        _PATHS,
        1,
        f"The service sends both, so nothing changes. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.DEVICE_ROW,
        "Fields of devices in lists",
        "Rows of the device search have every field that is read, of the known type.",
        "What a device is made of",
        0,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.DEVICE_VALUES,
        "Usual values of devices in lists",
        "Some of 300 rows have each value that devices usually have.",
        "What a device is made of",
        0,
        "One manufacturer may have registered all 300. If it stays for days, the register shows that field no more."
        f" What is stored is kept. {SEND}",
    ),
    Assumption(
        CheckName.DEVICE_UNUSED,
        "Fields of devices in lists that were always empty",
        "All other fields of a row are null, or 0.",
        "What a device is made of",
        0,
        f"The register shows more than before; nothing is lost. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.TOTAL_DEVICES,
        "Number of devices is plausible",
        "There are at least four fifths and at most one and a half times as many devices as at the last look.",
        _PATHS,
        0,
        "Compare with the register's own pages before anybody acts on devices that are missing. The next look compares"
        " with the new number.",
    ),
    Assumption(
        CheckName.STATUS_CODES,
        "Codes of market statuses are known",
        "Every market status has one of three codes.",
        _CODES,
        0,
        _UNLABELLED,
    ),
    Assumption(
        CheckName.RISK_CODES,
        "Codes of risk classes are known",
        "Every risk class has one of 13 codes.",
        _CODES,
        0,
        _UNLABELLED,
    ),
    Assumption(
        CheckName.ACTOR_STATUS_CODES,
        "Codes of actor statuses are known",
        "Every status of a manufacturer has a known code.",
        _CODES,
        0,
        _UNLABELLED,
    ),
    Assumption(
        CheckName.FILTER_PRIMARY_DI,
        "Search of devices by UDI-DI",
        "`primaryDi` finds exactly the records of a UDI-DI.",
        _FILTERS,
        2,
        "Devices cannot be read one by one; what is stored is served as before. The parameter may have another name:"
        f" look for a release that knows it. {SEND}",
    ),
    Assumption(
        CheckName.FILTER_SRN,
        "Search of devices by manufacturer",
        "`srn` finds exactly the devices of an actor.",
        _FILTERS,
        2,
        "Devices are not listed by manufacturer, so news comes later, by single reads. The parameter may have another"
        f" name: look for a release that knows it. {SEND}",
    ),
    Assumption(
        CheckName.FILTER_DEVICE_BASIC_UDI,
        "Search of devices by Basic UDI-DI",
        "`basicUdi` finds exactly the devices of a Basic UDI-DI.",
        _FILTERS,
        2,
        _OTHER_FILTER,
        is_daily=False,
    ),
    *(
        Assumption(
            name,
            f"Search of devices by `{parameter}`",
            f"`{parameter}` filters: a made-up value finds nothing.",
            _FILTERS,
            1,
            _OTHER_FILTER,
            is_daily=False,
        )
        for name, parameter in (
            (CheckName.FILTER_TRADE_NAME, "tradeName"),
            (CheckName.FILTER_REFERENCE, "reference"),
            (CheckName.FILTER_DEVICE_MODEL, "deviceModel"),
            (CheckName.FILTER_CND_CODE, "cndCode"),
            (CheckName.FILTER_DEVICE_TYPES, "deviceTypes"),
        )
    ),
    *(
        Assumption(
            name,
            f"Search of devices by `{parameter}`",
            f"`{parameter}` filters: a code that there is not is refused with status 400.",
            _FILTERS,
            1,
            _OTHER_FILTER,
            is_daily=False,
        )
        for name, parameter in (
            (CheckName.FILTER_RISK_CLASS, "riskClassCode"),
            (CheckName.FILTER_DEVICE_STATUS, "deviceStatusCode"),
        )
    ),
    Assumption(
        CheckName.FILTER_DEVICE_CRITERIA,
        "Search of devices by `deviceCriteria`",
        "`deviceCriteria` filters: a made-up value finds nothing or is refused.",
        _FILTERS,
        1,
        _OTHER_FILTER,
        is_daily=False,
    ),
    Assumption(
        CheckName.FILTER_LEGISLATION,
        "Search of devices by legislation",
        "`applicableLegislation` with the code of a directive finds a part of all devices.",
        _FILTERS,
        1,
        _OTHER_FILTER,
        is_daily=False,
    ),
    Assumption(
        CheckName.FILTERS_IGNORED,
        "Parameters of the device search that are ignored",
        "`manufacturerName`, `manufacturerSrn`, `deviceName`, `nomenclatureCode`, `notifiedBodyNumber`, `q`, `sterile`"
        " and `implantable` are ignored: the whole register is found.",
        _FILTERS,
        1,
        f"The service sends none of them; a release may use what filters now. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.LIST_CERTIFICATES,
        "List of certificates: size of its pages",
        "The certificate search sends the 300 rows a page that were asked for.",
        _PATHS,
        1,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.LIST_CERTIFICATES_BARE,
        "List of certificates: without parameters",
        "The certificate search without parameters gives 20 rows.",
        _PATHS,
        1,
        f"The service sends parameters, so nothing changes. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.LIST_CERTIFICATES_CAP,
        "List of certificates: 300 rows at most",
        "`pageSize` is heeded alone, and 1,000 gives 300 rows.",
        _PATHS,
        1,
        f"The service asks for 300 by both parameters, so nothing is lost. {SEND}",
        is_daily=False,
    ),
    Assumption(
        CheckName.CERTIFICATE_ROW,
        "Fields of certificates in lists",
        "Rows of the certificate search have every field that is read, of the known type.",
        _PATHS,
        0,
        f"{NO_LIST} {SEND}",
    ),
    Assumption(
        CheckName.CERTIFICATE_ACTORS,
        "Statuses of manufacturers in the list of certificates",
        "`mfStatus` is an object by SRN, not a code.",
        _PATHS,
        0,
        f"The status of the manufacturer is read from other records. {SEND}",
    ),
    Assumption(
        CheckName.TOTAL_CERTIFICATES,
        "Number of certificates is plausible",
        "There are at least four fifths and at most one and a half times as many certificates as at the last look.",
        _PATHS,
        0,
        "Compare with the register's own pages before anybody acts on certificates that are missing. The next look"
        " compares with the new number.",
    ),
    Assumption(
        CheckName.CERTIFICATE_STATUS_CODES,
        "Codes of certificate statuses are known",
        "Every status of a certificate has a known code.",
        _CODES,
        0,
        _UNLABELLED,
    ),
    Assumption(
        CheckName.FILTER_CERTIFICATE_ACTOR,
        "Search of certificates by manufacturer",
        "`actorSrn` finds exactly the certificates of a manufacturer.",
        _PATHS,
        2,
        _OTHER_FILTER,
        is_daily=False,
    ),
    Assumption(
        CheckName.FILTER_CERTIFICATE_NUMBER,
        "Search of certificates by number",
        "`certificateNumber` finds exactly the certificates with a number.",
        _PATHS,
        2,
        _OTHER_FILTER,
        is_daily=False,
    ),
    Assumption(
        CheckName.FILTER_CERTIFICATE_BODY,
        "Search of certificates by notified body",
        "`notifiedBodySrn` finds exactly the certificates of a notified body.",
        _PATHS,
        2,
        _OTHER_FILTER,
        is_daily=False,
    ),
    Assumption(
        CheckName.FILTER_BASIC_UDI,
        "Search of certificates by Basic UDI-DI (not relied on)",
        "`basicUdi` of the certificate search filters, or is ignored: nobody has proven either.",
        _PATHS,
        1,
        "Certificates of devices are read from their records and from scopes instead.",
    ),
    Assumption(
        CheckName.LIST_REFUSALS,
        "List of refused applications: size of its pages",
        "The search of refused applications sends the 300 rows a page that were asked for.",
        _PATHS,
        1,
        f"{NO_LIST} {SEND}",
    ),
)
