"""The table of HTTP answers to errors, for JSON and for pages."""

from collections.abc import Callable, Mapping, Sequence

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import DatabaseUnavailable, InvalidInput, RateLimited, RegisterwatchError, SecretUnreadable
from registerwatch.rest.openapi.description import UNKNOWN_FIELD
from registerwatch.rest.routing.auth import known_caller
from registerwatch.rest.routing.every_answer import NOTED_ERROR, OPEN_PATHS
from registerwatch.web.answers.answers import NOT_FOUND
from registerwatch.web.injection import address_of
from registerwatch.web.limits.refusal_log import DenialLog, ErrorLog
from registerwatch.web.request_ids import loggable_path
from registerwatch.web.responses import INTERNAL, NO_DATABASE, error_response

log = structlog.get_logger(__name__)

STATUS_BY_CODE = {
    "invalid-input": 400,
    "unauthenticated": 401,
    "wrong-password": 401,
    "second-factor-needed": 401,
    "wrong-code": 401,
    "period-ended": 402,
    "owner-only": 403,
    "scope-too-narrow": 403,
    "key-has-end": 403,
    "password-too-new": 403,
    "signup-closed": 403,
    "cross-site": 403,
    "cap-reached": 409,
    "idempotency-conflict": 409,
    "rate-limited": 429,
    "payment-refused": 400,
    "overloaded": 503,
    "payments-unavailable": 503,
    "database-unavailable": 503,
    "register-unavailable": 503,
    "index-unavailable": 503,
    "secret-unreadable": 503,
}
HEADERS_BY_STATUS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "10"}}
JSON_PATHS = ("/v1", "/mcp", "/health", "/live", "/ready", "/openapi.json", "/.well-known")
UNKNOWN_PATH = "There is nothing at this address. The interface is described at /openapi.json."
MAX_PROBLEMS = 5
"""Problems in one answer: a list can have thousands."""
UNREADABLE = "A secret of this account cannot be read now. Who runs this service finds the reason in the log."
NO_OBJECT = "The body is no JSON object. Send one, with `Content-Type: application/json`."


ErrorPage = Callable[[Request, str, int, Mapping[str, str]], Response]


def install(app: FastAPI, error_page: ErrorPage | None, methods_at: Callable[[str], Sequence[str]]) -> None:
    """Answer every error in one shape: as JSON for programs, and by `error_page`, if given, for people.

    `methods_at` gives the methods that the routes take at a path.
    """
    answers = _Answers(error_page, methods_at)
    app.add_exception_handler(RegisterwatchError, answers.refused)
    app.add_exception_handler(RequestValidationError, answers.invalid)
    app.add_exception_handler(HTTPException, answers.http)
    app.add_exception_handler(Exception, answers.unexpected)


class _Answers:
    """Handlers of exceptions."""

    def __init__(self, error_page: ErrorPage | None, methods_at: Callable[[str], Sequence[str]]) -> None:
        self._error_page = error_page
        self._methods_at = methods_at
        self._denials = DenialLog()
        self._errors = ErrorLog()

    async def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, RegisterwatchError)
        status = STATUS_BY_CODE.get(error.code, 500)
        headers = dict(HEADERS_BY_STATUS.get(status, {}))
        message = str(error)
        if status == 403:
            self._note_denial(request, error.code)
        if isinstance(error, DatabaseUnavailable):
            log.error("the database is out of reach", path=loggable_path(request.url.path), error=message)
            message = NO_DATABASE
        if isinstance(error, SecretUnreadable):
            log.error("a stored secret cannot be read", path=loggable_path(request.url.path), error=message)
            message = UNREADABLE
        if isinstance(error, RateLimited):
            headers["Retry-After"] = str(error.retry_after)
        return self._answer(request, message, status, error.code, headers)

    async def invalid(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = [_problem(problem) for problem in error.errors()[:MAX_PROBLEMS]]
        return self._answer(request, " ".join(problems) or "The request cannot be understood.", 400, InvalidInput.code)

    async def http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            message = f"This address does not take {request.method}."
            return self._answer(request, message, 405, "method-not-allowed", {"Allow": self._allowed(request)})
        if error.status_code == 404:
            return self._answer(request, UNKNOWN_PATH, 404, NOT_FOUND, error.headers)
        return self._answer(request, str(error.detail), error.status_code, InvalidInput.code, error.headers)

    async def unexpected(self, request: Request, error: Exception) -> Response:
        self._errors.note(error, path=loggable_path(request.url.path))
        request.scope.setdefault("state", {})[NOTED_ERROR] = True
        return self._answer(request, INTERNAL, 500, "internal")

    def _note_denial(self, request: Request, code: str) -> None:
        caller = known_caller(request)
        if caller is not None:  # else any client can cause it
            what = f"{request.method} {request.scope['route'].path}"
            self._denials.note(caller, address_of(request), what=what, code=code)

    def _allowed(self, request: Request) -> str:
        """The header `Allow`: a route that accepts GET accepts HEAD too, and JSON addresses answer OPTIONS."""
        path = request.url.path
        methods = set(self._methods_at(path))
        methods |= {"HEAD"} if "GET" in methods else set()
        methods |= {"OPTIONS"} if path.startswith(OPEN_PATHS) else set()
        return ", ".join(sorted(methods))

    def _answer(
        self, request: Request, message: str, status: int, code: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        if self._error_page is None or request.url.path.startswith(JSON_PATHS):
            return error_response(message, status, code, headers)
        return self._error_page(request, message, status, headers or {})


def _problem(problem: dict[str, object]) -> str:
    location, kind = problem.get("loc"), problem.get("type")
    name = ".".join(str(part) for part in location[1:])[:80] if isinstance(location, (list, tuple)) else ""
    message = str(problem.get("msg", "is not valid")).removeprefix("Value error, ")
    if kind == UNKNOWN_FIELD:
        return f"`{name}`: {message}" if name else message
    if location == ("body",) or kind == "json_invalid":
        return NO_OBJECT
    return f"`{name}`: {message}." if name else f"{message}."
