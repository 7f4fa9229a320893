"""Checks of EUDAMED's filters: each has to find records with a value, and none for a made-up value.

The register ignores a parameter that it does not know, and answers with all records.
"""

from collections.abc import Awaitable, Callable, Mapping

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.check_requests import CheckPage, CheckRequests, Row
from registerwatch.sources.checks.judgements import NEARLY_ALL
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import NO_SUBJECT, CheckResult, NothingToLookAt, Outcome, found, outcome_of
from registerwatch.sources.checks.source_checks import Look
from registerwatch.sources.eudamed.checks import requests
from registerwatch.sources.eudamed.checks.requests import (
    ACTORS,
    CERTIFICATES,
    DEVICES,
    EOS_COST,
    LEGACY,
    SMALL_PAGE_SIZE,
    given,
    paging,
    search,
)
from registerwatch.sources.eudamed.guards import PROBE_VALUE

IGNORED = "It is ignored: a value that nothing has finds records."
FINDS_NOTHING = "It does not find a record that was listed a moment before."
OTHERS = "It finds records that do not have the value."
FINDS_ALL = "It finds nearly everything: it is ignored."
OPTIONAL_IGNORED = "The register ignores it; certificates are read without it."
IGNORED_NAMES = ("manufacturerName", "manufacturerSrn", "deviceName", "nomenclatureCode", "notifiedBodyNumber", "q")
IGNORED_FLAGS = ("sterile", "implantable")
"""Parameters of the device search that were ignored whenever they were tried."""

Subject = Callable[[CheckRequests], Awaitable[Row]]


async def primary_di(ask: CheckRequests) -> Outcome:
    """The device search by UDI-DI."""
    return await _exact(ask, DEVICES, "primaryDi", requests.a_device, "primaryDi")


async def manufacturer(ask: CheckRequests) -> Outcome:
    """The device search by manufacturer."""
    return await _exact(ask, DEVICES, "srn", requests.a_device, "manufacturerSrn")


async def device_basic_udi(ask: CheckRequests) -> Outcome:
    """The device search by Basic UDI-DI."""
    return await _exact(ask, DEVICES, "basicUdi", _with_basic_udi, "basicUdi")


async def actor_srn(ask: CheckRequests) -> Outcome:
    """The actor search by SRN."""
    if not await _finds_nothing(ask, ACTORS, "srn", cost=EOS_COST):
        return CheckResult(False, IGNORED)
    srn = (await requests.a_device(ask))["manufacturerSrn"]
    return _all_have(await requests.actors(ask), "srn", srn)


async def certificate_actor(ask: CheckRequests) -> Outcome:
    """The certificate search by manufacturer."""
    return await _exact(ask, CERTIFICATES, "actorSrn", _certificate_with("actorSrn"), "actorSrn")


async def certificate_number(ask: CheckRequests) -> Outcome:
    """The certificate search by number."""
    return await _exact(
        ask, CERTIFICATES, "certificateNumber", _certificate_with("certificateNumber"), "certificateNumber"
    )


async def certificate_body(ask: CheckRequests) -> Outcome:
    """The certificate search by notified body."""
    return await _exact(ask, CERTIFICATES, "notifiedBodySrn", _certificate_with("notifiedBodySrn"), "notifiedBodySrn")


async def certificate_basic_udi(ask: CheckRequests) -> Outcome:
    """The one filter that reads can do without."""
    is_heeded = await _finds_nothing(ask, CERTIFICATES, "basicUdi")
    return CheckResult(True, "" if is_heeded else OPTIONAL_IGNORED)


def finds_nothing(parameter: str) -> Look:
    """The check of a filter of devices by text: a made-up value has to find nothing."""

    async def look(ask: CheckRequests) -> Outcome:
        return CheckResult(True) if await _finds_nothing(ask, DEVICES, parameter) else CheckResult(False, IGNORED)

    return look


def is_refused(parameter: str) -> Look:
    """The check of a filter by code: an unknown code has to be refused."""

    async def look(ask: CheckRequests) -> Outcome:
        params = {parameter: f"refdata.{PROBE_VALUE.lower()}", **paging(SMALL_PAGE_SIZE)}
        return await ask.refusal(DEVICES, params, 400)

    return look


def is_heeded(parameter: str) -> Look:
    """The check of a filter that may find nothing for a made-up value, or refuse it."""

    async def look(ask: CheckRequests) -> Outcome:
        try:
            return CheckResult(True) if await _finds_nothing(ask, DEVICES, parameter) else CheckResult(False, IGNORED)
        except RegisterFailure as failure:
            return CheckResult(True, "Refused (status 400).") if failure.status == 400 else outcome_of(failure)

    return look


