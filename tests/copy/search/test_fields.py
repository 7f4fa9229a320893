"""How names are cut into words: without case, without diacritics, in every script."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.search.fields import MAX_WORD_LENGTH, analyzer, folded, reference_key
from registerwatch.copy.search.index import SearchIndex
from tests.register.builders import PROPERTY

LETTERS = "abcxyzäöüßéèñçøåşğıİłžšđÄÖÜÉÑŁŽαβγάέήώςσΆΏΣабвгдеёйщюяЁЙЩ0123456789"
names = st.text(LETTERS + " -/.,®()", max_size=30)

index = SearchIndex(Path("no index is needed to cut words"))


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("Ceramill Zolid® FX", "ceramill zolid fx"),
        ("Ceramïll ÄÖÜ", "CERAMILL aou"),
        ("Straße", "STRASSE"),
        ("Groß", "gross"),
        ("ΆΛΦΑ Ώμεγας", "αλφα ωμεγασ"),
        ("Щётка", "ЩЕТКА"),
        ("Йод", "йод"),
        ("İĞNE ışık", "igne isik"),
        ("Łódź", "lodz"),
        ("Øre", "ore"),
        ("Cœur", "coeur"),
        ("ﬁlter", "FILTER"),
        ("№5", "no5"),
        ("x²", "X2"),
        ("４５㎜", "45mm"),
        ("Qz\u0351\u036bqz", "qzqz"),
        ("A-1/B.2", "a 1 b 2"),
        ("Ceramill® Zolid", "ceramill zolid"),
        ("Ceramill™ Zolid", "ceramill zolid"),
        ("Zolid℠ FX", "zolid fx"),
    ],
)
def test_a_name_is_found_by_what_people_type(name: str, typed: str) -> None:
    assert index.words(name) == index.words(typed) != []


@PROPERTY
@given(names)
def test_case_makes_no_difference(name: str) -> None:
    assert index.words(name.lower()) == index.words(name) == index.words(name.upper())


@PROPERTY
@given(st.text(max_size=30))
def test_composed_and_decomposed_letters_are_the_same(name: str) -> None:
    assert folded(unicodedata.normalize("NFC", name)) == folded(unicodedata.normalize("NFD", name))
    assert index.words(unicodedata.normalize("NFC", name)) == index.words(unicodedata.normalize("NFD", name))


@PROPERTY
@given(names)
def test_words_are_words_again_and_come_once(name: str) -> None:
    words = index.words(name)

    assert index.words(" ".join(words)) == words
    assert len(set(words)) == len(words)
    assert all(word.strip() == word != "" for word in words)


@PROPERTY
@given(st.text())
def test_no_text_at_all_makes_cutting_fail(text: str) -> None:
    assert isinstance(index.words(text), list)


@pytest.mark.parametrize("letter", ["x", "9", "é", "Ω", "щ", "𝛀", "牙", "ß"])
@pytest.mark.parametrize("length", [59, 60, 61, 300, 70_000])
def test_a_word_of_any_length_stays_a_word_and_counts_by_its_first_letters(letter: str, length: int) -> None:
    [word] = index.words(letter * length)

    assert len(word) == min(MAX_WORD_LENGTH, length * len(folded(letter)))
    assert index.words(f"Titan ({letter * length}) screw") == ["titan", word, "screw"]


@PROPERTY
@given(st.lists(st.text(LETTERS, max_size=130) | st.sampled_from([" ", "-", "®", "\u3000", "_"]), max_size=8))
def test_long_words_are_cut_as_a_whole_text_is_cut(parts: list[str]) -> None:
    words = index.words("".join(parts))

    assert words == list(dict.fromkeys(word[:MAX_WORD_LENGTH] for word in analyzer().analyze(folded("".join(parts)))))
    assert index.words(" ".join(words)) == words


def test_a_text_of_signs_alone_has_no_words() -> None:
    assert index.words("® -- /// (()) ,.;:") == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ab-12.3", "AB-12.3"),
        (" AB 12 ", "AB12"),
        ("++E494ZIRKON5F5", "E494ZIRKON5F5"),
        ("a\u00a0b\tc", "ABC"),
        ("", ""),
        ("+", ""),
    ],
)
def test_references_are_compared_without_case_spaces_and_leading_plus(text: str, key: str) -> None:
    assert reference_key(text) == key


@PROPERTY
@given(st.text(LETTERS + " -+/.", max_size=30))
def test_a_compared_reference_compares_the_same_again(text: str) -> None:
    assert reference_key(reference_key(text)) == reference_key(text)
