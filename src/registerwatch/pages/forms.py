"""Reading forms within bounds: fields by the standard library, files by python-multipart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from registerwatch.errors import InvalidInput
from registerwatch.web.limits.body_limits import max_body_bytes

FORM = "application/x-www-form-urlencoded"
FORM_WITH_FILES = "multipart/form-data"
MAX_BYTES = 16_384
"""Enough for the longest password: 1,024 characters of 4 bytes, each byte written as 3, are 12,288."""
MAX_FIELDS = 16
MAX_FIELDS_OF_LISTS = 4_000
"""Enough to choose every watch of the largest plan, with some other fields."""
MAX_FIELDS_BESIDE_FILES = 16

NO_FORM = f"This address takes what its form sends, as `{FORM}`."
UNREADABLE = "What was sent cannot be read as the fields of a form."
BROKEN_OFF = "What was sent broke off."


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that a person chose. `name` is the person's; nothing here is stored under it."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, in order."""

    fields: Sequence[tuple[str, str]] = field(repr=False)
    files: Mapping[str, UploadedFile] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """The value of a field, the last of several; empty if it is missing."""
        return next((value for each, value in reversed(self.fields) if each == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for each, value in self.fields if each == name]

    def file(self, name: str) -> UploadedFile | None:
        """The file of a field; None if none was chosen."""
        return self.files.get(name)


async def form_of(request: Request) -> Form:
    """The form in a request, read once. Raises `InvalidInput` for one that our pages do not send."""
    state = request.scope.setdefault("state", {})
    if "form" not in state:
        with_files = _media_type(request) == FORM_WITH_FILES
        state["form"] = await (_form_with_files(request) if with_files else _plain_form(request))
    form: Form = state["form"]
    return form


def forget_form(request: Request) -> None:
    """Free the form that `form_of` has read: a file may be large, and the rest of the request slow."""
    request.scope.get("state", {}).pop("form", None)


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a short form by name, the last of several. Raises `InvalidInput` as `form_of` does."""
    return dict(await _fields(request, MAX_BYTES, MAX_FIELDS))


async def _plain_form(request: Request) -> Form:
    return Form(await _fields(request, max_body_bytes(request.url.path), MAX_FIELDS_OF_LISTS))


class _ParserInMemory(MultiPartParser):
    """Keeps files in memory, which the bound of the body allows, so that none is written to a disk."""

    spool_max_size = 0
    """Never write to a disk."""


async def _form_with_files(request: Request) -> Form:
    bound = max_body_bytes(request.url.path)
    fields: list[tuple[str, str]] = []
    files: dict[str, UploadedFile] = {}
    try:
        parser = _ParserInMemory(
            request.headers,
            request.stream(),
            max_files=1,
            max_fields=MAX_FIELDS_BESIDE_FILES,
            max_part_size=bound,
        )
        sent = await parser.parse()
        for name, value in sent.multi_items():
            if not isinstance(value, UploadFile):
                fields.append((name, value))
            elif value.filename:  # a browser sends an empty part if no file was chosen
                files[name] = UploadedFile(value.filename, await value.read())
        await sent.close()
    except MultiPartException:
        raise InvalidInput(UNREADABLE) from None
    except ClientDisconnect:
        raise InvalidInput(BROKEN_OFF) from None
    return Form(fields, files)


async def _fields(request: Request, max_bytes: int, max_fields: int) -> list[tuple[str, str]]:
    if _media_type(request) != FORM:
        raise InvalidInput(NO_FORM)
    body = await _body(request, max_bytes)
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=max_fields)
    except ValueError:
        raise InvalidInput(UNREADABLE) from None


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise InvalidInput(f"What was sent is longer than {max_bytes:,} bytes.")
    except ClientDisconnect:
        raise InvalidInput(BROKEN_OFF) from None
    return bytes(body)
