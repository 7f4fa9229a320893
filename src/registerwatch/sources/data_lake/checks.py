"""The checks of the Data Lake."""

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.check_requests import CheckRequests, Row
from registerwatch.sources.checks.judgements import CODE, NOTHING_LISTED
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, NothingToLookAt, Outcome, Unanswered, found
from registerwatch.sources.checks.shapes import Shape, judge_shape, judge_values
from registerwatch.sources.checks.source_checks import Look, pace
from registerwatch.sources.data_lake.client import FULL_PAGE, PARAMETERS
from registerwatch.sources.data_lake.convert import CHARACTERISTICS
from registerwatch.sources.data_lake.reference import KNOWN
from registerwatch.sources.data_lake.wire import actor_row as actor_reader
from registerwatch.sources.data_lake.wire import device_row as device_reader

LOOKED_AT = 300
"""Rows of a page whose columns are checked."""
MAX_REFERENCE_PAGES = 12
UDI, ACTORS, REFERENCE = "/udi", "/actors", "/reference"

_COLUMN_NAMES = """
UUID PRIMARY_DI BASIC_UDI UDI_DI_DATA_ULID BASIC_UDI_DATA_UUID BASIC_UDI_DATA_ULID ID TRADE_NAME DEVICE_NAME
DEVICE_MODEL REFERENCE MEDICAL_PURPOSE MF_SRN MF_NAME AR_SRN AR_NAME MF_ACTOR_NAMES AR_ACTOR_NAMES
ACTOR_ABBREVIATED_NAMES NOMENCLATURE_CODE RISK_CLASS_ID APPLICABLE_LEGISLATION_ID DEVICE_STATUS_TYPE_ID
SPECIAL_DEVICE_TYPE_ID MULTI_COMPONENT_ID PLACED_ON_THE_MARKET_ID STATUS_ID DEVICE_CRITERION VERSION_NUMBER
LATEST_VERSION STERILE STERILIZATION LATEX CMR_SUBSTANCE ENDOCRINE_DISRUPTOR REPROCESSED NEW_DEVICE REUSABLE
IMPLANTABLE ACTIVE MEASURING_FUNCTION ADMINISTERING_MEDICINE ANIMAL_TISSUES HUMAN_TISSUES HUMAN_PRODUCT
MEDICINAL_PRODUCT MICROBIAL_SUBSTANCES SUTURES KIT REAGENT INSTRUMENT SELF_TESTING NEAR_PATIENT_TESTING
PROFESSIONAL_TESTING COMPANION_DIAGNOSTICS UNIT_OF_USE_DI DIRECT_MARKETING_DI SECONDARY_DI CONTAINER_PACKAGE_DIS
SUBSTATUSES
"""
COLUMNS = frozenset(_COLUMN_NAMES.split())
"""The 60 columns of `/udi` as they were measured."""
KNOWN_IDS: Mapping[str, frozenset[int]] = {column: frozenset(ids) for column, ids in KNOWN.items()}
"""The ids that have a label here, by column."""
NOT_IN_REFERENCE = frozenset({-1192, -1202, -3020, -3021})
"""Ids of devices that `/reference` did not list, or for which that is not known."""
_NUMBERS = (*KNOWN_IDS, "VERSION_NUMBER", "LATEST_VERSION", "STERILE", "LATEX", "IMPLANTABLE", "REUSABLE")

_USUAL = frozenset(
    {
        "APPLICABLE_LEGISLATION_ID",
        "AR_NAME",
        "AR_SRN",
        "BASIC_UDI",
        "DEVICE_MODEL",
        "DEVICE_NAME",
        "IMPLANTABLE",
        "LATEX",
        "NOMENCLATURE_CODE",
        "REFERENCE",
        "REUSABLE",
        "RISK_CLASS_ID",
        "STERILE",
        "TRADE_NAME",
    }
)
"""Optional columns: whether a row names those that are empty is not known."""
_DEVICE = Shape(
    device_reader,
    keys=frozenset({"UUID", "PRIMARY_DI"}),
    filled=frozenset({"DEVICE_STATUS_TYPE_ID", "LATEST_VERSION", "MF_NAME", "MF_SRN", "VERSION_NUMBER"}),
    optional=_USUAL
    | {
        "AR_ACTOR_NAMES",
        "CONTAINER_PACKAGE_DIS",
        "DIRECT_MARKETING_DI",
        "MF_ACTOR_NAMES",
        "SECONDARY_DI",
        "SPECIAL_DEVICE_TYPE_ID",
        "UNIT_OF_USE_DI",
    }
    | {name.upper() for name in CHARACTERISTICS},
    usual=_USUAL,
)
_ACTOR = Shape(
    actor_reader, keys=frozenset({"ACTOR_ID"}), filled=frozenset({"NAME", "STATUS", "ACT_COUNTRY_ISO2_CODE"})
)


