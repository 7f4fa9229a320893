"""Check characters, and the way from an identifier back to its record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch_standins.register.generated import GeneratedArchive
from registerwatch_standins.register.identifiers import gs1_check_digit, is_basic_udi, is_gtin14, sibling_udi_di

ARCHIVE = GeneratedArchive(90_000, seed=11)


def test_gs1_check_digit_of_a_published_example() -> None:
    assert gs1_check_digit("0061414112345") == "2"
    assert is_gtin14("00614141123452")


@pytest.mark.parametrize("code", ["++E494ZIRKON5F5", "++E494ARTEX7L", "1987654Ad4X4bL5ttr2310c2K"])
def test_check_pair_of_published_basic_udi_dis(code: str) -> None:
    assert is_basic_udi(code)


@given(st.integers(0, ARCHIVE.count - 1))
def test_every_identifier_leads_back_to_its_record(position: int) -> None:
    record = ARCHIVE.registration(position)
    assert ARCHIVE.position_of_uuid(record.uuid) == position
    assert position in ARCHIVE.positions_of_primary_di(record.primary_di)
    assert position in ARCHIVE.positions_of_srn(record.manufacturer.srn)
    if record.basic_udi:
        assert position in ARCHIVE.positions_of_basic_udi(record.basic_udi)
    if record.authorised_representative:
        assert position in ARCHIVE.positions_of_srn(record.authorised_representative.srn)


@given(st.integers(0, ARCHIVE.count - 1))
def test_generated_identifiers_have_the_right_check_characters(position: int) -> None:
    record = ARCHIVE.registration(position)
    assert is_gtin14(record.primary_di) == (record.issuing_agency == "gs1")
    assert record.basic_udi is None or is_basic_udi(record.basic_udi)
    assert record.basic_udi is None or len(record.basic_udi) <= 25
    if record.issuing_agency == "hibcc" and record.basic_udi:
        assert record.basic_udi.startswith(f"++{record.primary_di[:4]}")


@given(st.text(max_size=20))
def test_an_unknown_identifier_finds_nothing(text: str) -> None:
    assert ARCHIVE.position_of_uuid(text) is None
    assert list(ARCHIVE.positions_of_basic_udi(text)) == []
    assert list(ARCHIVE.positions_of_srn(text)) == []


@given(st.integers(0, ARCHIVE.count - 1), st.integers(1, 200))
def test_a_sibling_is_another_valid_udi_di(position: int, ordinal: int) -> None:
    record = ARCHIVE.registration(position)
    sibling = sibling_udi_di(record.primary_di, ordinal)
    assert sibling != record.primary_di
    assert is_gtin14(sibling) == is_gtin14(record.primary_di)
