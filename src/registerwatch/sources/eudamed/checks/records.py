"""Checks of EUDAMED's records: their fields, times and refusals, and what several of them share."""

from collections.abc import Iterator, Mapping

from registerwatch.sources.checks.check_requests import CheckRequests, Row
from registerwatch.sources.checks.judgements import judge_shared, judge_times
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, NothingToLookAt, Outcome
from registerwatch.sources.checks.shapes import judge_shape
from registerwatch.sources.checks.source_checks import Look
from registerwatch.sources.eudamed.checks import requests
from registerwatch.sources.eudamed.checks.filters import legacy_devices
from registerwatch.sources.eudamed.checks.lists import judged_codes
from registerwatch.sources.eudamed.checks.requests import (
    ACTORS,
    BASIC_RECORDS,
    DEVICES,
    EOS_COST,
    LANGUAGE,
    LEGACY,
    NO_RECORD_UUID,
    given,
    within,
)
from registerwatch.sources.eudamed.shapes import SHAPES


async def device_detail(ask: CheckRequests) -> Outcome:
    """The fields of a device's detail."""
    return judge_shape(SHAPES[CheckName.DEVICE_DETAIL], [await requests.detail(ask)])


async def unknown_record(ask: CheckRequests) -> Outcome:
    """The answer for a record that does not exist."""
    return await ask.refusal(f"{DEVICES}/{NO_RECORD_UUID}", LANGUAGE, 302)


async def detail_language(ask: CheckRequests) -> Outcome:
    """The detail without a language."""
    return await ask.refusal(f"{DEVICES}/{(await requests.a_device(ask))['uuid']}", {}, 400)


async def basic_udi_record(ask: CheckRequests) -> Outcome:
    """The fields of a Basic UDI-DI record."""
    return judge_shape(SHAPES[CheckName.BASIC_UDI_RECORD], [await requests.full_basic_record(ask)])


async def basic_udi_language(ask: CheckRequests) -> Outcome:
    """The Basic UDI-DI record without a language."""
    return await ask.refusal(f"{BASIC_RECORDS}/{(await requests.a_device(ask))['uuid']}", {}, 400)


async def basic_udi_ulid(ask: CheckRequests) -> Outcome:
    """Whether the key of a Basic UDI-DI record is the one that rows of its devices name."""
    row, _ = await requests.twins(ask)
    ulid = within(await given(requests.basic_record(ask, row)), "ulid")
    is_same = ulid == row["basicUdiDiDataUlid"]
    return CheckResult(is_same, "" if is_same else "The record has another ulid than the row of its device names.")


async def basic_udi_shared(ask: CheckRequests) -> Outcome:
    """Whether two devices of one Basic UDI-DI have the same record."""
    one, other = await requests.twins(ask)
    return judge_shared(await given(requests.basic_record(ask, one)), await given(requests.basic_record(ask, other)))


async def basic_udi_legacy(ask: CheckRequests) -> Outcome:
    """The Basic UDI-DI that the record of a legacy device names."""
    rows = [row for row in (await given(legacy_devices(ask))).rows if requests.is_key(row.get("uuid"))]
    rows.sort(key=lambda row: not _is_without_basic_udi(row))
    if not rows:
        raise NothingToLookAt("No legacy device was found.")
    record = await given(requests.basic_record(ask, rows[0]))
    if within(record, "legislation", "code") != LEGACY:
        return CheckResult(False, "The record of a device that was searched by its legislation has another one.")
    code, own = within(record, "basicUdi", "code"), f"B-{rows[0].get('primaryDi')}"
    expected = own if _is_without_basic_udi(rows[0]) else rows[0].get("basicUdi")
    if code in (own, expected):
        return CheckResult(True)
    return CheckResult(False, "A legacy device without a Basic UDI-DI has another code than B- and its UDI-DI.")


async def legislation_codes(ask: CheckRequests) -> Outcome:
    """Codes of legislations."""
    seen = set(requests.codes([await given(requests.full_basic_record(ask))], "legislation"))
    return judged_codes(ask, CheckName.LEGISLATION_CODES, seen)


async def actor_row(ask: CheckRequests) -> Outcome:
    """The fields of rows of the actor search."""
    return judge_shape(SHAPES[CheckName.ACTOR_ROW], (await requests.actors(ask)).rows)


async def actor_language(ask: CheckRequests) -> Outcome:
    """The actor search without a language, which the register answers with a fault."""
    return await ask.refusal(ACTORS, {"page": "0", "pageSize": "20", "size": "20"}, 500, cost=EOS_COST)


async def actor_detail(ask: CheckRequests) -> Outcome:
    """The fields of an actor's record."""
    return judge_shape(SHAPES[CheckName.ACTOR_DETAIL], [await requests.actor(ask)])


async def certificate_detail(ask: CheckRequests) -> Outcome:
    """The fields of a certificate's record."""
    return judge_shape(SHAPES[CheckName.CERTIFICATE_DETAIL], [await requests.certificate(ask)])


async def times(ask: CheckRequests) -> Outcome:
    """How dates and instants are written in records and rows."""
    seen = {
        **_times(await given(requests.detail(ask)), ("versionDate",), ("deviceStatus", "statusDate")),
        **_times(await given(requests.full_basic_record(ask)), ("lastUpdated",), ("versionDate",)),
        **_times(await requests.a_certificate(ask), ("issueDate",), ("expiryDate",), ("startingValidityDate",)),
    }
    return judge_times(seen)


def _times(record: Row, *paths: tuple[str, ...]) -> Mapping[str, object]:
    return dict(_named_times(record, paths))


def _named_times(record: Row, paths: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, object]]:
    return ((".".join(path), within(record, *path)) for path in paths)


def _is_without_basic_udi(row: Row) -> bool:
    """Whether a row has no Basic UDI-DI of its own."""
    return not row.get("basicUdi") or str(row["basicUdi"]).startswith("B-")


LOOKS: Mapping[CheckName, Look] = {
    CheckName.DEVICE_DETAIL: device_detail,
    CheckName.UNKNOWN_RECORD: unknown_record,
    CheckName.DETAIL_LANGUAGE: detail_language,
    CheckName.BASIC_UDI_RECORD: basic_udi_record,
    CheckName.BASIC_UDI_LANGUAGE: basic_udi_language,
    CheckName.BASIC_UDI_ULID: basic_udi_ulid,
    CheckName.BASIC_UDI_SHARED: basic_udi_shared,
    CheckName.BASIC_UDI_LEGACY: basic_udi_legacy,
    CheckName.LEGISLATION_CODES: legislation_codes,
    CheckName.ACTOR_ROW: actor_row,
    CheckName.ACTOR_LANGUAGE: actor_language,
    CheckName.ACTOR_DETAIL: actor_detail,
    CheckName.CERTIFICATE_DETAIL: certificate_detail,
    CheckName.TIMES: times,
}
"""Each of these checks, by its name."""
