"""The contents of a code, without asking the register."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from registerwatch.register.identifiers import MAX_CODE_LENGTH, parse
from registerwatch.rest.openapi.description import BAD_REQUEST, OTHER_ERROR, RATE_LIMITED, answer, operation_id
from registerwatch.rest.routing.direct_route import DirectRoute
from registerwatch.rest.routing.parameters import only_known_parameters
from registerwatch.web.answers.code_answers import ParsedCodeAnswer
from registerwatch.web.injection import InjectedService, counted
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import private_response

router = APIRouter(
    tags=["register"], responses=OTHER_ERROR, generate_unique_id_function=operation_id, route_class=DirectRoute
)


@router.get(
    "/v1/parse",
    summary="Read a code",
    responses=answer(ParsedCodeAnswer) | BAD_REQUEST | RATE_LIMITED,
    dependencies=[Depends(counted(Limit.CODES)), Depends(only_known_parameters)],
)
async def parse_code(
    request: Request,
    code: Annotated[
        str,
        Query(
            description="What was typed or scanned, percent-encoded; the separator between fields (FNC1) as `%1D`,"
            " `<GS>` or `^`.",
            min_length=1,
            max_length=MAX_CODE_LENGTH,
            examples=["(01)04012345678901(17)280131(10)A1"],
        ),
    ],
    service: InjectedService,
) -> Response:
    """GS1 (GTIN, element strings, Digital Link), HIBC, ISBT 128, IFA, EUDAMED DI and ID, Basic UDI-DIs, SRNs, numbers
    of certificates. The copy is asked for nothing but packages and the like that have this code, the register not at
    all, and nothing is stored. What cannot be read is answered without candidates. Limit: 120 requests per address and
    minute.
    """
    this_year = datetime.fromtimestamp(service.clock.now(), UTC).year
    return private_response(ParsedCodeAnswer.of(parse(code, this_year), await service.codes.coded(code)))
