"""The HTTP interface under `/v1`: API keys, parameters, idempotency keys, answers in Stripe's form."""

import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.payment.endpoints import Endpoint, Endpoints
from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.parameters import parse_parameters
from registerwatch_standins.payment.scheduler import Scheduler
from registerwatch_standins.payment.stripe_objects import API_VERSION

Question = tuple[str, str, bytes]
"""Method, path and body of a request."""


class Api:
    """The routes under `/v1`. Without an `api_key` of its own it accepts every test key."""

    def __init__(self, endpoints: Endpoints, scheduler: Scheduler, api_key: str | None) -> None:
        self._endpoints = endpoints
        self._scheduler = scheduler
        self._api_key = api_key
        self._first_answers: dict[str, tuple[Question, bytes]] = {}
        """By idempotency key: the request and its answer."""

    def routes(self) -> list[Route]:
        routes = [
            Route(path, self._respond(endpoint, parameters), methods=[method])
            for method, path, parameters, endpoint in self._endpoints.table()
        ]
        return [*routes, Route("/v1/{rest:path}", _unknown, methods=["GET", "POST", "DELETE", "PUT", "PATCH"])]

    def _respond(self, endpoint: Endpoint, parameters: type[Struct]) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                self._check_key(request)
                body = await request.body()
                self._scheduler.catch_up()
                return self._answer(request, body, endpoint, parameters)
            except ApiError as error:
                return _response(error.status, msgspec.json.encode(error.body()))

        return respond

    def _answer(self, request: Request, body: bytes, endpoint: Endpoint, parameters: type[Struct]) -> Response:
        is_post = request.method == "POST"
        key = request.headers.get("idempotency-key", "") if is_post else ""
        question = (request.method, request.url.path, body)
        first, content = self._first_answers.get(key, (question, b""))
        if first != question:
            message = "Keys for idempotent requests can only be used with the parameters they were first used with."
            raise ApiError(400, message, kind="idempotency_error")
        if not content:
            params = parse_parameters(body if is_post else request.url.query.encode(), parameters)
            content = msgspec.json.encode(endpoint(params, request.path_params.get("id", "")))
        if key:
            self._first_answers[key] = question, content
        return _response(200, content)

    def _check_key(self, request: Request) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise ApiError(401, "You did not provide an API key.")
        if not (key == self._api_key if self._api_key else key.startswith("sk_test_")):
            raise ApiError(401, f"Invalid API Key provided: {key[:8]}****")


async def _unknown(request: Request) -> Response:
    error = ApiError(404, f"Unrecognized request URL ({request.method}: {request.url.path}).")
    return _response(404, msgspec.json.encode(error.body()))


def _response(status: int, body: bytes) -> Response:
    headers = {"Request-Id": f"req_{secrets.token_hex(7)}", "Stripe-Version": API_VERSION}
    return Response(body, status, headers, media_type="application/json")
