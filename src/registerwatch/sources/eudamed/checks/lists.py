"""Checks of EUDAMED's lists: their pages, the fields of their rows, totals and codes, and feature flags."""

import re
from collections.abc import Mapping

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.check_requests import CheckPage, CheckRequests
from registerwatch.sources.checks.feature_flags import judge_flags
from registerwatch.sources.checks.judgements import (
    NOTHING_LISTED,
    judge_codes,
    judge_envelope,
    judge_next_page,
    judge_page,
    judge_rows,
    judge_total,
    judge_unused,
)
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, Outcome, Unanswered, found, outcome_of
from registerwatch.sources.checks.shapes import judge_shape, judge_values
from registerwatch.sources.checks.source_checks import Look
from registerwatch.sources.eudamed.checks import requests
from registerwatch.sources.eudamed.checks.requests import (
    CERTIFICATES,
    DEVICES,
    LANGUAGE,
    PAGE_SIZE,
    SMALL_PAGE_SIZE,
    given,
    paging,
)
from registerwatch.sources.eudamed.shapes import SHAPES

VERIFIED_BUILDS = ("2.27.3", "2.27.5")
"""The builds that this release was verified with."""
DEFAULT_ROWS = 20
"""Rows of a page where a request does not say how many."""
TOO_MANY = 1_000
_ROW_FIELDS = """
basicUdi basicUdiDiDataUlid deviceStatusType latestVersion manufacturerName manufacturerSrn manufacturerStatus primaryDi
reference riskClass tradeName ulid uuid versionNumber
"""
ROW_FIELDS = frozenset(_ROW_FIELDS.split())
"""Fields that rows of the device search may have. Every other field was empty in all rows seen."""

_BUILD = re.compile(r"[0-9A-Za-z._+-]{1,64}")
_NUMBER = re.compile(r"\d{4}")


async def build(ask: CheckRequests) -> Outcome:
    """The build that answers."""
    named = requests.within(await ask.get("/applicationInfo"), "buildVersion")
    if not isinstance(named, str) or not _BUILD.fullmatch(named):
        return CheckResult(False, "It names no build.")
    known = " and ".join(VERIFIED_BUILDS)
    return CheckResult(True, named, "" if named in VERIFIED_BUILDS else f"This release was verified with {known}.")


async def flags(ask: CheckRequests) -> Outcome:
    """The feature flags."""
    return judge_flags(await ask.get("/configurationParameters", {"scope": "PUBLIC", **LANGUAGE}))


# Devices


async def device_pages(ask: CheckRequests) -> Outcome:
    """Whether a page has the requested number of rows."""
    return _page(await requests.devices(ask))


async def envelope(ask: CheckRequests) -> Outcome:
    """The fields around a page's rows."""
    return judge_envelope((await given(requests.devices(ask))).envelope)


async def next_page(ask: CheckRequests) -> Outcome:
    """Whether the second page of few rows goes on where the first one ends."""
    first = [str(row.get("uuid")) for row in (await given(requests.devices(ask))).rows]
    second = await ask.page(DEVICES, paging(SMALL_PAGE_SIZE, page=1))
    return judge_next_page(first, [str(row.get("uuid")) for row in second.rows], SMALL_PAGE_SIZE)


async def largest_page(ask: CheckRequests) -> Outcome:
    """Whether more rows than 300 are cut to 300."""
    page = await requests.search(ask, DEVICES, {}, TOO_MANY)
    return judge_rows(page.count, page.total, PAGE_SIZE)


async def default_page(ask: CheckRequests) -> Outcome:
    """The number of rows where `pageSize` is sent without `size`: 20, or a refusal."""
    params = {"page": "0", "pageSize": "50", "iso2Code": "en", **LANGUAGE}
    try:
        page = await ask.page(DEVICES, params)
    except RegisterFailure as failure:
        return CheckResult(True, "Refused (status 400).") if failure.status == 400 else outcome_of(failure)
    return judge_rows(page.count, page.total, DEFAULT_ROWS)