async def legislation(ask: CheckRequests) -> Outcome:
    """The device search by legislation: that of a directive finds a part of all devices."""
    page, everything = await legacy_devices(ask), (await given(requests.devices(ask))).total
    if not page.rows:
        return CheckResult(False, "It finds no device under Directive 93/42/EEC.")
    return CheckResult(False, FINDS_ALL) if page.total > NEARLY_ALL * everything else CheckResult(True)


async def legacy_devices(ask: CheckRequests) -> CheckPage:
    """Devices under Directive 93/42/EEC."""
    return await search(ask, DEVICES, {"applicableLegislation": LEGACY})


async def ignored(ask: CheckRequests) -> Outcome:
    """The parameters that are known to be ignored: all in one request, one by one where that filters."""
    everything = (await given(requests.devices(ask))).total
    values = dict.fromkeys(IGNORED_NAMES, PROBE_VALUE) | dict.fromkeys(IGNORED_FLAGS, "true")
    if (await search(ask, DEVICES, values)).total > NEARLY_ALL * everything:
        return CheckResult(True)
    heeded = [
        name
        for name, value in values.items()
        if (await search(ask, DEVICES, {name: value})).total <= NEARLY_ALL * everything
    ]
    return found(
        False, f"Now they filter: {', '.join(heeded)}." if heeded else "Together they filter, alone none does."
    )


async def _exact(ask: CheckRequests, path: str, parameter: str, subject: Subject, shown_as: str) -> Outcome:
    """Whether a filter finds records with a value, and none for a made-up value."""
    if not await _finds_nothing(ask, path, parameter):
        return CheckResult(False, IGNORED)
    value = (await subject(ask))[shown_as]
    return _all_have(await search(ask, path, {parameter: value}), shown_as, value)


def _all_have(page: CheckPage, name: str, value: str) -> CheckResult:
    if not page.rows:
        return CheckResult(False, FINDS_NOTHING)
    return CheckResult(True) if all(row.get(name) == value for row in page.rows) else CheckResult(False, OTHERS)


async def _finds_nothing(ask: CheckRequests, path: str, parameter: str, *, cost: int = 1) -> bool:
    page = await search(ask, path, {parameter: PROBE_VALUE}, cost=cost)
    return not page.count and not page.total


async def _with_basic_udi(ask: CheckRequests) -> Row:
    """A device of the list that has a Basic UDI-DI."""
    for row in (await given(requests.devices(ask))).rows:
        if isinstance(row.get("basicUdi"), str) and row["basicUdi"]:
            return row
    raise NothingToLookAt("No device in the list has a Basic UDI-DI.")


def _certificate_with(name: str) -> Subject:
    """A certificate of the list that has a value."""

    async def subject(ask: CheckRequests) -> Row:
        for row in reversed((await given(requests.certificates(ask))).rows):
            if isinstance(row.get(name), str) and row[name]:
                return row
        raise NothingToLookAt(NO_SUBJECT)

    return subject


LOOKS: Mapping[CheckName, Look] = {
    CheckName.FILTER_PRIMARY_DI: primary_di,
    CheckName.FILTER_SRN: manufacturer,
    CheckName.FILTER_DEVICE_BASIC_UDI: device_basic_udi,
    CheckName.FILTER_TRADE_NAME: finds_nothing("tradeName"),
    CheckName.FILTER_REFERENCE: finds_nothing("reference"),
    CheckName.FILTER_DEVICE_MODEL: finds_nothing("deviceModel"),
    CheckName.FILTER_CND_CODE: finds_nothing("cndCode"),
    CheckName.FILTER_RISK_CLASS: is_refused("riskClassCode"),
    CheckName.FILTER_DEVICE_STATUS: is_refused("deviceStatusCode"),
    CheckName.FILTER_DEVICE_TYPES: finds_nothing("deviceTypes"),
    CheckName.FILTER_DEVICE_CRITERIA: is_heeded("deviceCriteria"),
    CheckName.FILTER_LEGISLATION: legislation,
    CheckName.FILTERS_IGNORED: ignored,
    CheckName.FILTER_ACTOR_SRN: actor_srn,
    CheckName.FILTER_CERTIFICATE_ACTOR: certificate_actor,
    CheckName.FILTER_CERTIFICATE_NUMBER: certificate_number,
    CheckName.FILTER_CERTIFICATE_BODY: certificate_body,
    CheckName.FILTER_BASIC_UDI: certificate_basic_udi,
}
"""Each of these checks, by its name."""
