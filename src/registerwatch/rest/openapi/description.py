"""The description of routes in `/openapi.json`: answers from their structs, errors, parameters.

FastAPI describes requests from their pydantic models; answers are msgspec structs, whose schemas are added here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError
from starlette.routing import BaseRoute, Route

from registerwatch.rest.routing.auth import KeyOrSession, require_owner_or_key
from registerwatch.web.answers.answers import ErrorBody
from registerwatch.web.prepared import PreparedAnswer
from registerwatch.web.responses import JSON
from registerwatch.web.unknown_names import unknown_message, unknown_names

Responses = dict[int | str, dict[str, Any]]

UNKNOWN_FIELD = "unknown_field"
"""Type of a validation error: its message is a whole sentence."""

EXTENSION = "x-access"
"""Who may call an operation, beside the standard's `security`: `scope` is the least sufficient scope of a key,
`owners_only` says whether a member's session is refused.
"""

_REF = "#/components/schemas/{name}"

_described: dict[str, type] = {}
"""Every type of an answer, by name; filled while the modules of routes are imported."""


def operation_id(route: APIRoute) -> str:
    """The name of an operation, which is its function's; client generators name methods after it."""
    return route.name


class RequestBody(BaseModel):
    """Base of request bodies. Unknown fields are refused."""

    model_config = ConfigDict(hide_input_in_errors=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, sent: Any) -> Any:
        """Refuse an unknown field and name the nearest known one, which pydantic's error does not."""
        unknown = unknown_names(sent, cls.model_fields) if isinstance(sent, dict) else ()
        if unknown:
            message = unknown_message("field", unknown, cls.model_fields)
            raise PydanticCustomError(UNKNOWN_FIELD, "{message}", {"message": message})
        return sent


def schema_of(model: type) -> dict[str, Any]:
    """A reference to the schema of an answer, a struct or dataclass."""
    _described[model.__name__] = model
    return {"$ref": _REF.format(name=model.__name__)}


def answer(model: type, *, status: int = 200, description: str = "The answer.") -> Responses:
    """The description of an answer of one status."""
    return {status: {"description": description, "content": {"application/json": {"schema": schema_of(model)}}}}


def error(status: int | str, description: str) -> Responses:
    """The description of an error."""
    return {status: {"description": description, "content": {"application/json": {"schema": schema_of(ErrorBody)}}}}


BAD_REQUEST = error(400, "The request cannot be understood; the message says what would be.")
UNAUTHENTICATED = error(401, "Missing or unknown key or session.")
EXPIRED = error(402, "The account's period has ended.")
FORBIDDEN = error(403, "A member may not do this; or the POST had no body.")
SIGNUP_CLOSED = error(
    403,
    "`signup-closed`: the operator lets nobody do this by themselves (setting REGISTERWATCH_SIGNUP);"
    " or what any 403 says: a member may not do this, or the POST had no body.",
)
CAP_REACHED = error(409, "The account has as many as its plan allows.")
RATE_LIMITED = error(429, "Too many requests of this address; `Retry-After` says when to try again.")
UNAVAILABLE = error(503, "The database or the index is out of reach; try again shortly.")
PAYMENTS_UNAVAILABLE = error(
    503,
    "The payment provider does not answer, or the service takes no payments: that needs the settings"
    " REGISTERWATCH_PAYMENT_API_KEY and REGISTERWATCH_PAYMENT_PRICES, and for the provider's events"
    " REGISTERWATCH_PAYMENT_WEBHOOK_SECRET.",
)
OTHER_ERROR = error("default", "Any other error.")


def _object_body(schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", **schema}}}
    return {"requestBody": {"required": True, "content": content}}


NO_FIELDS = _object_body({"additionalProperties": False})
"""`openapi_extra` of a POST that needs a body, `{}`. `CheckedRoute` refuses an object with fields there."""
ANY_FIELDS = _object_body({})
"""`openapi_extra` of a POST that accepts any fields and ignores them."""


class DescribedApi(FastAPI):
    """FastAPI whose description also holds the schemas of all answers and `additions`."""

    def __init__(self, *, additions: Sequence[Callable[[dict[str, Any]], None]], **options: Any) -> None:
        """Apply `additions` to the description, one after the other, when all routes are in it."""
        super().__init__(**options)
        self._additions = additions

    def setup(self) -> None:
        """Add the route of the description. FastAPI's own renders it for each request, which takes 3 ms."""
        assert self.openapi_url is not None, "this application is described"
        prepared = PreparedAnswer(lambda: msgspec.json.encode(self.openapi()), JSON)
        route = Route(self.openapi_url, prepared, methods=["GET"], include_in_schema=False)
        self.router.routes.append(route)

    def openapi(self) -> dict[str, Any]:
        """The description, built once."""
        if not self.openapi_schema:
            description = super().openapi()
            _describe_idempotency(description)
            describe_access(description, self.routes)
            description["components"]["schemas"].update(answer_schemas())
            for add in self._additions:
                add(description)
        assert self.openapi_schema is not None, "FastAPI keeps what it built"
        return self.openapi_schema


IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A key of one's own for this request, such as a UUID. Sent again with it within a day, the request"
    " is not carried out again: the answer is the first one, with `Idempotent-Replayed: true`. Errors are not kept.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "example": "0b9f1f0e-5c5f-4d7e-9a39-2f6a5f1f7c11",
}


