"""Which words of a text changed."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.watches.events.word_difference import MAX_PIECES, Segment, word_difference

words = st.lists(
    st.sampled_from(["Alpha", "Beta", "Γάμμα", "e\u0301", " ", "\n", "-", "…", "12", "\u202e", "<b>"])
    | st.text(max_size=4),
    max_size=40,
).map("".join)
LONG = "Sterile single-use catheter for the temporary drainage of urine, with coating"


@given(words, words, words)
def test_the_segments_of_each_side_are_its_text(start: str, middle: str, end: str) -> None:
    for old, new in ((start, end), (start + middle, middle + end), (start + middle + end, start + end)):
        found = word_difference(old, new)
        if found is not None:
            assert "".join(each.text for each in found.old) == old
            assert "".join(each.text for each in found.new) == new
            assert all(each.text for each in found.segments)
            kinds = [each.kind for each in found.segments]
            assert all(one != next_one for one, next_one in pairwise(kinds))


def test_a_word_that_changed_is_told_from_the_others() -> None:
    found = word_difference(LONG, LONG.replace("temporary", "long-term"))

    assert found is not None
    assert [(each.kind.value, each.text) for each in found.segments] == [
        ("same", "Sterile single-use catheter for the "),
        ("deleted", "temporary"),
        ("inserted", "long-term"),
        ("same", " drainage of urine, with coating"),
    ]


def test_words_one_after_the_other_are_one_change() -> None:
    found = word_difference(LONG, LONG.replace("temporary drainage", "permanent removal"))

    assert found is not None
    assert [each for each in found.segments if each.kind != "same"] == [
        Segment(found.segments[1].kind, "temporary drainage"),
        Segment(found.segments[2].kind, "permanent removal"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026-12-24", "2030-09-16"),
        ("", LONG),
        (LONG, "Quite another text that has hardly any of these, about an implantable pump"),
        ("a b " * MAX_PIECES, "c d " * MAX_PIECES),
        ("x" * 1_000_000, "y" * 1_000_000),
    ],
)
def test_what_is_short_too_long_or_another_text_is_shown_as_before_and_after(old: str, new: str) -> None:
    assert word_difference(old, new) is None


@pytest.mark.parametrize("sign", ["a ", "- "])
def test_the_longest_texts_that_are_compared_take_little_time(sign: str) -> None:
    old = sign * (MAX_PIECES // 2)
    began = time.process_time()

    word_difference(f"x{old[2:]}x", f"y{old[4:]}y")

    assert time.process_time() - began < 1


def test_a_long_text_with_one_change_is_compared_however_long_it_is() -> None:
    paragraphs = LONG * 100

    found = word_difference(f"{paragraphs} before {paragraphs}", f"{paragraphs} after {paragraphs}")

    assert found is not None
    assert [each.text for each in found.segments if each.kind != "same"] == ["before", "after"]
