"""What a message from a mail server reports, and that no other message reports anything."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.notifications.bounces.bounce_report import MAX_REPORT_BYTES, BounceKind, BounceReport, report_of
from tests.notifications.bounce_messages import GONE, block, report

TOKEN = "aaaaaaahmfzwk43fon2gk3tboruw63tb"
ANN = frozenset({"ann@acme.example"})
TO = f"bounces+{TOKEN}@example.org"


@pytest.mark.parametrize(
    ("action", "status", "kind"),
    [
        ("failed", "5.1.1", BounceKind.PERMANENT),
        ("Failed", "5.1.10 (no mail)", BounceKind.PERMANENT),
        ("failed", "5.1.2", BounceKind.PERMANENT),
        ("failed", "5.1.3", BounceKind.PERMANENT),
        ("failed", "5.1.6", BounceKind.PERMANENT),
        ("failed", "5.2.1", BounceKind.PERMANENT),
        ("failed", "5.1.0", BounceKind.REFUSED),
        ("failed", "5.1.7", BounceKind.REFUSED),
        ("failed", "5.1.8", BounceKind.REFUSED),
        ("failed", "5.1.100", BounceKind.REFUSED),
        ("failed", "5.2.2", BounceKind.REFUSED),
        ("failed", "5.3.4", BounceKind.REFUSED),
        ("Failed", "5.7.1 (refused)", BounceKind.REFUSED),
        ("failed", "5.7.26", BounceKind.REFUSED),
        ("failed", "4.4.7", BounceKind.TEMPORARY),
        ("delayed", "4.4.1", BounceKind.TEMPORARY),
        ("delayed", "5.1.1", BounceKind.TEMPORARY),
        ("delivered", "2.1.5", None),
        ("relayed", "5.0.0", None),
        ("failed", "2.0.0", BounceKind.TEMPORARY),
        ("failed", "unknown", None),
        ("failed", "", None),
        ("", "5.1.1", None),
    ],
)
def test_only_what_is_about_the_address_is_permanent(action: str, status: str, kind: BounceKind | None) -> None:
    found = report_of(report(TO, block(action, status)))

    assert (found.kind if found else None) == kind
    assert found is None or found.token == TOKEN


def test_one_permanent_failure_among_others_counts() -> None:
    told = report(TO, block("delayed", "4.4.1"), block("failed", "5.7.1"), GONE, block("delivered", "2.0.0"))

    assert report_of(told) == BounceReport(TOKEN, BounceKind.PERMANENT, "5.1.1", ANN)


@pytest.mark.parametrize("header", ["To", "Delivered-To", "X-Original-To", "Envelope-To"])
@pytest.mark.parametrize("to", [TO, TO.upper(), f"<{TO}>", f"Bounces <{TO}>, other@example.org"])
def test_the_address_stands_in_the_header_that_the_server_uses(header: str, to: str) -> None:
    assert report_of(report(to, GONE, header=header)) == BounceReport(TOKEN, BounceKind.PERMANENT, "5.1.1", ANN)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"no message at all",
        report("bounces@example.org", GONE),
        report(TO),
        report(TO, GONE, content_type="text/plain"),
        report(TO, GONE).replace(b"multipart/report", b"multipart/mixed"),
        f"To: {TO}\r\nSubject: out of office\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n".encode(),
        b"x" * MAX_REPORT_BYTES + report(TO, GONE),
    ],
)
def test_any_other_message_reports_nothing(message: bytes) -> None:
    assert report_of(message) is None


def test_a_report_that_somebody_was_sent_back_is_not_believed() -> None:
    forged = report(TO, GONE).decode().replace("\r\n", "\n")
    forwarded = f"""To: {TO}
Content-Type: multipart/report; boundary=outer

--outer
Content-Type: message/rfc822

{forged}
--outer--
"""
    assert report_of(forwarded.encode()) is None


def test_a_message_that_is_made_to_be_slow_is_left_quickly() -> None:
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2_000))
    wide = f"To: {TO}\nContent-Type: multipart/report; boundary=b\n\n" + "--b\n\n" * 50_000
    long = f"To: {TO},{'a@' * 30_000}\nContent-Type: multipart/report; boundary=b\n\n"
    huge = report(TO, GONE) + b"x" * 30_000_000

    began = time.process_time()
    assert report_of(f"To: {TO}\n{deep}".encode()) is None
    assert report_of(wide.encode()) is None
    assert report_of(long.encode()) is None
    assert report_of(huge) is not None
    assert time.process_time() - began < 5


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    whole = report(TO, GONE)
    for message in (noise, whole.replace(b"Status: 5.1.1", noise), whole.replace(b"report-type", noise), noise + whole):
        found = report_of(message)
        assert found is None or found.token == TOKEN
