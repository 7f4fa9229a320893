"""Any text that a register can hold makes a feed that readers can read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from registerwatch.notifications.feeds.atom import PageLinks, atom
from registerwatch.notifications.feeds.calendar import pieces
from registerwatch.notifications.feeds.models import CalendarContent, Feed, FeedPage
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.events.event_pages import GroupPage
from registerwatch.watches.models import Event, Expiring
from tests.notifications.feeds.feed_reader import days_of, feed_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(deadline=None)
@given(label=TEXTS, value=TEXTS, subject=TEXTS.filter(str.strip))
def test_a_feed_of_any_text_is_well_formed(label: str, value: str, subject: str) -> None:
    event = Event(1, 1, subject, label, 1_800_000_000, f"reference:  → {value}", [FieldChange("reference", "", value)])
    shown = FeedPage(Feed(7, "ft_ab…wxyz", 1_800_000_000), GroupPage([EventGroup([event])], None))
    address = "https://watch.example/v1/events.atom?token=ft_1"
    read = feed_of(atom(shown, public_url="https://watch.example", links=PageLinks(address, address, None)))
    assert read.problem is None
    assert len(read.entries) == 1


@settings(deadline=None)
@given(label=TEXTS, number=TEXTS, subject=TEXTS.filter(str.strip), standing=TEXTS, revision=TEXTS)
def test_a_calendar_of_any_text_is_well_formed(
    label: str, number: str, subject: str, standing: str, revision: str
) -> None:
    item = Expiring(subject, label, number, "2027-01-31", 12, standing=standing, revision=revision)
    shown = CalendarContent([item])
    made = pieces(shown, public_url="https://watch.example", source_name="EUDAMED", made_at=1_800_000_000)
    assert len(days_of(b"".join(made))) == 1


def test_an_entry_is_as_severe_as_the_most_severe_of_its_events() -> None:
    first, *others = [
        Event(number, number, f"A{number}", "Label", 1_800_000_000, "", [], "record", severity, "run/DE-MF-1")
        for number, severity in enumerate(["low", "medium", "of_a_later_release", "medium"])
    ]
    assert EventGroup([first, *others]).most_severe == others[0]


def test_a_title_names_few_of_many_devices_and_the_text_all_that_the_event_names() -> None:
    named = [FieldChange("device_registered", "", f"D-{number}", device=f"0{number}") for number in range(50)]
    changes = [FieldChange("devices_registered", "", "64"), *named]
    event = Event(1, 1, "DE-MF-1", "Acme", 1_800_000_000, "", changes, "portfolio", "low", "run/DE-MF-1")
    shown = FeedPage(Feed(7, "ft_ab…wxyz", 1_800_000_000), GroupPage([EventGroup([event])], None))

    made = atom(shown, public_url="https://watch.example", links=PageLinks("https://a", "https://a", None)).decode()

    assert "<title>Acme: 64 devices registered: D-0, D-1, D-2 and 61 more</title>" in made
    assert "Device registered: D-49 (049)" in made
