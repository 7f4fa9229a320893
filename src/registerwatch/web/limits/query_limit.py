"""Limits the parameters of a query: each costs more to look at than to send."""

from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch.errors import InvalidInput
from registerwatch.web.responses import error_response

MAX_PARAMETERS = 100
TOO_MANY = f"The query has more than {MAX_PARAMETERS} parameters."


class QueryLimit:
    """Refuses a query with more parameters than our pages or programs send."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["query_string"].count(b"&") >= MAX_PARAMETERS:
            await error_response(TOO_MANY, 400, InvalidInput.code)(scope, receive, send)
            return
        await self._app(scope, receive, send)
