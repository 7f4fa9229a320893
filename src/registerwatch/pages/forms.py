"""What forms send: reading it within bounds, by the standard library."""

from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from registerwatch.errors import InvalidInput

FORM = "application/x-www-form-urlencoded"
MAX_BYTES = 16_384
"""The longest password fits: 1,024 characters of 4 bytes, each byte written as 3, are 12,288."""
MAX_FIELDS = 16

NO_FORM = f"This address takes what its form sends, as `{FORM}`."
TOO_LONG = f"What was sent is longer than {MAX_BYTES:,} bytes."
UNREADABLE = "What was sent cannot be read as the fields of a form."
BROKEN_OFF = "What was sent broke off."


async def form_fields(request: Request) -> dict[str, str]:
    """The fields by name, of two with one name the last. Raises `InvalidInput` for what no form of ours sends."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise InvalidInput(NO_FORM)
    body = await _body(request)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS))
    except ValueError:
        raise InvalidInput(UNREADABLE) from None


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BYTES:
                raise InvalidInput(TOO_LONG)
    except ClientDisconnect:
        raise InvalidInput(BROKEN_OFF) from None
    return bytes(body)