async def device_row(ask: CheckRequests) -> Outcome:
    """The columns of devices that are read."""
    return judge_shape(_DEVICE, await _looked_at(ask, UDI))


async def device_values(ask: CheckRequests) -> Outcome:
    """The values that devices usually have."""
    return judge_values(_DEVICE, await _looked_at(ask, UDI))


async def columns(ask: CheckRequests) -> Outcome:
    """Whether the columns are those that were measured."""
    names = {name for row in await _looked_at(ask, UDI) for name in row}
    if not names:
        return Unanswered(NOTHING_LISTED)
    new = [name if CODE.fullmatch(name) else "one of an unexpected name" for name in sorted(names - COLUMNS)]
    sentences = [f"New: {', '.join(new)}."] if new else []
    sentences += [f"Missing: {', '.join(sorted(COLUMNS - names))}."] if COLUMNS - names else []
    return found(not sentences, " ".join(sentences))


async def numbers(ask: CheckRequests) -> Outcome:
    """Whether every number is written with a fraction of zero, such as -203.0."""
    kinds: dict[str, set[str]] = {}
    for row in await _looked_at(ask, UDI):
        for name in _NUMBERS:
            if (kind := _kind(row.get(name))) is not None:
                kinds.setdefault(kind, set()).add(name)
    if not kinds:
        return Unanswered("No row that was looked at has a number.")
    odd = [f"{kind}: {', '.join(sorted(names))}." for kind, names in kinds.items() if kind != _WHOLE_FLOAT]
    return found(not odd, " ".join(odd))


async def names(ask: CheckRequests) -> Outcome:
    """Whether names in languages are JSON inside a text."""
    values = [row["MF_ACTOR_NAMES"] for row in await _looked_at(ask, UDI) if row.get("MF_ACTOR_NAMES") is not None]
    if not values:
        return Unanswered("No device that was looked at has MF_ACTOR_NAMES.")
    odd = sum(not _is_texts(value) for value in values)
    return CheckResult(not odd, f"MF_ACTOR_NAMES of {odd} of {len(values)} is no text with JSON." if odd else "")


async def ids(ask: CheckRequests) -> Outcome:
    """Whether every id of devices has a label."""
    rows = await _looked_at(ask, UDI)
    seen = {(name, number) for name in KNOWN_IDS for row in rows if (number := _whole(row.get(name))) is not None}
    if not seen:
        return Unanswered("No row that was looked at has an id.")
    new = [f"{name} {number}" for name, number in sorted(seen) if number not in KNOWN_IDS[name]]
    return found(not new, f"Without a label: {', '.join(new[:10])}." if new else "")


async def next_page(ask: CheckRequests) -> Outcome:
    """Whether a full page names the next one, with other rows."""
    rows, link = await _page(ask, UDI, PARAMETERS)
    if link is None:
        is_last = len(rows) < FULL_PAGE
        return CheckResult(is_last, "" if is_last else f"A page of {len(rows):,} rows has no nextLink.")
    path, params = _own(ask, link)
    if "$after" not in params:
        return CheckResult(False, "nextLink has no $after.")
    following, _ = await _page(ask, path, params)
    seen = {row.get("UUID") for row in rows}
    if following and all(row.get("UUID") in seen for row in following):
        return CheckResult(False, "The page behind nextLink shows the same devices again.")
    return CheckResult(True, f"{len(rows):,} rows a page.")


async def primary_di(ask: CheckRequests) -> Outcome:
    """The filter by UDI-DI."""
    subject = next((row for row in await _looked_at(ask, UDI) if isinstance(row.get("PRIMARY_DI"), str)), None)
    if subject is None:
        raise NothingToLookAt(NOTHING_LISTED)
    rows, _ = await _page(ask, UDI, {**PARAMETERS, "PRIMARY_DI": subject["PRIMARY_DI"]})
    if not rows:
        return CheckResult(False, "It does not find a device that was listed a moment before.")
    is_exact = all(row.get("PRIMARY_DI") == subject["PRIMARY_DI"] for row in rows)
    return CheckResult(is_exact, "" if is_exact else "It finds devices that do not have the value.")


async def version(ask: CheckRequests) -> Outcome:
    """A request without a version of the interface."""
    return await ask.refusal(UDI, {"format": PARAMETERS["format"]}, 404)


async def answer_format(ask: CheckRequests) -> Outcome:
    """A request without a format."""
    return await ask.refusal(UDI, {"api-version": PARAMETERS["api-version"]}, 400)


