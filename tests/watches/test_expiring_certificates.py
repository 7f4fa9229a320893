"""Which certificates end soon."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import to_builtins

from registerwatch.watches.models import Expiring, Watch
from registerwatch.watches.questions.expiring_certificates import expiring
from registerwatch.watches.snapshot import SeenCertificate, Snapshot
from tests.watches.builders import ISSUED, WITHDRAWN, a_certificate, a_snapshot, without_certificates

NOW = datetime(2026, 7, 15, 23, 59, tzinfo=UTC)


def a_watch(*certs: SeenCertificate, subject: str = "A1", snapshot: Snapshot | None = None) -> Watch:
    return Watch(1, "udi", subject, f"Label of {subject}", snapshot or a_snapshot(*certs), 0, "", None, 0)


def in_days(days: int) -> str:
    return str(NOW.date() + timedelta(days=days))


def soon(*watches: Watch) -> list[Expiring]:
    return expiring(watches, NOW.timestamp())


@pytest.mark.parametrize("days", [-30, -1, 0, 1, 180])
def test_a_certificate_within_the_window_is_listed(days: int) -> None:
    expiry = in_days(days)

    assert soon(a_watch(a_certificate(expiry=expiry))) == [Expiring("A1", "Label of A1", "Z-1", expiry, days)]


@pytest.mark.parametrize("days", [-31, 181, -4000, 4000])
def test_a_certificate_outside_the_window_is_not(days: int) -> None:
    assert soon(a_watch(a_certificate(expiry=in_days(days)))) == []


@pytest.mark.parametrize("expiry", ["", "soon", "2026-13-40", "15.07.2026"])
def test_a_certificate_without_a_date_is_no_row(expiry: str) -> None:
    assert soon(a_watch(a_certificate(expiry=expiry))) == []


def test_a_certificate_that_has_no_end_any_more_is_no_row() -> None:
    assert soon(a_watch(a_certificate(expiry=in_days(5), is_undated=True))) == []


def test_a_watch_that_was_never_read_or_not_its_certificates_is_no_row() -> None:
    never_read = Watch(1, "udi", "A1", "A1", None, None, "", None, 0)

    assert soon(never_read, a_watch(snapshot=without_certificates()), a_watch()) == []


def test_the_most_urgent_comes_first_and_a_watch_can_have_several() -> None:
    early, late = a_certificate("Z-1", expiry=in_days(-3)), a_certificate("Z-2", expiry=in_days(90))

    found = soon(a_watch(late, early, subject="B2"), a_watch(a_certificate("D-3", expiry=in_days(5)), subject="A1"))

    assert [(item.subject, item.certificate, item.days) for item in found] == [
        ("B2", "Z-1", -3),
        ("A1", "D-3", 5),
        ("B2", "Z-2", 90),
    ]


def test_a_certificate_that_the_register_no_longer_lists_is_a_row_that_says_so() -> None:
    gone, listed = (a_certificate("Z-1", expiry=in_days(5), is_gone=each) for each in (True, False))

    assert ["listed" in to_builtins(soon(a_watch(each))[0]) for each in (gone, listed)] == [True, False]
    assert not soon(a_watch(gone))[0].listed


def test_days_are_counted_in_utc() -> None:
    just_after = (NOW + timedelta(minutes=1)).timestamp()

    assert expiring([a_watch(a_certificate(expiry="2026-07-16"))], just_after)[0].days == 0


def test_a_certificate_is_called_by_its_worst_state_unless_one_like_it_simply_ends_then() -> None:
    suspended = "refdata.certificate-status.suspended"

    def called(*statuses: str) -> list[str]:
        alike = [a_certificate("Z-1", "01", in_days(9), each, notified_body=each) for each in statuses]
        answers = [item.standing for each in (alike, alike[::-1]) for item in soon(a_watch(*each))]
        return sorted(set(answers))

    assert called(WITHDRAWN, ISSUED) == [""]
    assert called(suspended, WITHDRAWN) == ["Withdrawn"]
    assert called(WITHDRAWN) == ["Withdrawn"]


def test_each_revision_of_a_number_is_named_with_its_own_state() -> None:
    revisions = [a_certificate("Z-1", name, in_days(9), status) for name, status in (("01", WITHDRAWN), ("02", ISSUED))]

    assert [(item.revision, item.standing) for item in soon(a_watch(*revisions))] == [("01", "Withdrawn"), ("02", "")]
    assert "revision" not in to_builtins(soon(a_watch(a_certificate("Z-1", expiry=in_days(9))))[0])
