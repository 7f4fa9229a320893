"""Pages of docs/ that users read: what they promise is what the product does."""

import re
from datetime import date
from pathlib import Path

import pytest

from registerwatch.notifications.channels.event_lines import MAX_VALUE_LENGTH
from registerwatch.notifications.channels.event_news import MAX_BLOCKS, MAX_ROWS
from registerwatch.notifications.models import REPEAT_PAUSES
from registerwatch.pages.documentation.library import TOPICS
from registerwatch.register.standing import DELISTED
from registerwatch.settings import Settings
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_rules import severity_of
from registerwatch.watches.models import FAILING_AFTER, OVERDUE_AFTER, EventSeverity
from registerwatch.watches.news.expiry_marks import MARKS
from registerwatch.watches.news.news_changes import MAX_DEVICES
from registerwatch.watches.reading.sync_runs import RUN_SECONDS
from registerwatch.watches.watch_states import LAST_READ_FAILED, LAST_READ_IN_PART, STATES

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "src" / "registerwatch" / "pages" / "templates"
WATCHING, NOTIFICATIONS = "watching.md", "notifications.md"
DAY, MINUTE = 24 * 3600, 60
TODAY = date(2026, 12, 17)
WORDS = {3: "three", 10: "ten", 50: "fifty"}


def page(name: str) -> str:
    """A page in one line."""
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def paragraphs(name: str) -> list[str]:
    """Its paragraphs in prose, each in one line."""
    text = re.sub(
        r"^```.*?^```$", "", (ROOT / "docs" / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    parts = (" ".join(each.split()) for each in text.split("\n\n"))
    return [each for each in parts if not each.startswith(("|", "#"))]


@pytest.mark.parametrize("name", [each.name for each in TOPICS])
def test_no_page_says_something_twice(name: str) -> None:
    said: dict[str, int] = {}
    for paragraph in paragraphs(f"{name}.md"):
        words = re.findall(r"[\w-]+", paragraph.lower())
        for start in range(len(words) - 11):
            run = " ".join(words[start : start + 12])
            said[run] = said.get(run, 0) + 1
    assert [run for run, times in said.items() if times > 1] == []


def in_words(seconds: float, unit: int) -> str:
    number = int(seconds / unit)
    return WORDS.get(number, str(number))


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        (WATCHING, f"it goes on for up to {in_words(RUN_SECONDS, MINUTE)} minutes"),
        (WATCHING, f"it was read within {in_words(OVERDUE_AFTER, DAY)} days"),
        (WATCHING, f"it could not be read for {in_words(FAILING_AFTER, DAY)} days"),
        (WATCHING, f"nobody has read it for {in_words(OVERDUE_AFTER, DAY)} days"),
        (WATCHING, f"the first {WORDS[MAX_DEVICES]} by name"),
        (WATCHING, f"you are told {MARKS[0]}, {MARKS[1]} and {MARKS[2]} days ahead, and on the day"),
        (WATCHING, f"at most every {in_words(Settings.model_fields['sweep_interval'].default, MINUTE)} minutes"),
        (NOTIFICATIONS, f"A mail shows up to {MAX_BLOCKS} watches, and {MAX_ROWS} changes of each time"),
        (NOTIFICATIONS, f"cut at {MAX_VALUE_LENGTH} characters"),
        (
            NOTIFICATIONS,
            "tried again after {} and {} minutes, {}, {} and {} hours".format(
                *(pause // MINUTE for pause in REPEAT_PAUSES[:2]), *(pause // 3600 for pause in REPEAT_PAUSES[2:])
            ),
        ),
    ],
)
def test_a_number_that_a_page_promises_is_that_of_the_product(name: str, promise: str) -> None:
    assert promise in page(name)


def test_every_button_and_page_that_is_named_is_there() -> None:
    shown = " ".join(each.read_text(encoding="utf-8") for each in TEMPLATES.rglob("*.html"))
    shown += (TEMPLATES.parent / "account" / "rendering.py").read_text(encoding="utf-8")
    named = re.findall(r"(?<![*\w])\*([A-Z][\w ]+)\*(?!\*)", page(WATCHING) + page(NOTIFICATIONS))
    assert {"Sync all now", "Watch this device", "Import"} <= set(named)
    states = {"Not intended for the EU market", "Certificate expired", "No end date"}
    assert [label for label in named if label not in shown and label not in states] == []


def test_every_state_of_a_watch_is_explained_and_no_other() -> None:
    table = (
        (ROOT / "docs" / WATCHING).read_text(encoding="utf-8").partition("| state | means |")[2].partition("\n\n")[0]
    )
    explained = re.findall(r"^\| ([^|-]+) \|", table, flags=re.MULTILINE)
    words = *STATES.values(), LAST_READ_FAILED, LAST_READ_IN_PART, DELISTED[0]
    assert sorted(explained) == sorted(each.lower() for each in words)


@pytest.mark.parametrize(
    ("severity", "said", "change"),
    [
        ("high", "is suspended", FieldChange("cert_status", "Issued", "Suspended")),
        ("high", "withdrawn", FieldChange("cert_status", "Issued", "Withdrawn")),
        ("high", "cancelled", FieldChange("cert_status", "Issued", "Cancelled")),
        ("high", "expired", FieldChange("cert_status", "Issued", "Expired")),
        ("high", "restricted", FieldChange("cert_status", "Issued", "Restricted")),
        ("high", "a new one is that already", FieldChange("certificate", "", "A", "A", standing="Withdrawn")),
        ("high", "is moved to such a day", FieldChange("cert_expiry", "2031-11-28", "2026-12-24")),
        ("high", "no longer placed", FieldChange("status", "On the EU market", "No longer placed on the EU market")),
        ("medium", "another risk class", FieldChange("risk_class", "Class I", "Class IIa")),
        ("medium", "certificate number", FieldChange("certificate", "A", "B")),
        ("medium", "or expiry", FieldChange("cert_expiry", "2027-01-01", "2028-01-01")),
        ("medium", "is reinstated", FieldChange("cert_status", "Suspended", "Reinstated")),
        ("medium", "another status of the manufacturer", FieldChange("manufacturer_status", "Registered", "Ceased")),
        ("low", "new name", FieldChange("trade_name", "A", "B")),
        ("low", "reference", FieldChange("reference", "A", "B")),
        ("low", "new devices and certificates", FieldChange("certificate", "", "A", "A")),
        ("low", "new version", FieldChange("version", "1", "2")),
        ("low", "any other value that was empty before", FieldChange("risk_class", "", "Class III")),
    ],
)
def test_an_example_of_a_severity_has_it(severity: str, said: str, change: FieldChange) -> None:
    text = (ROOT / "docs" / WATCHING).read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| {severity} \| (.*) \|$", text, flags=re.MULTILINE)
    assert said in row
    assert severity_of(change, TODAY) is EventSeverity(severity)
