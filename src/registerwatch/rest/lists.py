"""Saved lists over REST: sending files, reading, watching and exporting their lines."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.files.lists.models import MAX_NAME_LENGTH, Coverage, LineChange, LineFilter
from registerwatch.files.tables.table import ReadChoices
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.rest.openapi.description import (
    BAD_REQUEST,
    CAP_REACHED,
    EXPIRED,
    NO_FIELDS,
    RequestBody,
    Responses,
    answer,
)
from registerwatch.rest.routing.auth import ActiveAccount, Reader, WatchEditor
from registerwatch.rest.routing.large_body import LargeBodyRoute
from registerwatch.rest.routing.parameters import DEFAULT_PAGE, MAX_PAGE, RowId, row_id
from registerwatch.rest.routing.routers import account_router
from registerwatch.watches.tags import tags_of_text
from registerwatch.web.answers.answers import Done
from registerwatch.web.answers.list_answers import (
    COVERAGE,
    AllLists,
    LineObject,
    LinesAnswer,
    ListObject,
    OneList,
    OneUpload,
    SentList,
    WatchedAnswer,
)
from registerwatch.web.files.list_files import list_rows
from registerwatch.web.files.spreadsheet import XLSX, csv_response, workbooks_of
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.body_limits import received_body
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import NOT_CACHED, json_response, private_response

router = account_router("lists")
files = account_router("lists", route_class=LargeBodyRoute)

FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "Article;GTIN\n4711;04012345678901\n"},
            XLSX: {"schema": {"type": "string", "format": "binary"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
"""The file of a list, whatever its content type says."""
EMPTY_FILE = "The body is empty. Send the file itself, such as with `curl --data-binary @stock.xlsx`."
MAX_TEXT = 200
MAX_LINE = 2**31 - 1
"""The largest number of a line that every database takes."""


class ReadParameters(BaseModel):
    """How a file is to be read; what is left out is recognised."""

    encoding: str = Field(
        "", max_length=20, description="Of a text, such as `utf-8` or `windows-1252`.", examples=["windows-1252"]
    )
    delimiter: str = Field("", max_length=3, description="Of a text: `;`, `,`, `|` or `tab`.", examples=[";"])
    sheet: str = Field("", max_length=MAX_TEXT, description="The name of a sheet of a workbook.", examples=["Stock"])
    heading_row: int | None = Field(
        None, ge=0, le=1_000_000, description="The row with the headings, from 1; 0 for none.", examples=[1]
    )
    code_column: int | None = Field(None, ge=0, le=49, description="The column with the codes, from 0.", examples=[1])

    @property
    def choices(self) -> ReadChoices:
        """The choices for the reader of tables."""
        delimiter = "\t" if self.delimiter == "tab" else self.delimiter
        return ReadChoices(self.encoding, delimiter, self.sheet, self.heading_row, self.code_column)


class FileParameters(ReadParameters):
    """What a file is for, and how it is to be read."""

    name: str = Field(
        description=f"Name of the list, at most {MAX_NAME_LENGTH} characters.", examples=["Stock"], max_length=MAX_TEXT
    )
    filename: str = Field("", max_length=MAX_TEXT, description="What the file is called, to be shown.")
    keep: bool = Field(
        False, description="Keep it as soon as it is matched; else it waits until somebody has looked at it."
    )


class ChosenLines(BaseModel):
    """Which lines of a list."""

    coverage: Coverage | None = Field(None, description=COVERAGE)
    text: str = Field("", max_length=MAX_TEXT, description="Words that the code or another cell has.")
    watched: bool | None = Field(None, description="Only lines whose subject is watched, or only others.")

    @property
    def chosen(self) -> LineFilter:
        """The filter for the service."""
        return LineFilter(self.coverage, self.text, self.watched)


class LineParameters(ChosenLines):
    """Which lines of a list or of an upload, and which page of them."""

    upload: int | None = Field(None, ge=1, le=MAX_ROW_ID, description="Of this upload instead of those of the list.")
    change: LineChange | None = Field(None, description="With `upload`: beside the list as it is.")
    after: int = Field(0, ge=0, le=MAX_LINE, description="Only lines after this number.")
    limit: int = Field(DEFAULT_PAGE, ge=1, le=MAX_PAGE, description="Most lines in the answer.")

    @property
    def chosen(self) -> LineFilter:
        """The filter for the service. Raises `InvalidInput` for a change without an upload."""
        if self.change is not None and self.upload is None:
            raise InvalidInput("`change` needs `upload`: a change is one of an upload beside the list.")
        return LineFilter(self.coverage, self.text, self.watched, self.change)


class ReadRequest(RequestBody, ReadParameters):
    """How a file is to be read; what is left out is recognised."""


class ListChange(RequestBody):
    """What is changed of a list."""

    name: str = Field(description="Its new name.", examples=["Stock, ward 3"])


class WatchLines(RequestBody):
    """Which lines of a list to watch."""

    coverage: Coverage | None = Field(None, description=COVERAGE, examples=["found"])
    text: str = Field("", max_length=MAX_TEXT, description="Words that the code or another cell has.", examples=["W 3"])
    tags: list[str] = Field(
        [], max_length=20, description="Given to all of them, also to those that are watched.", examples=[["ward 3"]]
    )


def _download(media_type: str) -> Responses:
    file = {"description": "The file.", "content": {media_type: {"schema": {"type": "string"}}}}
    return {200: file} | BAD_REQUEST


async def _count_download(request: Request, caller: Reader) -> None:
    await limits_of(request).check_party(request, Limit.DOWNLOAD, f"account {caller.account.id}")


@files.post(
    "/v1/lists",
    summary="Send a list",
    status_code=202,
    responses=answer(SentList, status=202) | BAD_REQUEST | EXPIRED | CAP_REACHED,
    openapi_extra=FILE_BODY,
)
async def send_list(
    request: Request,
    parameters: Annotated[FileParameters, Query()],
    service: InjectedService,
    caller: ActiveAccount,
) -> Response:
    """The body is the file: CSV in any encoding and with any separator, or a workbook (.xlsx, .xlsb or .ods), of at
    most 10 MiB and 50,000 rows. The column with the codes is recognised. A list with this name gets it as its next
    upload; else one is made. The file is read and matched in the background: ask for the upload until its `state` is
    `ready`, then keep it. A file that begins neither as a text nor as a workbook is refused at once.
    """
    content = await received_body(request)
    if not content:
        raise InvalidInput(EMPTY_FILE)
    list_id, upload_id = await service.lists.service.send_named(
        caller, parameters.name, parameters.filename, content, parameters.choices, keeps_itself=parameters.keep
    )
    return json_response(SentList(list_id, upload_id), 202, {"Cache-Control": NOT_CACHED})


@files.get("/v1/lists", summary="The account's lists", responses=answer(AllLists))
async def all_lists(service: InjectedService, caller: Reader) -> Response:
    """By name, each with how its lines stand."""
    states = await service.lists.service.all(caller)
    return private_response(AllLists([ListObject.of(each) for each in states]))


@router.get("/v1/lists/{id}", summary="One list", responses=answer(OneList) | BAD_REQUEST)
async def one_list(id: RowId, service: InjectedService, caller: Reader) -> Response:  # noqa: A002
    """How its lines stand, and which uploads it has."""
    return private_response(OneList(ListObject.of(await service.lists.service.one(caller, row_id(id)))))


@router.patch("/v1/lists/{id}", summary="Name a list", responses=answer(OneList) | BAD_REQUEST | EXPIRED)
async def change_list(id: RowId, body: ListChange, service: InjectedService, caller: ActiveAccount) -> Response:  # noqa: A002
    """Give it another name; no two lists have the same."""
    await service.lists.service.rename(caller, row_id(id), body.name)
    return private_response(OneList(ListObject.of(await service.lists.service.one(caller, row_id(id)))))


@router.delete("/v1/lists/{id}", summary="Delete a list", responses=answer(Done) | BAD_REQUEST)
async def remove_list(id: RowId, service: InjectedService, caller: WatchEditor) -> Response:  # noqa: A002
    """Always `{"ok": true}` for a number; only a list of the account is deleted, with its lines. Watches stay."""
    await service.lists.service.remove(caller, row_id(id))
    return private_response(Done())


@router.get(
    "/v1/lists/{id}/uploads/{upload_id}", summary="How far an upload is", responses=answer(OneUpload) | BAD_REQUEST
)
async def one_upload(id: RowId, upload_id: RowId, service: InjectedService, caller: Reader) -> Response:  # noqa: A002
    """What was read, how its lines stand, and how it differs from the list as it is."""
    return private_response(OneUpload.of(await service.lists.service.upload(caller, row_id(id), row_id(upload_id))))


@router.post(
    "/v1/lists/{id}/uploads/{upload_id}/keep",
    summary="Keep an upload",
    responses=answer(OneList) | BAD_REQUEST | EXPIRED | CAP_REACHED,
    openapi_extra=NO_FIELDS,
)
async def keep_upload(id: RowId, upload_id: RowId, service: InjectedService, caller: ActiveAccount) -> Response:  # noqa: A002
    """Its lines become those of the list; what the list had before is deleted. Needs the state `ready`."""
    await service.lists.service.keep(caller, row_id(id), row_id(upload_id))
    return private_response(OneList(ListObject.of(await service.lists.service.one(caller, row_id(id)))))


@router.patch(
    "/v1/lists/{id}/uploads/{upload_id}",
    summary="Read an upload in another way",
    responses=answer(OneUpload) | BAD_REQUEST | EXPIRED,
)
async def read_upload_anew(
    id: RowId,  # noqa: A002
    upload_id: RowId,
    body: ReadRequest,
    service: InjectedService,
    caller: ActiveAccount,
) -> Response:
    """Reads the same file again, with what was recognised wrongly corrected. Not after it was kept."""
    await service.lists.service.read_anew(caller, row_id(id), row_id(upload_id), body.choices)
    return private_response(OneUpload.of(await service.lists.service.upload(caller, row_id(id), row_id(upload_id))))


@router.delete("/v1/lists/{id}/uploads/{upload_id}", summary="Discard an upload", responses=answer(Done) | BAD_REQUEST)
async def discard_upload(id: RowId, upload_id: RowId, service: InjectedService, caller: WatchEditor) -> Response:  # noqa: A002
    """Always `{"ok": true}` for numbers; only an upload of the account that is not kept is deleted. A list of which
    none was kept goes with it, any other stays as it is.
    """
    await service.lists.service.discard(caller, row_id(id), row_id(upload_id))
    return private_response(Done())


@router.get("/v1/lists/{id}/lines", summary="Lines of a list", responses=answer(LinesAnswer) | BAD_REQUEST)
async def list_lines(
    id: RowId,  # noqa: A002
    parameters: Annotated[LineParameters, Query()],
    service: InjectedService,
    caller: Reader,
) -> Response:
    """In the order of the file, page by page, each with what the copy has of it now."""
    page = await service.lists.service.lines(
        caller,
        row_id(id),
        parameters.chosen,
        upload_id=parameters.upload,
        after=parameters.after,
        limit=parameters.limit,
    )
    lines = [LineObject.of(each, page.headings) for each in page.lines]
    following = lines[-1].line if len(lines) == parameters.limit else None
    return private_response(LinesAnswer(lines, page.total, following))


@router.post(
    "/v1/lists/{id}/watch",
    summary="Watch lines of a list",
    responses=answer(WatchedAnswer) | BAD_REQUEST | EXPIRED | CAP_REACHED,
)
async def watch_lines(id: RowId, body: WatchLines, service: InjectedService, caller: ActiveAccount) -> Response:  # noqa: A002
    """Watches what the lines mean, in the order of the file, until the plan is full. The register is not read within
    the request, as with `/v1/import`.
    """
    tags = tags_of_text(",".join(body.tags))
    chosen = LineFilter(body.coverage, body.text)
    return private_response(WatchedAnswer.of(await service.lists.service.watch(caller, row_id(id), chosen, tags)))


@router.get(
    "/v1/lists/{id}/lines.csv",
    summary="A list as CSV",
    response_class=Response,
    responses=_download("text/csv"),
    dependencies=[Depends(_count_download)],
)
async def list_csv(
    id: RowId,  # noqa: A002
    parameters: Annotated[ChosenLines, Query()],
    service: InjectedService,
    caller: Reader,
) -> Response:
    """Its own columns, then ours."""
    lists, now = service.lists.service, service.clock.now()
    header, rows = await list_rows(lists, caller, row_id(id), parameters.chosen, has_types=False, now=now)
    return await csv_response("list.csv", header, rows)


@router.get(
    "/v1/lists/{id}/lines.xlsx",
    summary="A list as a workbook",
    response_class=Response,
    responses=_download(XLSX),
    dependencies=[Depends(_count_download)],
)
async def list_xlsx(
    request: Request,
    id: RowId,  # noqa: A002
    parameters: Annotated[ChosenLines, Query()],
    service: InjectedService,
    caller: Reader,
) -> Response:
    """The same as an Excel workbook."""
    lists, now = service.lists.service, service.clock.now()
    header, rows = await list_rows(lists, caller, row_id(id), parameters.chosen, has_types=True, now=now)
    return await workbooks_of(request).response(caller, "list.xlsx", header, rows)
