"""Kinds of certificates by their codes, and what was examined for them."""

import pytest

from registerwatch.register.certificate_kinds import DOCUMENTATION, QUALITY, kind_of_certificate, what_was_examined


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("MDD_II_EX_4", "MDD Annex II without section 4"),
        ("refdata.legacy.mdd-certificate-type.ii-ex-4", "MDD Annex II without section 4"),
        ("MDD_II_4", "MDD Annex II section 4"),
        ("refdata.legacy.ivdd-certificate-type.iv", "IVDD Annex IV"),
        ("refdata.certificate-mdr-type.quality-management-system", "MDR quality management system"),
        ("IVDR_TECHNICAL_DOCUMENTATION", "IVDR technical documentation"),
        ("refdata.something-else.brand-new", "brand new"),
        ("", ""),
    ],
)
def test_kinds_of_certificates_are_readable_in_every_form_of_their_code(code: str, words: str) -> None:
    assert kind_of_certificate(code) == words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("MDR_QUALITY_MANAGEMENT_SYSTEM", QUALITY),
        ("refdata.certificate-mdr-type.quality-management-system", QUALITY),
        ("MDR_TECHNICAL_DOCUMENTATION", DOCUMENTATION),
        (
            "refdata.legacy.mdd-certificate-type.ii-ex-4",
            "The manufacturer’s quality system, without the design of this device",
        ),
        ("MDD_II_4", "The design of this device"),
        ("MDD_V", "The quality system of production"),
        ("AIMDD_V", ""),
        ("something-new", ""),
        ("", ""),
    ],
)
def test_what_was_examined_is_told_by_the_kind_of_a_certificate(code: str, words: str) -> None:
    assert what_was_examined(code) == words
