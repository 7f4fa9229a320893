"""How another build of the register would answer.

`RENAMES` are what a rule of `Faults` shows: other names of fields, codes that nobody has heard of. A `Difference` is
one assumption about the register that no longer holds, until it is switched off: a check of assumptions has to name it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.faults import Kind, kind_of
from registerwatch_standins.register.responses import json_response, response_of, with_body
from registerwatch_standins.register.wire.codes import Fields, derived_ulid

Rename = Callable[[Fields, Sequence[str]], Fields]
Query = list[tuple[str, str]]


class Difference(StrEnum):
    """One difference from what was measured of the register."""

    PRIMARY_DI_FILTER_IGNORED = "primary-di-filter-ignored"
    """The device search no longer knows `primaryDi`: it answers with the whole register."""
    ACTOR_SRN_FILTER_IGNORED = "actor-srn-filter-ignored"
    """The certificate search no longer knows `actorSrn`: it answers with all certificates."""
    ACTOR_SRN_MISSING = "actor-srn-missing"
    """Rows of the certificate search have no `actorSrn`."""
    PAGE_CAP_OF_100 = "page-cap-of-100"
    """A page of a search has at most 100 rows instead of 300."""
    PAGES_FROM_1 = "pages-from-1"
    """Pages of searches are counted from 1: pages 0 and 1 are the same."""
    TOTALS_AS_TEXT = "totals-as-text"
    """`totalElements` and `totalPages` are texts of digits."""
    DETAIL_FIELD_RENAMED = "detail-field-renamed"
    """`cndNomenclatures` of a device's detail is called `emdnNomenclatures`."""
    TIMESTAMPS_WITH_ZONE = "timestamps-with-zone"
    """Timestamps of details and Basic UDI-DI records end in `+02:00`."""
    NEW_DEVICE_STATUS = "new-device-status"
    """Devices on the market have the status code `refdata.device-model-status.made-available`."""
    BASIC_ULID_DIFFERS = "basic-ulid-differs"
    """The `ulid` of a Basic UDI-DI record is not the `basicUdiDiDataUlid` of the row."""
    MISSING_RECORD_404 = "missing-record-404"
    """A record that there is not is a 404 instead of a 302."""
    NEW_BUILD = "new-build"
    """`buildVersion` is 2.28.0."""
    SAFETY_NOTICES_ON = "safety-notices-on"
    """The flag `ffVigFsn` (field safety notices) is on."""
    DATALAKE_COLUMN_RENAMED = "datalake-column-renamed"
    """The column `MF_SRN` of `/udi` is called `MANUFACTURER_SRN`."""
    REFERENCE_ID_CHANGED = "reference-id-changed"
    """The risk class IIa has the id -1204 instead of -204, in `/udi` and `/reference`."""
    NEXT_LINK_MISSING = "next-link-missing"
    """Full pages of the Data Lake have no `nextLink`."""


class Alteration(msgspec.Struct, frozen=True):
    """What a difference does to requests of some kinds, whose path ends in `ending`: to its query, to its answer."""

    kinds: tuple[Kind, ...]
    ending: str = ""
    query: Callable[[Query], Query] = lambda query: query
    answer: Callable[[Response], Response] = lambda response: response


