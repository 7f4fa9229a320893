"""What a tool is: its description for a model that has never seen the register, its arguments, and its function.

A tool gives the same object as the REST route that it stands for, as JSON text. A payload whose `error` is set is a
failure; nothing is raised to the client.
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
    """The service, the credential that the HTTP request carried, and what counts the caller's requests.

    `client` tells the network that the request came from. `count` raises `RateLimited`. `denied` is told who may not
    use which tool, and why. `scope` is what it needs of a key.
    """

    service: Service
    credential: Callable[[], Credential | None]
    client: Callable[[], str]
    count: Callable[[Limit], Awaitable[None]]
    denied: Callable[[Caller, str, str], None]
    tool: str = ""
    scope: Scope = Scope.MANAGE

    async def caller(self) -> Caller:
        """Who calls. Raises `Unauthenticated`, or `ScopeTooNarrow`."""
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
        """Who calls, where the account's period has not ended. Raises what `caller` does, and `PeriodEnded`."""
        caller = await self.caller()
        caller.account.require_active(self.service.clock.now())
        return caller


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool answers, as JSON text."""

    text: bytes
    is_error: bool


class ToolAnnotations(msgspec.Struct, rename="camel", frozen=True):
    """What a client may tell its user before a tool is used."""

    title: str
    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool


class ToolDescription(msgspec.Struct, rename="camel", frozen=True):
    """One tool as `tools/list` shows it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: ToolAnnotations


class NoArguments(msgspec.Struct):
    """For tools that need none."""


Arguments = TypeVar("Arguments", bound=msgspec.Struct)
ToolFunction = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]

_encode = msgspec.json.Encoder().encode


class Tool(msgspec.Struct, frozen=True):
    """A tool. `empty_payload` is what a failure's payload has beside `error`; `scope` what it needs of a key, None
    where it needs none.
    """

    description: ToolDescription
    arguments: type[msgspec.Struct]
    function: ToolFunction[Any]
    empty_payload: Mapping[str, Any]
    scope: Scope | None

    async def call(self, arguments: object, context: ToolContext) -> ToolResult:
        """Use the tool. Every failure is told in the payload."""
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
        except Exception:
            log.exception("unexpected error", tool=self.description.name)
            return self._failure(INTERNAL)

    async def _refuse_unknown(self, arguments: object, context: ToolContext) -> None:
        """Raises `InvalidInput` for arguments that the tool does not have, after the caller was checked."""
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
    """Make a tool of a function, under the function's name. One that asks for a caller has a scope; without it a key
    needs all.
    """

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
    """The description of a text. Its length is checked by the use case, whose error REST gives, too."""
    return msgspec.Meta(description=description, extra_json_schema={"minLength": 1, "maxLength": max_length})


def payload(content: object, error: str | None = None) -> ToolResult:
    """The result with this content, which tells the error where there is one."""
    return ToolResult(_encode(content), error is not None)


def _input_schema(arguments: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The arguments as `tools/list` describes them."""
    _, components = msgspec.json.schema_components([arguments])
    schema = components[arguments.__name__]
    return {name: schema[name] for name in ("type", "properties", "required")} | {"additionalProperties": False}