async def unknown_parameter(ask: CheckRequests) -> Outcome:
    """A request with an unknown parameter."""
    return await ask.refusal(UDI, {**PARAMETERS, "CND_CODE": "Q01"}, 400)


async def actor_row(ask: CheckRequests) -> Outcome:
    """The columns of actors that are read."""
    return judge_shape(_ACTOR, await _looked_at(ask, ACTORS))


async def reference(ask: CheckRequests) -> Outcome:
    """Whether `/reference` has the ids that have a label here, and no others in the same columns."""
    listed: dict[str, set[int]] = {name: set() for name in KNOWN_IDS}
    async for row in _all_rows(ask, REFERENCE):
        number = _whole(row.get("ID"))
        if row.get("CODE") in listed and number is not None:
            listed[row["CODE"]].add(number)
    sentences = []
    for name, known in KNOWN_IDS.items():
        gone, new = known - listed[name] - NOT_IN_REFERENCE, listed[name] - known
        sentences += [f"{name}: {_numbers(gone)} not listed any more."] if gone else []
        sentences += [f"{name}: {_numbers(new)} has no label here."] if new else []
    return found(not sentences, " ".join(sentences))


LOOKS: Mapping[CheckName, Look] = {
    CheckName.DATA_LAKE_ROW: device_row,
    CheckName.DATA_LAKE_VALUES: device_values,
    CheckName.DATA_LAKE_COLUMNS: columns,
    CheckName.DATA_LAKE_NUMBERS: numbers,
    CheckName.DATA_LAKE_NAMES: names,
    CheckName.DATA_LAKE_IDS: ids,
    CheckName.DATA_LAKE_PAGING: next_page,
    CheckName.DATA_LAKE_FILTER: primary_di,
    CheckName.DATA_LAKE_VERSION: version,
    CheckName.DATA_LAKE_FORMAT: answer_format,
    CheckName.DATA_LAKE_PARAMETER: unknown_parameter,
    CheckName.DATA_LAKE_ACTOR: actor_row,
    CheckName.DATA_LAKE_REFERENCE: reference,
    CheckName.DATA_LAKE_PACE: pace,
}
"""Each check of the Data Lake, by its name."""

_WHOLE_FLOAT = "with a fraction of zero"


async def _looked_at(ask: CheckRequests, path: str) -> Sequence[Row]:
    """The first rows of the first page of a list."""
    return (await _page(ask, path, PARAMETERS))[0][:LOOKED_AT]


async def _page(ask: CheckRequests, path: str, params: Mapping[str, str]) -> tuple[list[Row], str | None]:
    """The rows of a page that are objects, and the link to the next one. Raises `RegisterFailure`."""
    answer = await ask.get(path, params)
    rows, link = (answer.get("value"), answer.get("nextLink")) if isinstance(answer, dict) else (None, None)
    if not isinstance(rows, list):
        raise RegisterFailure("Its answer has no list of rows.")
    return [row for row in rows if isinstance(row, dict)], link if isinstance(link, str) and link else None


async def _all_rows(ask: CheckRequests, path: str) -> AsyncIterator[Row]:
    """The rows of all pages of a list. Raises `NothingToLookAt` where it is cut off."""
    params: Mapping[str, str] = PARAMETERS
    for _ in range(MAX_REFERENCE_PAGES):
        rows, link = await _page(ask, path, params)
        for row in rows:
            yield row
        if link is None:
            if len(rows) >= FULL_PAGE:
                raise NothingToLookAt("Its list breaks off after a full page without saying where the next one is.")
            return
        path, params = _own(ask, link)


def _own(ask: CheckRequests, link: str) -> tuple[str, dict[str, str]]:
    """The path and the parameters of a link, which must stay on the same service. Raises `RegisterFailure`."""
    path, _, query = link.partition("?")
    own = urlsplit(ask.base_url)
    if not path.startswith(f"{own.scheme}://{own.netloc}{own.path}/"):
        raise RegisterFailure("Its link to the next page leads elsewhere.")
    return path.removeprefix(f"{own.scheme}://{own.netloc}{own.path}"), dict(parse_qsl(query, keep_blank_values=True))


def _kind(value: object) -> str | None:
    """How a number is written; None for other values."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return _WHOLE_FLOAT if value.is_integer() else "with another fraction"
    return "without a fraction" if isinstance(value, int) else "not as a number"


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _is_texts(value: object) -> bool:
    try:
        texts = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(texts, dict) and isinstance(texts.get("texts"), list)


def _numbers(numbers: Collection[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers, reverse=True)[:10])