async def device_row(ask: CheckRequests) -> Outcome:
    """The fields of rows of the device search."""
    return judge_shape(SHAPES[CheckName.DEVICE_ROW], (await requests.devices(ask)).rows)


async def device_values(ask: CheckRequests) -> Outcome:
    """The values that rows of the device search usually have."""
    return judge_values(SHAPES[CheckName.DEVICE_ROW], (await given(requests.devices(ask))).rows)


async def unused_fields(ask: CheckRequests) -> Outcome:
    """The fields of rows that were empty in every row that was seen."""
    return judge_unused((await given(requests.devices(ask))).rows, ROW_FIELDS)


async def device_total(ask: CheckRequests) -> Outcome:
    """How many devices there are."""
    return judge_total((await given(requests.devices(ask))).total, ask.before.totals.get(CheckName.TOTAL_DEVICES))


async def status_codes(ask: CheckRequests) -> Outcome:
    """Codes of the market status of devices."""
    rows = (await given(requests.devices(ask))).rows
    return judged_codes(ask, CheckName.STATUS_CODES, set(requests.codes(rows, "deviceStatusType")))


async def risk_codes(ask: CheckRequests) -> Outcome:
    """Codes of risk classes."""
    rows = (await given(requests.devices(ask))).rows
    return judged_codes(ask, CheckName.RISK_CODES, set(requests.codes(rows, "riskClass")))


async def actor_status_codes(ask: CheckRequests) -> Outcome:
    """Codes of the status of manufacturers."""
    rows = (await given(requests.devices(ask))).rows
    return judged_codes(ask, CheckName.ACTOR_STATUS_CODES, set(requests.codes(rows, "manufacturerStatus")))


# Certificates, refused applications, notified bodies, nomenclature


async def certificate_pages(ask: CheckRequests) -> Outcome:
    """Whether a page has the requested number of rows."""
    return _page(await requests.certificates(ask))


async def bare_certificates(ask: CheckRequests) -> Outcome:
    """Whether the search of certificates answers without parameters."""
    page = await ask.page(CERTIFICATES, {})
    return judge_rows(page.count, page.total, DEFAULT_ROWS)


async def largest_certificate_page(ask: CheckRequests) -> Outcome:
    """Whether `pageSize` alone is heeded, and more rows than 300 are cut to 300."""
    page = await ask.page(CERTIFICATES, {"pageSize": str(TOO_MANY)})
    return judge_rows(page.count, page.total, PAGE_SIZE)


async def certificate_row(ask: CheckRequests) -> Outcome:
    """The fields of rows of the certificate search."""
    return judge_shape(SHAPES[CheckName.CERTIFICATE_ROW], (await requests.certificates(ask)).rows)


async def certificate_actors(ask: CheckRequests) -> Outcome:
    """Whether the status of manufacturers is an object by SRN."""
    values = [
        row["mfStatus"] for row in (await given(requests.certificates(ask))).rows if row.get("mfStatus") is not None
    ]
    if not values:
        return Unanswered("No certificate that was looked at has mfStatus.")
    odd = [
        each
        for each in values
        if not isinstance(each, dict) or not all(isinstance(requests.within(one, "code"), str) for one in each.values())
    ]
    return CheckResult(not odd, f"mfStatus of {len(odd)} of {len(values)} is no object by SRN." if odd else "")


async def certificate_total(ask: CheckRequests) -> Outcome:
    """How many certificates there are."""
    return judge_total(
        (await given(requests.certificates(ask))).total, ask.before.totals.get(CheckName.TOTAL_CERTIFICATES)
    )


async def certificate_status_codes(ask: CheckRequests) -> Outcome:
    """Codes of the status of certificates."""
    rows = (await given(requests.certificates(ask))).rows
    return judged_codes(ask, CheckName.CERTIFICATE_STATUS_CODES, set(requests.codes(rows, "certificateStatus")))


