"""Importing a list of watches over REST."""

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from registerwatch.rest.openapi.description import BAD_REQUEST, EXPIRED, RequestBody, answer
from registerwatch.rest.routing.auth import ActiveAccount
from registerwatch.rest.routing.csv_body import CSV_BODY, CsvBodyRoute
from registerwatch.rest.routing.routers import account_router
from registerwatch.watches.imports.import_list import ImportResult
from registerwatch.web.answers.watch_answers import UDI
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import private_response

router = account_router("watches", route_class=CsvBodyRoute)


class ImportRequest(RequestBody):
    """Many subjects to watch."""

    csv: str = Field(
        description="One identifier a line, in the first cell; commas, tabs or semicolons separate. At most 500 lines.",
        examples=[f"udi\n{UDI}\n"],
    )
    dry_run: bool = Field(
        False, description="Add nothing; the answer tells what would become of each line.", examples=[True]
    )


@router.post(
    "/v1/import",
    summary="Watch a list",
    responses=answer(ImportResult) | BAD_REQUEST | EXPIRED,
    openapi_extra=CSV_BODY,
)
async def import_list(
    body: ImportRequest,
    service: InjectedService,
    caller: ActiveAccount,
    dry_run: Annotated[bool, Query(description="The same as in the body; a list in `text/csv` has it here.")] = False,
) -> Response:
    """The body can be the list itself, in `text/csv`. Lines that can be no UDI-DI and no SRN are errors. The register
    is not read within the request: each baseline is what the copy has, where that is fresh, else the first successful
    read. Reaching the cap stops the import; what was added stays.
    """
    only_tell = dry_run or body.dry_run
    return private_response(await service.watches.imports.add_all(caller, body.csv, dry_run=only_tell))
