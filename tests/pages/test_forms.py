"""What forms send: read as it was typed, or refused before it costs anything."""

from collections.abc import Iterable

import pytest
from starlette.requests import Request
from starlette.types import Message

from registerwatch.errors import InvalidInput
from registerwatch.pages.forms import FORM, MAX_BYTES, MAX_FIELDS, form_fields


class Sending:
    """A client that sends these pieces of a body; `taken` counts how many were asked for."""

    def __init__(self, pieces: Iterable[bytes], content_type: str | None = FORM, *, breaks_off: bool = False) -> None:
        self.taken = 0
        self._pieces = iter(pieces)
        self._end: Message = {"type": "http.disconnect"} if breaks_off else {"type": "http.request", "body": b""}
        headers = [] if content_type is None else [(b"content-type", content_type.encode())]
        self.request = Request({"type": "http", "method": "POST", "headers": headers}, self._receive)

    async def _receive(self) -> Message:
        self.taken += 1
        piece = next(self._pieces, None)
        return self._end if piece is None else {"type": "http.request", "body": piece, "more_body": True}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"", {}),
        (b"email=", {"email": ""}),
        (b"email=owner%40acme.example", {"email": "owner@acme.example"}),
        (b"a=1&b=2&a=3", {"a": "3", "b": "2"}),
        (b"password=+a%2Bb+%26%3D%25", {"password": " a+b &=%"}),
        (b"password=%C3%A4%F0%9F%A9%BA", {"password": "ä🩺"}),
        ("password=ä".encode(), {"password": "ä"}),
        (b"password=a%00b%0D%0A", {"password": "a\x00b\r\n"}),
        (b"no+field", {"no field": ""}),
    ],
)
async def test_fields_are_read_as_they_were_typed(body: bytes, fields: dict[str, str]) -> None:
    assert await form_fields(Sending([body]).request) == fields


async def test_a_body_may_come_in_pieces() -> None:
    assert await form_fields(Sending([b"tok", b"", b"en=%C3", b"%A4"]).request) == {"token": "ä"}


@pytest.mark.parametrize("content_type", [FORM.upper(), f"{FORM}; charset=utf-8", f" {FORM} ;x"])
async def test_a_form_is_known_by_its_type_however_it_is_written(content_type: str) -> None:
    assert await form_fields(Sending([b"a=1"], content_type).request) == {"a": "1"}


@pytest.mark.parametrize(
    "content_type", [None, "", "application/json", "multipart/form-data; boundary=x", "text/plain", f"{FORM}x"]
)
async def test_another_kind_of_body_is_not_even_read(content_type: str | None) -> None:
    sending = Sending([b"a=1"], content_type)

    with pytest.raises(InvalidInput, match=FORM):
        await form_fields(sending.request)
    assert sending.taken == 0


@pytest.mark.parametrize("body", [b"a=%FF", b"\xff=a", b"a=%ED%A0%80", b"&" * MAX_FIELDS])
async def test_what_is_no_text_and_too_many_fields_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        await form_fields(Sending([body]).request)


async def test_the_longest_body_is_read_and_one_more_byte_is_refused() -> None:
    longest = b"a=" + b"x" * (MAX_BYTES - 2)

    assert len((await form_fields(Sending([longest]).request))["a"]) == MAX_BYTES - 2
    with pytest.raises(InvalidInput, match="longer than 16,384 bytes"):
        await form_fields(Sending([longest, b"x"]).request)


async def test_of_a_body_without_end_no_more_is_taken_than_may_be() -> None:
    sending = Sending(b"x" * 1_000 for _ in range(1_000_000))

    with pytest.raises(InvalidInput, match="longer"):
        await form_fields(sending.request)
    assert sending.taken == MAX_BYTES // 1_000 + 1


async def test_a_body_that_breaks_off_is_no_half_of_a_form() -> None:
    with pytest.raises(InvalidInput, match="broke off"):
        await form_fields(Sending([b"password=correct+ho"], breaks_off=True).request)
