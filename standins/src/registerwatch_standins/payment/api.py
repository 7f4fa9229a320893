"""The HTTP interface under `/v1`: keys, parameters, idempotency, answers in Stripe's form."""

import base64
import binascii
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.payment.endpoints import Endpoints
from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.expand import expand
from registerwatch_standins.payment.forms import tree_of
from registerwatch_standins.payment.idempotency import IdempotencyKeys, KeptAnswer
from registerwatch_standins.payment.scheduler import Scheduler
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.stripe_objects import API_VERSION

Endpoint = Callable[[dict[str, Any], str], dict[str, Any]]
"""From the parameters and the id in the path, if there is one, to the answer."""


class Api:
    """Answers the real SDK."""

    def __init__(self, store: Store, endpoints: Endpoints, scheduler: Scheduler, api_key: str | None) -> None:
        self._store = store
        self._endpoints = endpoints
        self._scheduler = scheduler
        self._api_key = api_key
        self._idempotency_keys = IdempotencyKeys()

    def routes(self) -> list[Route]:
        """The routes, each with its whole path."""
        ends = self._endpoints
        table: list[tuple[str, str, Endpoint]] = [
            ("POST", "/v1/checkout/sessions", ends.create_checkout),
            ("GET", "/v1/checkout/sessions/{id}", ends.checkout),
            ("POST", "/v1/checkout/sessions/{id}/expire", ends.expire_checkout),
            ("POST", "/v1/customers", ends.create_customer),
            ("GET", "/v1/customers", ends.customers),
            ("GET", "/v1/customers/{id}", ends.customer),
            ("POST", "/v1/customers/{id}", ends.update_customer),
            ("DELETE", "/v1/customers/{id}", ends.delete_customer),
            ("GET", "/v1/subscriptions", ends.subscriptions),
            ("GET", "/v1/subscriptions/{id}", ends.subscription),
            ("POST", "/v1/subscriptions/{id}", ends.update_subscription),
            ("DELETE", "/v1/subscriptions/{id}", ends.cancel_subscription),
            ("POST", "/v1/billing_portal/sessions", ends.create_portal),
            ("GET", "/v1/prices", ends.prices),
            ("GET", "/v1/prices/{id}", ends.price),
            ("GET", "/v1/invoices/{id}", ends.invoice),
            ("GET", "/v1/events", ends.events),
            ("GET", "/v1/events/{id}", ends.event),
        ]
        return [
            *(Route(path, self._answering(endpoint), methods=[method]) for method, path, endpoint in table),
            Route("/v1/{rest:path}", self._unknown, methods=["GET", "POST", "DELETE", "PUT", "PATCH"]),
        ]

    def _answering(self, endpoint: Endpoint) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                self._check_key(request)
                body = await request.body()
                self._scheduler.catch_up()
                return self._answer(request, endpoint, body)
            except ApiError as error:
                return _response(error.status, msgspec.json.encode(error.body()))

        return answer

    def _answer(self, request: Request, endpoint: Endpoint, body: bytes) -> Response:
        key = request.headers.get("idempotency-key", "") if request.method == "POST" else ""
        question, now = (request.method, request.url.path, body), self._store.now()
        kept = self._idempotency_keys.recall(key, question, now) if key else None
        if kept is not None:
            return _response(kept.status, kept.body, {"Idempotency-Key": key, "Idempotent-Replayed": "true"})
        tree = tree_of(_pairs(body if request.method == "POST" else request.url.query.encode()))
        answer = endpoint(tree, request.path_params.get("id", ""))
        content = msgspec.json.encode(expand(answer, _wanted(tree), self._endpoints.by_id))
        if key:
            self._idempotency_keys.keep(key, KeptAnswer(question, 200, content, now))
        return _response(200, content, {"Idempotency-Key": key} if key else {})

    async def _unknown(self, request: Request) -> Response:
        message = f"Unrecognized request URL ({request.method}: {request.url.path})."
        return _response(404, msgspec.json.encode(ApiError(404, message).body()))

    def _check_key(self, request: Request) -> None:
        key = _key_of(request.headers.get("authorization", ""))
        if not key:
            raise ApiError(401, "You did not provide an API key.")
        if not (key == self._api_key if self._api_key else key.startswith("sk_test_")):
            raise ApiError(401, f"Invalid API Key provided: {key[:8]}****")


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise ApiError(400, "Invalid UTF-8 in the parameters.") from None


def _wanted(tree: dict[str, Any]) -> list[str]:
    expand = tree.get("expand", [])
    return [str(path) for path in expand] if isinstance(expand, list) else []


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
    told = {"Request-Id": f"req_{secrets.token_hex(7)}", "Stripe-Version": API_VERSION, **(headers or {})}
    return Response(body, status, told, media_type="application/json")
