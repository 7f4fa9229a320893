"""What people read of a change where it stands alone: the order of rows, lines that name devices, the fewest words."""

from datetime import date

import pytest

from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.change_words import row_of, rows_of

DAY = date(2026, 12, 17)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (FieldChange("cert_status", "Issued", "Suspended", "Z-1"), "certificate Z-1 suspended"),
        (FieldChange("cert_status", "Issued", "Suspended"), "certificate suspended"),
        (FieldChange("certificate", "", "Z-1", "Z-1"), "new certificate Z-1"),
        (FieldChange("certificate", "", "Z-1", "Z-1", standing="Withdrawn"), "new certificate Z-1 is withdrawn"),
        (FieldChange("certificate", "Z-1", "Z-2", "Z-2"), "certificate number Z-2"),
        (FieldChange("cert_expiry", "2026-12-24", "2030-09-16", "Z-1"), "certificate expiry (Z-1) 16 Sep 2030"),
        (FieldChange("cert_ends", "2026-12-24", "in 8 days", "Z-1"), "certificate Z-1 ends in 7 days"),
        (FieldChange("cert_ends", "2026-12-18", "in 1 day", "Z-1"), "certificate Z-1 ends tomorrow"),
        (FieldChange("cert_ends", "2026-12-17", "today", "Z-1"), "certificate Z-1 ends today"),
        (FieldChange("cert_ends", "2026-12-16", "1 day ago", "Z-1"), "certificate Z-1 ended yesterday"),
        (FieldChange("cert_ends", "2026-12-15", "2 days ago", "Z-1"), "certificate Z-1 ended 2 days ago"),
        (FieldChange("cert_ends", "2026-12-15", "today", "Z-1"), "end date of certificate Z-1: 15 Dec 2026"),
        (FieldChange("cert_ends", "2026-12-15", "in 7 days", "Z-1"), "end date of certificate Z-1: 15 Dec 2026"),
        (
            FieldChange("cert_ends", "2026-12-15", "in 7 days", "Z-1", standing="Suspended"),
            "end date of certificate Z-1 (suspended) 15 Dec 2026",
        ),
        (
            FieldChange("cert_ends", "2026-12-24", "in 8 days", "Z-1", standing="Suspended"),
            "end date of certificate Z-1 (suspended) in 7 days",
        ),
        (FieldChange("cert_refused", "", "A-17"), "refused application for a certificate: A-17"),
        (FieldChange("status", "On the EU market", "Not on the market"), "Not on the market"),
        (FieldChange("version", "4", "5"), "new version 5 of the record"),
        (FieldChange("devices_off_market", "", "1"), "1 device off the market"),
        (FieldChange("device_off_market", "", "Savina", device="0401"), "device off the market: Savina (0401)"),
        (FieldChange("trade_name", "Zolid", "Zolid HT+"), "trade name Zolid HT+"),
    ],
)
def test_the_subject_of_a_mail_says_a_change_in_the_fewest_words(change: FieldChange, expected: str) -> None:
    assert row_of(change, DAY).brief(DAY) == expected


def test_a_line_names_the_first_devices_and_the_number_of_the_others() -> None:
    named = [FieldChange("device_registered", "", f"D-{number}", device=f"0{number}") for number in range(5)]

    def lines(*changes: FieldChange) -> list[str]:
        return [row.line(DAY) for row in rows_of(changes, DAY)]

    assert lines(*named, FieldChange("devices_registered", "", "1002")) == [
        "1,002 devices registered: D-0, D-1, D-2 and 999 more"
    ]
    assert lines(FieldChange("devices_registered", "", "2"), *named[:2]) == ["2 devices registered: D-0, D-1"]
    assert lines(named[0]) == ["Device registered: D-0 (00)"]
    assert lines(FieldChange("device_registered", "", "0401", device="0401")) == ["Device registered: 0401"]


def test_devices_of_one_name_are_named_with_their_codes() -> None:
    named = [FieldChange("device_registered", "", name, device=code) for name, code in (("A", "01"), ("A", "02"))]
    more = FieldChange("device_registered", "", "B", device="03")

    [row] = rows_of([FieldChange("devices_registered", "", "12"), *named, more], DAY)

    assert row.line(DAY) == "12 devices registered: A (01), A (02), B and 9 more"
    assert row.line(DAY, 1) == "12 devices registered: A (01) and 11 more"


def test_a_change_of_a_certificate_says_which_revision_it_is() -> None:
    def lines(revision: str) -> list[str]:
        new = FieldChange("certificate", "", "Z-1", "Z-1", revision=revision)
        status = FieldChange("cert_status", "Issued", "Suspended", "Z-1", revision=revision)
        return [row_of(each, DAY).line(DAY) for each in (new, status)]

    assert lines("01") == [
        "New certificate (revision 01): Z-1",
        "Certificate status (Z-1, revision 01): Issued → Suspended",
    ]
    for unfit in ("", "0" * 21, "0\u202e1", "0\n1"):
        assert lines(unfit) == ["New certificate: Z-1", "Certificate status (Z-1): Issued → Suspended"]


def test_a_new_certificate_says_how_it_stands_behind_its_number() -> None:
    row = row_of(FieldChange("certificate", "", "Z-1", "Z-1", revision="01", standing="Withdrawn"), DAY)

    assert row.line(DAY) == "New certificate (revision 01): Z-1 (withdrawn)"
    assert row.shortened(2).line(DAY) == "New certificate (revision 01): Z… (w…)"
    assert row.when(DAY) == "", "it is no end"


def test_what_is_no_date_and_no_number_stays_as_it_is() -> None:
    assert (
        row_of(FieldChange("cert_ends", "soon", "in 7 days", "Z-1"), DAY).line(DAY)
        == "End of the certificate (Z-1): soon"
    )
    assert row_of(FieldChange("devices_registered", "", "many"), DAY).line(DAY) == "Devices registered: many"
