"""A message has the newest report of an end of a certificate alone, and none of an end that another row replaces."""

import re
from collections.abc import Sequence

import pytest

from registerwatch.notifications.use_cases import CHATS
from registerwatch.platform.structs import replace
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event
from tests.notifications.channels.sample_events import AT, RENAMED, an_event, mail_about
from tests.notifications.channels.test_chat import body_about
from tests.notifications.channels.test_event_groups import OTHER_SRN, SRN, blocks_of

DAY = 24 * 3600
END, LATER, EARLIER = "2027-02-14", "2032-02-14", "2027-02-01"
MARKS = ("in 30 days", "in 7 days", "today")


def an_end(when: str = MARKS[0], number: str = "Z-1", **fields: str) -> FieldChange:
    return FieldChange("cert_ends", END, when, number, **fields)


def moved(before: str, after: str, number: str = "Z-1", **fields: str) -> FieldChange:
    return FieldChange("cert_expiry", before, after, number, **fields)


def on_day(day: int, *changes: FieldChange, watch: int = 1, srn: str = SRN) -> Event:
    """An event of a watch, so many days after the first."""
    return an_event(*changes, watch=watch, label=f"Device {watch}", srn=srn, at=AT + day * DAY)


def ends_in(*events: Event) -> Sequence[str]:
    """Rows of ends in the mail about events."""
    return re.findall(r"End .*of the certificate .*", mail_about(*events, now=AT + 30 * DAY).text)


@pytest.mark.parametrize("srn", ["", SRN])
def test_of_three_reports_of_an_end_the_newest_is_shown_and_counted(srn: str) -> None:
    events = [on_day(day, an_end(when), srn=srn) for day, when in zip((0, 23, 30), MARKS, strict=True)]
    mail = mail_about(*events, now=AT + 30 * DAY)

    assert mail.subject == "High: certificate Z-1 ends today (Device 1)"
    [block] = blocks_of(mail.text)
    assert "Seen 14 Feb 2027, 10:00" in block
    assert ends_in(*events) == ["End of the certificate (Z-1)"]
    for chat in CHATS:
        assert str(body_about(chat, *events)).count("End of the certificate") == 1


def test_ends_of_other_watches_certificates_revisions_and_dates_stay() -> None:
    others = [
        on_day(0, an_end(number="Z-2")),
        on_day(0, an_end(revision="01")),
        on_day(0, replace(an_end(), old=EARLIER)),
        on_day(0, an_end(number="Z-3"), watch=2),
    ]

    assert len(ends_in(*others, on_day(23, an_end(MARKS[1])))) == 5


def test_of_two_certificates_with_one_number_each_newest_report_is_shown() -> None:
    both = an_end(), an_end()

    assert len(ends_in(on_day(0, *both), on_day(23, an_end(MARKS[1]), an_end(MARKS[1])))) == 2
    assert len(ends_in(on_day(0, *both), on_day(23, an_end(MARKS[1])))) == 2, "of which one it is, is not known"


def test_an_end_of_several_watches_is_as_severe_as_its_nearest_report() -> None:
    mail = mail_about(on_day(0, an_end()), on_day(0, an_end(), watch=2), on_day(23, an_end(MARKS[1]), watch=2))

    assert mail.subject.startswith("High: certificate Z-1 ")
    [block] = blocks_of(mail.text)
    assert block.startswith("High: Certificate Z-1\n")
    assert "About 2 watches: Device 1, Device 2" in block


@pytest.mark.parametrize("day", [0, 9])
@pytest.mark.parametrize("watch", [1, 2])
def test_an_end_that_was_moved_is_not_reported_by_whichever_watch_and_whenever(watch: int, day: int) -> None:
    mail = mail_about(on_day(5, an_end(MARKS[1])), on_day(day, moved(END, LATER), watch=watch))

    assert mail.subject.startswith("Medium: certificate expiry (Z-1) 14 Feb 2032 (")
    assert "End of the certificate" not in mail.text


@pytest.mark.parametrize(
    ("report", "change", "is_shown"),
    [
        (an_end(revision="01"), moved(END, LATER, revision="02"), False),  # the next revision goes on
        (an_end(revision="01"), moved(END, EARLIER, revision="01"), False),
        (an_end(revision="01"), moved(END, EARLIER), False),
        (an_end(revision="01"), moved(END, EARLIER, revision="02"), True),
        (an_end(), moved(END, LATER, "Z-2"), True),
        (an_end(), moved(EARLIER, END), True),
        (an_end(), moved("", END), True),
    ],
)
def test_a_report_of_an_end_is_left_out_where_its_own_certificate_ends_otherwise(
    report: FieldChange, change: FieldChange, *, is_shown: bool
) -> None:
    assert bool(ends_in(on_day(0, report), on_day(1, change))) is is_shown


def test_an_end_is_moved_too_where_the_certificate_gets_another_number() -> None:
    renumbered = FieldChange("certificate", "Z-1", "Z-2", "Z-2")

    assert not ends_in(on_day(0, an_end()), on_day(1, renumbered, moved(END, LATER, "Z-2")))
    assert ends_in(on_day(0, an_end()), on_day(1, renumbered))


def test_an_end_that_was_moved_and_is_back_is_reported() -> None:
    back = on_day(0, an_end()), on_day(1, moved(END, LATER)), on_day(2, moved(LATER, END))

    assert len(ends_in(*back)) == 1
    assert not ends_in(*back, on_day(3, moved(END, EARLIER)))


def test_a_certificate_of_another_or_an_unknown_manufacturer_is_another() -> None:
    extension = moved(END, LATER)
    for srn in ("", OTHER_SRN):
        assert ends_in(on_day(0, an_end()), on_day(1, extension, watch=2, srn=srn))
    assert ends_in(on_day(0, an_end(), srn=""), on_day(1, extension, watch=2, srn=""))
    assert not ends_in(on_day(0, an_end(), srn=""), on_day(1, extension, srn=""))


def test_what_else_an_event_reports_stays_with_its_own_severity() -> None:
    mail = mail_about(on_day(0, an_end(MARKS[1]), RENAMED), on_day(0, moved(END, LATER), watch=2))

    assert [block.splitlines()[0] for block in blocks_of(mail.text)] == ["Medium: Device 2", "Low: Device 1"]
    assert mail.subject == "Medium: certificate expiry (Z-1) 14 Feb 2032, 2 changes of 2 watches"