class DriftLayer:
    """Shows the differences that are switched on; `differences` can be changed at any time."""

    def __init__(self, app: ASGIApp, differences: Iterable[Difference] = ()) -> None:
        self._app = app
        self.differences = set(differences)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request as the other build would."""
        shown = [
            alteration
            for difference in Difference
            if difference in self.differences
            for alteration in ALTERATIONS[difference]
            if kind_of(scope["path"]) in alteration.kinds and scope["path"].endswith(alteration.ending)
        ]
        if not shown:
            await self._app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode(), keep_blank_values=True)
        for each in shown:
            query = each.query(query)
        response = await response_of(self._app, {**scope, "query_string": urlencode(query).encode()}, receive)
        for each in shown:
            response = each.answer(response)
        await response(scope, receive, send)


def renamed_answer(body: bytes, rename: Rename, names: Sequence[str]) -> bytes:
    """An answer whose rows are renamed, or which itself is where it is a record."""
    answer = msgspec.json.decode(body)
    if isinstance(answer, list):
        return msgspec.json.encode([rename(row, names) for row in answer])
    rows = next((name for name in ("content", "value") if isinstance(answer.get(name), list)), None)
    if rows is None:
        return msgspec.json.encode(rename(answer, names))
    return msgspec.json.encode({**answer, rows: [rename(row, names) for row in answer[rows]]})


def _rename_fields(row: Fields, names: Sequence[str]) -> Fields:
    """All fields of a row, or those with these names at whatever depth."""

    def renamed(value: object) -> object:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {f"{name}V2" if name in names else name: renamed(each) for name, each in value.items()}
        return value

    return {f"{name}V2" if not names or name in names else name: renamed(value) for name, value in row.items()}


def _rename_codes(row: Fields, names: Sequence[str]) -> Fields:
    """Codes of all fields of a row, or of those with these names, at whatever depth below; the families stay."""

    def renamed(value: str) -> str:
        return f"{value.rpartition('.')[0]}.of-a-later-build" if value.startswith("refdata.") else value

    return {name: value if names and name not in names else _texts(value, renamed) for name, value in row.items()}


RENAMES: Mapping[str, Rename] = {"json-of-renamed-fields": _rename_fields, "unknown-codes": _rename_codes}


def _texts(value: object, change: Callable[[str], str]) -> object:
    """A JSON value, all texts of which are changed."""
    if isinstance(value, list):
        return [_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _texts(each, change) for name, each in value.items()}
    return change(value) if isinstance(value, str) else value


def _of_json(change: Callable[[Any], Any]) -> Callable[[Response], Response]:
    """An alteration of JSON that was answered; other answers stay."""

    def answer(response: Response) -> Response:
        if response.status_code != 200 or "json" not in response.headers.get("content-type", ""):
            return response
        return with_body(response, msgspec.json.encode(change(msgspec.json.decode(response.body))))

    return answer


def _of_texts(change: Callable[[str], str]) -> Callable[[Response], Response]:
    return _of_json(lambda answer: _texts(answer, change))


def _of_rows(change: Callable[[Fields], Fields]) -> Callable[[Response], Response]:
    """An alteration of each row of a page."""

    def page(answer: Fields) -> Fields:
        rows = "value" if "value" in answer else "content"
        return {**answer, rows: [change(row) for row in answer[rows]]}

    return _of_json(page)


def _without(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {each: value for each, value in fields.items() if each != name}


def _ignoring(name: str) -> Callable[[Query], Query]:
    return lambda query: [(each, value) for each, value in query if each != name]


def _renaming(old: str, new: str) -> Callable[[Fields], Fields]:
    return lambda fields: {new if name == old else name: value for name, value in fields.items()}


def _number(name: str, change: Callable[[int], int]) -> Callable[[Query], Query]:
    """A query in which a number is another; one that is no number stays."""
    return lambda query: [
        (each, str(change(int(value)))) if each == name and value.isdecimal() else (each, value)
        for each, value in query
    ]


def _totals_as_text(page: Fields) -> Fields:
    return page | {name: str(page[name]) for name in ("totalElements", "totalPages") if name in page}


def _zoned(text: str) -> str:
    return f"{text}+02:00" if re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+", text) else text


def _made_available(text: str) -> str:
    return text.replace("device-model-status.on-the-market", "device-model-status.made-available")


def _other_id(row: Fields) -> Fields:
    """A row of `/udi` or `/reference` with another id of the risk class IIa."""
    column = "ID" if row.get("CODE") == "RISK_CLASS_ID" else "RISK_CLASS_ID"
    return {**row, column: -1204.0} if row.get(column) == -204 else row


def _not_found(response: Response) -> Response:
    return json_response({"status": 404, "error": "Not Found"}, 404) if response.status_code == 302 else response


_SEARCHES: tuple[Kind, ...] = ("search", "actor-search", "certificates", "refusals")
_RECORDS: tuple[Kind, ...] = ("detail", "basic", "actor", "certificate")

ALTERATIONS: Mapping[Difference, Sequence[Alteration]] = {
    Difference.PRIMARY_DI_FILTER_IGNORED: [Alteration(("search",), query=_ignoring("primaryDi"))],
    Difference.ACTOR_SRN_FILTER_IGNORED: [Alteration(("certificates",), query=_ignoring("actorSrn"))],
    Difference.ACTOR_SRN_MISSING: [Alteration(("certificates",), answer=_of_rows(_without("actorSrn")))],
    Difference.PAGE_CAP_OF_100: [
        Alteration(_SEARCHES, query=_number("size", lambda size: min(size, 100))),
        Alteration(_SEARCHES, query=_number("pageSize", lambda size: min(size, 100))),
    ],
    Difference.PAGES_FROM_1: [Alteration(_SEARCHES, query=_number("page", lambda page: max(0, page - 1)))],
    Difference.TOTALS_AS_TEXT: [Alteration(_SEARCHES, answer=_of_json(_totals_as_text))],
    Difference.DETAIL_FIELD_RENAMED: [
        Alteration(("detail",), answer=_of_json(_renaming("cndNomenclatures", "emdnNomenclatures")))
    ],
    Difference.TIMESTAMPS_WITH_ZONE: [Alteration(("detail", "basic"), answer=_of_texts(_zoned))],
    Difference.NEW_DEVICE_STATUS: [Alteration(("search", "detail"), answer=_of_texts(_made_available))],
    Difference.BASIC_ULID_DIFFERS: [
        Alteration(("basic",), answer=_of_json(lambda record: {**record, "ulid": derived_ulid(str(record["ulid"]))}))
    ],
    Difference.MISSING_RECORD_404: [Alteration(_RECORDS, answer=_not_found)],
    Difference.NEW_BUILD: [Alteration(("build",), answer=_of_json(lambda info: {**info, "buildVersion": "2.28.0"}))],
    Difference.SAFETY_NOTICES_ON: [
        Alteration(
            ("flags",),
            answer=_of_json(
                lambda flags: [{**flag, "enable": flag["enable"] or flag["name"] == "ffVigFsn"} for flag in flags]
            ),
        )
    ],
    Difference.DATALAKE_COLUMN_RENAMED: [
        Alteration(("datalake",), "/udi", answer=_of_rows(_renaming("MF_SRN", "MANUFACTURER_SRN")))
    ],
    Difference.REFERENCE_ID_CHANGED: [
        Alteration(("datalake",), "/udi", answer=_of_rows(_other_id)),
        Alteration(("datalake",), "/reference", answer=_of_rows(_other_id)),
    ],
    Difference.NEXT_LINK_MISSING: [Alteration(("datalake",), answer=_of_json(_without("nextLink")))],
}
"""What each difference alters."""
