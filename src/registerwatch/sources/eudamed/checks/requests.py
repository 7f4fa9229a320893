"""Requests of checks to EUDAMED, for records that its own lists showed a moment before.

So a filter that finds none of them is known to have changed.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.check_requests import CheckPage, CheckRequests, Row
from registerwatch.sources.checks.outcomes import NO_SUBJECT, NothingToLookAt, Unanswered, outcome_of
from registerwatch.sources.eudamed import wire

Given = TypeVar("Given")

DEVICES, ACTORS, CERTIFICATES, REFUSALS = "/devices/udiDiData", "/eos", "/certificates/search/", "/applications/search/"
BASIC_RECORDS = "/devices/basicUdiData/udiDiData"
LANGUAGE = {"languageIso2Code": "en"}
PAGE_SIZE = 300
SMALL_PAGE_SIZE = 25
EOS_COST = 2
"""The register tolerates half as many actor searches as device searches a minute."""
NO_RECORD_UUID = "00000000-0000-4000-8000-000000000000"
LEGACY = "refdata.applicable-legislation.mdd"


def paging(size: int, page: int = 0) -> dict[str, str]:
    """The parameters that every search sends."""
    return {"page": str(page), "pageSize": str(size), "size": str(size), "iso2Code": "en", **LANGUAGE}


async def search(
    ask: CheckRequests, path: str, filters: Mapping[str, str], size: int = SMALL_PAGE_SIZE, *, cost: int = 1
) -> CheckPage:
    """The first page of a search."""
    return await ask.page(path, {**filters, **paging(size)}, cost=cost)


async def devices(ask: CheckRequests) -> CheckPage:
    """The first page of all devices."""
    return await search(ask, DEVICES, {}, PAGE_SIZE)


async def certificates(ask: CheckRequests) -> CheckPage:
    """The first page of all certificates."""
    return await search(ask, CERTIFICATES, {}, PAGE_SIZE)


async def refusals(ask: CheckRequests) -> CheckPage:
    """The first page of all refused applications."""
    return await search(ask, REFUSALS, {}, PAGE_SIZE)


async def given(answer: Awaitable[Given]) -> Given:
    """An answer that another check judges. Raises `NothingToLookAt` where it is refused or of another form, so that one
    difference is reported once.
    """
    try:
        return await answer
    except RegisterFailure as failure:
        if isinstance(outcome_of(failure), Unanswered):
            raise
        raise NothingToLookAt(NO_SUBJECT) from failure


async def a_device(ask: CheckRequests) -> Row:
    """A row of the device list that filters can be asked for. It is not one of the newest, which may be changing."""
    return _first(reversed((await given(devices(ask))).rows), _is_subject)


async def a_certificate(ask: CheckRequests) -> Row:
    """A row of the list of certificates whose record can be asked for."""
    return _first(reversed((await given(certificates(ask))).rows), lambda row: is_key(row.get("uuid")))


async def twins(ask: CheckRequests) -> tuple[Row, Row]:
    """Two devices of one Basic UDI-DI."""
    seen: dict[str, Row] = {}
    for row in (await given(devices(ask))).rows:
        ulid = row.get("basicUdiDiDataUlid")
        if not isinstance(ulid, str) or not is_key(row.get("uuid")):
            continue
        if ulid in seen:
            return seen[ulid], row
        seen[ulid] = row
    raise NothingToLookAt("No two devices in the list have the same Basic UDI-DI.")


async def detail(ask: CheckRequests) -> Any:
    """The detail of a device."""
    return await ask.get(f"{DEVICES}/{(await a_device(ask))['uuid']}", LANGUAGE)


async def basic_record(ask: CheckRequests, row: Row) -> Any:
    """The Basic UDI-DI record of a device."""
    return await ask.get(f"{BASIC_RECORDS}/{row['uuid']}", LANGUAGE)


async def full_basic_record(ask: CheckRequests) -> Any:
    """A Basic UDI-DI record that lists certificates, where one is known; else that of a device of the list, preferably
    of one that shares it.
    """
    if is_key(ask.before.certified):
        try:
            return await basic_record(ask, {"uuid": ask.before.certified})
        except RegisterFailure as failure:
            if failure.transient or failure.status is None:
                raise  # else the stored record has left the register, which proves nothing
    try:
        row, _ = await twins(ask)
    except NothingToLookAt:
        row = await a_device(ask)
    return await basic_record(ask, row)


async def actors(ask: CheckRequests) -> CheckPage:
    """The actor search for the manufacturer of a device."""
    srn = (await a_device(ask))["manufacturerSrn"]
    return await search(ask, ACTORS, {"srn": srn}, cost=EOS_COST)


async def actor(ask: CheckRequests) -> Any:
    """The record of the manufacturer of a device."""
    row = _first((await given(actors(ask))).rows, lambda row: is_key(row.get("uuid")))
    return await ask.get(f"/actors/{row['uuid']}/publicInformation", LANGUAGE)


async def certificate(ask: CheckRequests) -> Any:
    """The record of a certificate, by a request without parameters."""
    return await ask.get(f"/certificates/{(await a_certificate(ask))['uuid']}")


def within(record: object, *names: str) -> Any:
    """The value at a path of an answer, None where it has none."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def codes(records: Iterable[object], name: str) -> Iterator[str]:
    """The codes in a field of records; the checks of shapes judge values that are not texts."""
    found = (within(record, name, "code") for record in records)
    return (code for code in found if isinstance(code, str) and code)


def is_key(value: object) -> bool:
    """Whether a value may become a part of an address."""
    return isinstance(value, str) and wire.RECORD_KEY.fullmatch(value) is not None


def _is_subject(row: Row) -> bool:
    """Whether filters can be asked for this row."""
    named = all(isinstance(row.get(name), str) and row[name] for name in ("primaryDi", "manufacturerSrn"))
    return named and is_key(row.get("uuid"))


def _first(rows: Iterable[Row], is_wanted: Callable[[Row], bool]) -> Row:
    for row in rows:
        if is_wanted(row):
            return row
    raise NothingToLookAt(NO_SUBJECT)
