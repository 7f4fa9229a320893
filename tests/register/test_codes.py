"""Codes and their labels: what is unknown is shown all the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.codes import (
    CERTIFICATE_STATUS_PREFIX,
    LEGISLATION_PREFIX,
    RISK_BY_CODE,
    RISK_PREFIX,
    STATUS_BY_CODE,
    STATUS_PREFIX,
    RiskFilter,
    StatusFilter,
    label,
    segment,
)
from tests.register.builders import PROPERTY

prefixes = st.sampled_from(
    [STATUS_PREFIX, RISK_PREFIX, LEGISLATION_PREFIX, CERTIFICATE_STATUS_PREFIX, "refdata.new.", ""]
)
segments = st.text("abcdefghij0123456789-_", min_size=1, max_size=40).filter(
    lambda text: any(character.isalnum() for character in text)
)


@PROPERTY
@given(prefixes, segments)
def test_a_code_that_nobody_knows_is_shown_as_its_last_segment_made_readable(prefix: str, name: str) -> None:
    shown = label(prefix + name)

    assert _letters(shown) == _letters(name)
    assert "-" not in shown
    assert "_" not in shown


@PROPERTY
@given(st.text())
def test_no_text_at_all_makes_labelling_fail(code: str) -> None:
    assert isinstance(label(code), str)
    assert isinstance(segment(code), str)


def test_nothing_has_an_empty_label() -> None:
    assert label("") == ""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("refdata.device-model-status.on-the-market", "On the EU market"),
        ("refdata.device-model-status.no-longer-on-the-market", "No longer placed on the EU market"),
        ("refdata.device-model-status.not-intended-for-eu-market", "Not intended for the EU market"),
        ("refdata.risk-class.class-iia", "Class IIa"),
        ("refdata.risk-class.class-d", "Class D"),
        ("refdata.risk-class.ivd-annex-ii-list-a", "IVD Annex II List A"),
        ("refdata.applicable-legislation.aimdd", "AIMDD"),
        ("refdata.certificate-status.suspended", "Suspended"),
        ("refdata.actor-status.inactive", "Inactive"),
        ("refdata.device-model-status.temporarily-suspended", "Temporarily suspended"),
    ],
)
def test_codes_have_english_labels(code: str, shown: str) -> None:
    assert label(code) == shown


@pytest.mark.parametrize("value", [*StatusFilter, *RiskFilter])
def test_every_filter_value_names_a_code_with_a_label_of_its_own(value: StatusFilter | RiskFilter) -> None:
    by_code = {**STATUS_BY_CODE, **RISK_BY_CODE}

    assert by_code[value.code] is value
    assert label(value.code) != segment(value.code).replace("-", " ").capitalize() or value.code.endswith("class-i")
    assert sum(label(value.code) == label(other) for other in by_code) == 1


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