def _describe_idempotency(description: dict[str, Any]) -> None:
    """Give every POST with a credential its optional header."""
    description["components"].setdefault("parameters", {})["IdempotencyKey"] = IDEMPOTENCY_KEY
    for methods in description["paths"].values():
        operation = methods.get("post", {})
        if operation.get("security") and {} not in operation["security"]:
            operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/IdempotencyKey"})


def answer_schemas() -> dict[str, dict[str, Any]]:
    """JSON schemas of every type of an answer, by name: other fields are excluded, and all fields required but those
    that can be left out.
    """
    types = list(_described.values())
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    reached = {each.cls.__name__: each.cls for each in _objects(msgspec.inspect.multi_type_info(types))}
    for name, schema in schemas.items():
        schema.pop("title", None)
        if name not in reached:  # a list of values
            continue
        for about in schema["properties"].values():
            about.pop("default", None)
            _name_constant(about)
            _put_format_on_strings(about)
            _add_example(about)
        schema["required"] = [field for field in schema["properties"] if not _may_be_missing(reached[name], field)]
        schema["additionalProperties"] = False
    return schemas


def _name_constant(about: dict[str, Any]) -> None:
    """Describe a boolean that is always the same as a constant: client generators do not support boolean enums."""
    if about.get("enum") in ([True], [False]):
        about["type"], about["const"] = "boolean", about.pop("enum")[0]


def _put_format_on_strings(about: dict[str, Any]) -> None:
    """Move the format of a field that may be null to its string, where client generators look for it."""
    for alternative in about.get("anyOf", ()):
        if alternative.get("type") == "string" and "format" in about:
            alternative["format"] = about.pop("format")


def _add_example(about: dict[str, Any]) -> None:
    """Give a field with few possible values an example, if it has none."""
    choices = [about, *about.get("anyOf", ())]
    values = [value for each in choices for value in _values(each)]
    if values:
        about.setdefault("examples", values[:1])


def _values(schema: dict[str, Any]) -> list[Any]:
    """The possible values of a schema, if there are few."""
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum") or [True] * (schema.get("type") == "boolean")


def _objects(types: Any) -> list[Any]:
    """The structs and dataclasses among types and in their fields, however deep."""
    found: dict[type, Any] = {}
    pending = list(types)
    while pending:
        each = pending.pop()
        if isinstance(each, (msgspec.inspect.StructType, msgspec.inspect.DataclassType)):
            if each.cls not in found:
                found[each.cls] = each
                pending.extend(field.type for field in each.fields)
        else:
            inner = (getattr(each, name, None) for name in ("type", "types", "item_type", "item_types", "value_type"))
            for part in inner:
                pending.extend(part if isinstance(part, tuple) else [part] if part is not None else [])
    return list(found.values())


def _may_be_missing(model: type, name: str) -> bool:
    """Whether an answer can lack the field: it can be unset, or is left out if it has its default."""
    if not issubclass(model, msgspec.Struct):
        return False
    field = next(each for each in msgspec.structs.fields(model) if each.encode_name == name)
    is_left_out = model.__struct_config__.omit_defaults and not field.required and field.default_factory is not str
    return field.default is msgspec.UNSET or is_left_out


def describe_access(description: dict[str, Any], routes: Iterable[BaseRoute]) -> None:
    """Add to every operation the credential, scope and role that it needs."""
    for route in routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        calls = list(_calls_of(route.dependant))
        scopes = [call.scope for call in calls if isinstance(call, KeyOrSession)]
        for method in (route.methods or ()) if scopes else ():
            operation = description["paths"][route.path_format][method.lower()]
            operation[EXTENSION] = {"scope": scopes[0].value, "owners_only": require_owner_or_key in calls}


def _calls_of(dependant: Dependant) -> Iterator[Callable[..., object] | None]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls_of(each)
