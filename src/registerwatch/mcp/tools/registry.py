"""Tools: a description for a model that does not know the register, arguments, and a function.

A tool returns the same object as the equivalent REST route, as JSON text. A payload with `error` is a failure; nothing
is raised to the client.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec
import structlog

from registerwatch.accounts.models import Caller, Scope
from registerwatch.accounts.sessions.credentials import Credential
from registerwatch.bootstrap import Service
from registerwatch.errors import DatabaseUnavailable, InvalidInput, RegisterwatchError, ScopeTooNarrow, Unauthenticated
from registerwatch.platform.structs import replace
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import INTERNAL, NO_DATABASE
from registerwatch.web.unknown_names import unknown_message, unknown_names

NEEDS_KEY = "API key required."

log = structlog.get_logger(__name__)


class ToolContext(msgspec.Struct, frozen=True):
    """The service, the HTTP request's credential, and functions about the request.

    `client` returns its network. `count` raises `RateLimited`. `denied` gets a caller who may not use a tool, the tool,
    and the error's code; `failed` an unexpected error and the tool. `scope` is the scope that the tool needs.
    """

    service: Service
    credential: Callable[[], Credential | None]
    client: Callable[[], str]
    count: Callable[[Limit], Awaitable[None]]
    denied: Callable[[Caller, str, str], None]
    failed: Callable[[Exception, str], None]
    tool: str = ""
    scope: Scope = Scope.MANAGE

    async def caller(self) -> Caller:
        """The caller. Raises `Unauthenticated`, or `ScopeTooNarrow`."""
        credential = self.credential()
        if credential is None:
            raise Unauthenticated(NEEDS_KEY)
        caller = await self.service.accounts.sessions.caller(credential)
        try:
            caller.require_scope(self.scope)
        except ScopeTooNarrow as error:
            self.denied(caller, self.tool, error.code)
            raise
        return caller

    async def active_caller(self) -> Caller:
        """The caller, if the account's period has not ended. Raises as `caller`, and `PeriodEnded`."""
        caller = await self.caller()
        caller.account.require_active(self.service.clock.now())
        return caller


class ToolResult(msgspec.Struct, frozen=True):
    """The answer of a tool, as JSON text."""

    text: bytes
    is_error: bool


class ToolAnnotations(msgspec.Struct, rename="camel", frozen=True):
    """What a client may show its user before a tool is used."""

    title: str
    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool


class ToolDescription(msgspec.Struct, rename="camel", frozen=True):
    """A tool in `tools/list`."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: ToolAnnotations


class NoArguments(msgspec.Struct):
    """The arguments of tools without any."""


Arguments = TypeVar("Arguments", bound=msgspec.Struct)
ToolFunction = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]

_encode = msgspec.json.Encoder().encode


class Tool(msgspec.Struct, frozen=True):
    """A tool. `empty_payload` is a failure's payload beside `error`; `scope` is None if no key is needed."""

    description: ToolDescription
    arguments: type[msgspec.Struct]
    function: ToolFunction[Any]
    empty_payload: Mapping[str, Any]
    scope: Scope | None

    async def call(self, arguments: object, context: ToolContext) -> ToolResult:
        """Use the tool. Every failure is reported in the payload."""
        try:
            needed = replace(context, tool=self.description.name, scope=self.scope or context.scope)
            sent = {} if arguments is None else arguments
            await self._refuse_unknown(sent, needed)
            converted = msgspec.convert(sent, self.arguments)
            return await self.function(converted, needed)
        except msgspec.ValidationError as error:
            return self._failure(f"The arguments do not fit the tool's schema: {error}.")
        except DatabaseUnavailable as error:
            log.error("the database is out of reach", tool=self.description.name, error=str(error))
            return self._failure(NO_DATABASE)
        except RegisterwatchError as error:
            return self._failure(str(error))
        except Exception as error:  # noqa: BLE001  # it is logged there
            context.failed(error, self.description.name)
            return self._failure(INTERNAL)

    async def _refuse_unknown(self, arguments: object, context: ToolContext) -> None:
        """Raise `InvalidInput` for arguments that the tool does not have, after the caller was checked."""
        known = [each.encode_name for each in msgspec.structs.fields(self.arguments)]
        unknown = unknown_names(arguments, known) if isinstance(arguments, dict) else ()
        if unknown:
            if self.scope is not None:
                await context.caller()  # without a credential, only that is reported
            raise InvalidInput(unknown_message("argument", unknown, known))

    def _failure(self, message: str) -> ToolResult:
        return payload({**self.empty_payload, "error": message}, message)


def tool(
    title: str,
    description: str,
    arguments: type[Arguments],
    *,
    asks_register: bool,
    scope: Scope | None = None,
    is_read_only: bool = True,
    empty_payload: Mapping[str, Any] | None = None,
) -> Callable[[ToolFunction[Arguments]], Tool]:
    """Make a tool of a function, with its name. If it uses the caller it has a scope; without one a key needs all."""

    def decorated(function: ToolFunction[Arguments]) -> Tool:
        annotations = ToolAnnotations(
            title,
            read_only_hint=is_read_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=asks_register,
        )
        name: str = function.__name__
        shown = ToolDescription(name, description, _input_schema(arguments), annotations)
        return Tool(shown, arguments, function, empty_payload or {}, scope)

    return decorated


def text_argument(description: str, max_length: int) -> msgspec.Meta:
    """The description of a text. The use case checks its length and raises the same error as in REST."""
    return msgspec.Meta(description=description, extra_json_schema={"minLength": 1, "maxLength": max_length})


def payload(content: object, error: str | None = None) -> ToolResult:
    """The result with this content, and the error if there is one."""
    return ToolResult(_encode(content), error is not None)


def _input_schema(arguments: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The schema of arguments in `tools/list`."""
    _, components = msgspec.json.schema_components([arguments])
    schema = components[arguments.__name__]
    return {name: schema[name] for name in ("type", "properties", "required")} | {"additionalProperties": False}
