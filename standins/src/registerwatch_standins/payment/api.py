"""The HTTP interface under `/v1`: API keys, parameters, idempotency keys, answers in Stripe's form."""

import base64
import binascii
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.payment.endpoints import Endpoint, Endpoints
from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.parameters import form_tree, parse_parameters
from registerwatch_standins.payment.scheduler import Scheduler
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.stripe_objects import API_VERSION
from registerwatch_standins.payment.subscriptions import DAY

_MAX_KEY_LENGTH = 255


class Api:
    """The routes under `/v1`. Without an `api_key` of its own it accepts every test key."""

    def __init__(self, store: Store, endpoints: Endpoints, scheduler: Scheduler, api_key: str | None) -> None:
        self._endpoints = endpoints
        self._scheduler = scheduler
        self._api_key = api_key
        self._stored_answers = StoredAnswers(store.now)

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
        if key and (stored := self._stored_answers.find(key, question)) is not None:
            return _response(200, stored, {"Idempotency-Key": key, "Idempotent-Replayed": "true"})
        params = parse_parameters(form_tree(body if is_post else request.url.query.encode()), parameters)
        content = msgspec.json.encode(endpoint(params, request.path_params.get("id", "")))
        if key:
            self._stored_answers.add(key, question, content)
        return _response(200, content, {"Idempotency-Key": key} if key else {})

    def _check_key(self, request: Request) -> None:
        key = _key_of(request.headers.get("authorization", ""))
        if not key:
            raise ApiError(401, "You did not provide an API key.")
        if not (key == self._api_key if self._api_key else key.startswith("sk_test_")):
            raise ApiError(401, f"Invalid API Key provided: {key[:8]}****")


@dataclass(frozen=True, slots=True)
class _StoredAnswer:
    question: tuple[str, str, bytes]
    body: bytes
    at: int


class StoredAnswers:
    """The answers of the last day by idempotency key: a request that is repeated gets the first answer again."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._answers: dict[str, _StoredAnswer] = {}

    def find(self, key: str, question: tuple[str, str, bytes]) -> bytes | None:
        """The answer to the same question. Raises `ApiError` where the key belongs to another question."""
        if len(key) > _MAX_KEY_LENGTH:
            raise ApiError(400, f"The idempotency key must not be longer than {_MAX_KEY_LENGTH} characters.")
        stored = self._answers.get(key)
        if stored is None or stored.at + DAY <= self._now():
            return None
        if stored.question != question:
            message = "Keys for idempotent requests can only be used with the parameters they were first used with."
            raise ApiError(400, message, kind="idempotency_error")
        return stored.body

    def add(self, key: str, question: tuple[str, str, bytes], body: bytes) -> None:
        self._answers[key] = _StoredAnswer(question, body, self._now())


async def _unknown(request: Request) -> Response:
    error = ApiError(404, f"Unrecognized request URL ({request.method}: {request.url.path}).")
    return _response(404, msgspec.json.encode(error.body()))


def _key_of(authorization: str) -> str:
    """The key of a Bearer or Basic credential."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return value.strip() if scheme.lower() == "bearer" else ""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _response(status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    all_headers = {"Request-Id": f"req_{secrets.token_hex(7)}", "Stripe-Version": API_VERSION, **(headers or {})}
    return Response(body, status, all_headers, media_type="application/json")
