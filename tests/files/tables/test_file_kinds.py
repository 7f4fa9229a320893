"""Files are refused by their beginning where they are neither workbooks nor texts, and only then."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.encodings import BEGINNING_BYTES, ENCODINGS, decoded, decoded_as
from registerwatch.files.tables.file_kinds import NO_SIGNS, NO_TEXT, OTHER_FILES, check_beginning
from tests.register.builders import PROPERTY

CHOICES = ("", *ENCODINGS)
LETTERS = "a\n\x04\x1a\x1dé\u0100\u3042\U0001f600"
NO_LETTERS = "\x00\x1b"
BEYOND_ASCII = "\u0100\u3042" * 9
"""Without blanks and digits: UTF-16 that cannot be recognised, with bytes that are control characters elsewhere."""

marks = st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"a\x00" * 99, b"\x00a" * 99])
texts = st.builds(
    lambda before, text, charset: (before + text).encode(charset, "replace"),
    st.sampled_from(["", *("a" * (BEGINNING_BYTES // size - less) for size in (1, 2) for less in range(4))]),
    st.text(LETTERS, max_size=9) | st.text(LETTERS + NO_LETTERS, max_size=9),
    st.sampled_from(["utf-16", "utf-16-be", *ENCODINGS.values()]),
)
other_bytes = st.builds(lambda *parts: b"".join(parts), marks, st.binary(max_size=300))


@PROPERTY
@given(texts | other_bytes, st.sampled_from(CHOICES))
@example(BEYOND_ASCII.encode("utf-16"), "")
@example(BEYOND_ASCII.encode("utf-16-le"), "utf-16")
@example(("a" * 99 + BEYOND_ASCII).encode("utf-16-be"), "")
@example(("a" * 99 + BEYOND_ASCII).encode("utf-16-le"), "")
def test_no_text_is_refused_by_its_beginning(content: bytes, encoding: str) -> None:
    try:
        text = decoded_as(content, encoding) if encoding else decoded(content)[0]
    except InvalidInput:
        return
    if NO_SIGNS.isdisjoint(text) and not content.startswith(tuple(start for start, _ in OTHER_FILES)):
        check_beginning(content, encoding)


@PROPERTY
@given(st.text(LETTERS, max_size=900), st.sampled_from(sorted(NO_SIGNS)), st.sampled_from(CHOICES[1:]))
def test_what_begins_with_signs_that_no_text_has_is_refused(before: str, sign: str, encoding: str) -> None:
    content = f"{before}{sign}GTIN\n".encode(ENCODINGS[encoding], "replace")

    with pytest.raises(InvalidInput, match=NO_TEXT[:20]):
        check_beginning(content, encoding)


@pytest.mark.parametrize("content", [b"PK\x03\x04\x00", b"GTIN\n" + b"1\n" * BEGINNING_BYTES + b"\x00"])
def test_the_rest_of_a_file_is_not_looked_at(content: bytes) -> None:
    check_beginning(content, "")
