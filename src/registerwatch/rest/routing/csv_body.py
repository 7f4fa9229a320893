"""Lists in `text/csv` as bodies of routes that take a JSON object with the field `csv`.

These bodies are large. So only few charsets are decoded, and only the route's fields of a large JSON object: a body of
2 MiB can hold a million other objects.
"""

import json
import re
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.rest.routing.direct_route import Handler
from registerwatch.rest.routing.large_body import LargeBodyRoute
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES

CSV = "text/csv"
CSV_BODY = {
    "requestBody": {
        "content": {
            CSV: {
                "schema": {"description": "The list itself, in UTF-8 unless it says so. Any text is one."},
                "example": "udi\n04012345678901\n",
            }
        }
    }
}
"""The `openapi_extra` of a route that accepts `text/csv`."""
MAX_CONTENT_TYPE_LENGTH = 200
UTF_8 = "utf-8"
CHARSETS = frozenset(
    {
        *(UTF_8, "utf8", "utf-16", "utf-16le", "utf-16be", "us-ascii", "ascii", "latin1"),
        *(f"iso-8859-{part}" for part in range(1, 17) if part != 12),
        *(f"{prefix}125{page}" for prefix in ("windows-", "cp") for page in range(9)),
        *("gb2312", "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"),
    }
)
"""The charsets that spreadsheets write. Python has others that take minutes: `punycode` is quadratic."""

_CHARSET = re.compile(r";[ \t]*charset=\"?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)


class CsvBodyRoute(LargeBodyRoute):
    """Accepts `text/csv` as well: the endpoint gets it as the equivalent JSON object.

    The application's `state.large_bodies` has the slots of accounts that send one.
    """

    def get_body_handler(self) -> Handler:
        """The handler of the route, after one that reads either kind of body."""
        handle = super().get_body_handler()

        async def handle_either(request: Request) -> Response:
            content_type = request.headers.get("content-type", "")[:MAX_CONTENT_TYPE_LENGTH]
            if content_type.partition(";")[0].strip().lower() == CSV:
                return await handle(_CsvRequest(request, _charset_of(content_type)))
            return await handle(_LargeJsonRequest(request.scope, request.receive))

        return handle_either


class _CsvRequest(Request):
    """A list in `text/csv`, which FastAPI reads as a JSON object."""

    def __init__(self, request: Request, charset: str) -> None:
        others = [each for each in request.scope["headers"] if each[0] != b"content-type"]
        headers = [*others, (b"content-type", b"application/json")]
        super().__init__({**request.scope, "headers": headers}, request.receive)
        self._charset = charset
        self._text: str | None = None

    async def body(self) -> bytes:
        """The body as it was sent. Raises `InvalidInput` if it is not a text."""
        content = await super().body()
        if self._text is None:
            self._text = _text_of(content, self._charset)
        return content

    async def json(self) -> dict[str, Any]:
        """The object that holds the text."""
        await self.body()
        return {"csv": self._text}


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of an import, each as JSON."""

    csv: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dry_run: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _LargeJsonRequest(Request):
    """A JSON object; if it is large, only its known fields are decoded.

    The name of the first unknown field is enough for the refusal.
    """

    async def json(self) -> Any:
        """The object. Raises `JSONDecodeError`."""
        content = await self.body()
        return await super().json() if len(content) <= MAX_BODY_BYTES else _known_fields(content)


_fields = msgspec.json.Decoder(_Fields)
_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
"""Finds the field's name in msgspec's error."""


def _known_fields(content: bytes) -> object:
    try:
        found = msgspec.structs.asdict(_fields.decode(content))
    except msgspec.ValidationError as error:
        named = _UNKNOWN.search(str(error))
        return {named[1]: None} if named else None  # the model refuses an unknown field, and anything but an object
    except (msgspec.DecodeError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return {name: _value_of(bytes(raw)) for name, raw in found.items() if raw is not msgspec.UNSET}


def _value_of(raw: bytes) -> object:
    """Decode texts and short values. Other long values become None, which is not a text either."""
    return json.loads(raw) if raw.startswith(b'"') or len(raw) <= MAX_BODY_BYTES else None


def _charset_of(content_type: str) -> str:
    named = _CHARSET.search(content_type)
    return named[1].lower() if named else UTF_8


def _text_of(body: bytes, charset: str) -> str:
    """The text of a body. Raises `InvalidInput`."""
    try:
        if charset in CHARSETS:
            return body.decode(charset)
    except ValueError:
        pass
    raise InvalidInput(
        f"The list cannot be read as {charset}. Send it in UTF-8, or name its charset in Content-Type."
    ) from None
