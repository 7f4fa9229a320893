"""JSON answers and conditional requests."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from registerwatch.web.responses import error_response, json_response, matches, tagged_response
from tests.register.builders import PROPERTY

TAG = 'W/"7.1800000000"'

other_tags = st.from_regex(r'(W/)?"[a-z0-9.]{0,8}"', fullmatch=True).filter(
    lambda each: each.removeprefix("W/") != TAG[2:]
)
blanks = st.sampled_from(["", " ", "\t "])


@pytest.mark.parametrize("header", [TAG, TAG[2:], "*", " * ", f' "a", {TAG}', f'W/"a",{TAG[2:]},"b"', f"  {TAG}  "])
def test_a_client_that_has_this_content_is_told_so(header: str) -> None:
    assert matches(header, TAG)
    assert matches(header, TAG[2:]), "by weak comparison"


@pytest.mark.parametrize(
    "header", [None, "", " ", '"7"', 'W/"7.18000000001"', TAG[2:-1], TAG.lower(), '"*"', "7.1800000000", ",,,", 'W/""']
)
def test_a_client_that_has_other_content_gets_this(header: str | None) -> None:
    assert not matches(header, TAG)


@PROPERTY
@given(st.lists(st.tuples(blanks, other_tags, blanks), max_size=4), st.booleans(), st.integers(0, 4))
def test_a_list_matches_exactly_if_the_tag_is_in_it(
    others: list[tuple[str, str, str]], is_in_it: bool, place: int
) -> None:
    listed = ["".join(parts) for parts in others]
    if is_in_it:
        listed.insert(place, TAG)

    assert matches(",".join(listed), TAG) is is_in_it


@PROPERTY
@given(st.text())
def test_no_header_at_all_makes_the_comparison_fail(header: str) -> None:
    assert matches(header, TAG) in {True, False}


def a_request(if_none_match: str | None = None) -> Request:
    headers = [] if if_none_match is None else [(b"if-none-match", if_none_match.encode())]
    return Request({"type": "http", "headers": headers})


def test_the_same_content_has_the_same_tag_and_is_not_sent_twice() -> None:
    first = tagged_response(a_request(), {"total": 1}, "public, max-age=30")
    again = tagged_response(a_request(first.headers["etag"]), {"total": 1}, "public, max-age=30")
    changed = tagged_response(a_request(first.headers["etag"]), {"total": 2}, "public, max-age=30")

    assert (first.status_code, json.loads(bytes(first.body))) == (200, {"total": 1})
    assert (again.status_code, bytes(again.body)) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == "public, max-age=30"
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


def test_errors_have_one_shape_and_are_not_cached() -> None:
    response = error_response("It cannot be.", 400, "invalid-input", {"Retry-After": "5"})

    assert (response.status_code, json.loads(bytes(response.body))) == (
        400,
        {"error": "It cannot be.", "code": "invalid-input"},
    )
    assert (response.headers["cache-control"], response.headers["retry-after"]) == ("no-store", "5")
    assert response.headers["content-type"] == "application/json"


def test_structs_and_what_is_json_already_are_rendered() -> None:
    class Reply(msgspec.Struct):
        name: str
        raw: msgspec.Raw

    response = json_response(Reply("Ünï", msgspec.Raw(b'{"a":1}')))

    assert json.loads(bytes(response.body)) == {"name": "Ünï", "raw": {"a": 1}}