async def refusal_pages(ask: CheckRequests) -> Outcome:
    """Whether a page has the requested number of rows."""
    return _page(await requests.refusals(ask))


async def refusal_row(ask: CheckRequests) -> Outcome:
    """The fields of refused applications."""
    return judge_shape(SHAPES[CheckName.REFUSAL_ROW], (await requests.refusals(ask)).rows)


async def notified_bodies(ask: CheckRequests) -> Outcome:
    """The fields of notified bodies, a list with nothing around it."""
    answer = await ask.get("/ses/notifiedBodies")
    if not isinstance(answer, list):
        return CheckResult(False, "Its answer is no list.")
    outcome = judge_shape(SHAPES[CheckName.NOTIFIED_BODY], answer)
    numbers = [requests.within(body, "eudamedIdentifier") for body in answer]
    odd = [each for each in numbers if not isinstance(each, str) or not _NUMBER.fullmatch(each)]
    if isinstance(outcome, CheckResult) and outcome.is_ok and 10 * len(odd) > len(numbers):
        return found(False, f"{len(odd)} of {len(numbers)} have no number of four digits.")
    return outcome


async def nomenclature(ask: CheckRequests) -> Outcome:
    """Whether the nomenclature is answered: one measurement found a fault there, another 8,516 terms."""
    try:
        answer = await ask.get("/devices/nomenclatures/", expects=500)
    except RegisterFailure as failure:
        if failure.status == 500:
            return CheckResult(True, "It has a fault (status 500), as it had for some who measured.")
        raise
    terms = answer if isinstance(answer, list) else requests.within(answer, "content")
    if not isinstance(terms, list):
        return CheckResult(False, "Its answer is no list of terms.")
    if not terms:
        return Unanswered(NOTHING_LISTED)
    named = sum(isinstance(requests.within(term, "code"), str) for term in terms)
    return CheckResult(10 * named >= 9 * len(terms), f"{named:,} of {len(terms):,} terms have a code.")


def judged_codes(ask: CheckRequests, name: CheckName, seen: set[str]) -> Outcome:
    """Whether codes that were seen now, and those of the records that were stored last, have labels."""
    return judge_codes(seen | set(ask.before.stored.get(name, ())), ask.before.labelled.get(name, ()))


def _page(page: CheckPage) -> CheckResult:
    return judge_page(page.count, page.total, PAGE_SIZE)


LOOKS: Mapping[CheckName, Look] = {
    CheckName.BUILD: build,
    CheckName.FLAGS: flags,
    CheckName.LIST_DEVICES: device_pages,
    CheckName.LIST_ENVELOPE: envelope,
    CheckName.LIST_PAGING: next_page,
    CheckName.LIST_CAP: largest_page,
    CheckName.LIST_DEFAULT_SIZE: default_page,
    CheckName.DEVICE_ROW: device_row,
    CheckName.DEVICE_VALUES: device_values,
    CheckName.DEVICE_UNUSED: unused_fields,
    CheckName.TOTAL_DEVICES: device_total,
    CheckName.STATUS_CODES: status_codes,
    CheckName.RISK_CODES: risk_codes,
    CheckName.ACTOR_STATUS_CODES: actor_status_codes,
    CheckName.LIST_CERTIFICATES: certificate_pages,
    CheckName.LIST_CERTIFICATES_BARE: bare_certificates,
    CheckName.LIST_CERTIFICATES_CAP: largest_certificate_page,
    CheckName.CERTIFICATE_ROW: certificate_row,
    CheckName.CERTIFICATE_ACTORS: certificate_actors,
    CheckName.TOTAL_CERTIFICATES: certificate_total,
    CheckName.CERTIFICATE_STATUS_CODES: certificate_status_codes,
    CheckName.LIST_REFUSALS: refusal_pages,
    CheckName.REFUSAL_ROW: refusal_row,
    CheckName.NOTIFIED_BODY: notified_bodies,
    CheckName.NOMENCLATURE: nomenclature,
}
"""Each of these checks, by its name."""
