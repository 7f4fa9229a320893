"""What a certificate proves, where its scopes name more devices than are kept."""

from datetime import date

import pytest

from registerwatch.copy.certificates.certificate_queries import StoredCertificate
from registerwatch.lookup.certificate_proof import what_it_proves
from registerwatch.register.certificates import MAX_NAMED
from tests.register.certificate_rows import SEEN_AT, a_certificate


@pytest.mark.parametrize(
    ("expiry", "status", "expected"),
    [
        (None, "issued", "It has no end date."),
        (None, "restricted", "It has no end date. The register calls it restricted."),
        (None, "withdrawn", "It proves nothing today: the register calls it withdrawn."),
        ("2031-01-01", "reinstated", ""),
        ("2031-01-01", "held-back", "The register calls it “Held back”; whether it is in force then is not known."),
        ("2020-01-01", "held-back", "Its date of expiry has passed."),
    ],
)
def test_it_is_said_whether_it_is_in_force_and_what_is_not_known(
    expiry: str | None, status: str, expected: str
) -> None:
    row = {name: value for name, value in a_certificate().items() if name != "version"}
    row |= {"expiry": expiry, "status_code": f"refdata.certificate-status.{status}"}
    stored = StoredCertificate(**row, unlisted_at=None, scopes_read_at=SEEN_AT, notified_body_name="", named=0)

    said = what_it_proves(stored, date(2026, 11, 22))

    assert said == f"A certificate of the manufacturer; its scope names no device. {expected}".strip()


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (MAX_NAMED - 1, "its scope names 19,999 Basic UDI-DIs, and no other device."),
        (MAX_NAMED, "its scope names at least 20,000 Basic UDI-DIs. It may name more."),
    ],
)
def test_a_certificate_that_names_as_many_devices_as_are_kept_may_name_more(named: int, expected: str) -> None:
    row = {name: value for name, value in a_certificate().items() if name != "version"}
    stored = StoredCertificate(**row, unlisted_at=None, scopes_read_at=SEEN_AT, notified_body_name="", named=named)

    assert what_it_proves(stored, date(2026, 11, 22)) == f"A certificate of the manufacturer; {expected}"
