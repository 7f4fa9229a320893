"""What mails say, and to whom they go."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registerwatch.mail.mailer import NOT_SET_UP, NoMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.mail.message import compose, sender_of
from registerwatch.notifications.channels.email import NO_USER, NOT_PROVEN, EmailChannel
from registerwatch.notifications.channels.event_lines import event_in, event_line
from registerwatch.notifications.channels.event_news import MAX_BLOCKS, MailAddresses, news_of
from registerwatch.notifications.choices import EVERYTHING, Choice, Frequency
from registerwatch.notifications.models import AttemptResult, EventType, Notification
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event, EventSeverity
from tests.notifications.channels.sample_events import (
    AT,
    INACTIVE,
    PUBLIC_URL,
    RENAMED,
    SUSPENDED,
    a_channel,
    a_target,
    an_event,
    mail_about,
    rendered,
)
from tests.pages.markup import Markup
from tests.support.fakes import SteppedClock


def test_a_mail_about_one_change_says_it_in_the_subject_and_shows_before_and_after() -> None:
    mail = mail_about(an_event(SUSPENDED))

    assert mail.subject == "High: certificate Z-25-052 suspended (Ceramill Zolid)"
    assert "  Certificate status (Z-25-052)\n    before: Issued\n    after:  Suspended\n" in mail.text
    assert "Seen 15 Jan 2027, 10:00\n" in mail.text
    assert "Times are those of Europe/Athens." in mail.text.replace("\n", " ")
    assert f"Watch:  {PUBLIC_URL}/app/watches/12\nRecord: {PUBLIC_URL}/d/04012345678901\n" in mail.text
    for words in ("Field", "Before", "After", "Certificate status (Z-25-052)", "Issued", "Suspended"):
        assert f"{words}<" in mail.html


def test_a_mail_about_several_says_the_worst_and_how_many_and_tells_the_worst_first() -> None:
    mail = mail_about(
        an_event(RENAMED, watch=1, label="Low one"), an_event(SUSPENDED, RENAMED, watch=2, label="High one")
    )

    assert mail.subject == "High: certificate Z-25-052 suspended, 3 changes of 2 watches"
    assert mail.text.index("High: High one") < mail.text.index("Low: Low one")
    assert mail.html.index("High one") < mail.html.index("Low one")


def test_what_one_watch_has_to_tell_stands_together_with_its_times() -> None:
    mail = mail_about(an_event(RENAMED), an_event(RENAMED, watch=2), an_event(SUSPENDED, at=AT + 3_600))

    assert mail.subject == "High: certificate Z-25-052 suspended, 3 changes of 2 watches"
    assert mail.text.count("UDI-DI 04012345678901") == 2
    assert mail.text.index("Seen 15 Jan 2027, 11:00") < mail.text.index("Seen 15 Jan 2027, 10:00")


def test_what_changed_in_a_manufacturer_is_told_once_and_not_for_each_of_its_devices() -> None:
    events = [
        an_event(INACTIVE, watch=number, label=f"Device {number}", cause="run/DE-MF-000006413") for number in range(40)
    ]
    mail = mail_about(*events)

    assert mail.subject == "Medium: manufacturer status Inactive (40 watches)"
    assert mail.text.count("Manufacturer status") == 1
    assert "40 watches of the manufacturer DE-MF-000006413" in mail.text
    assert "and 35 more" in mail.text
    assert f"Record: {PUBLIC_URL}/a/DE-MF-000006413" in mail.text


def test_the_version_of_a_record_is_left_out() -> None:
    mail = mail_about(an_event(RENAMED, FieldChange("version", "4", "5")))

    assert "Version" not in mail.text
    assert mail.subject == "Low: trade name Zolid HT+ (Ceramill Zolid)"


def test_a_new_certificate_stands_below_after_also_where_other_rows_have_a_before() -> None:
    mail = mail_about(an_event(RENAMED, FieldChange("certificate", "", "Z-1", "Z-1")))

    rows = Markup(mail.html).rows
    assert ["New certificate", "–", "Z-1"] in rows
    assert ["Trade name", "Zolid", "Zolid HT+"] in rows


def test_an_event_of_a_later_release_is_told_by_its_own_words() -> None:
    change = FieldChange("recall_state", "", "Ordered")
    mail = mail_about(Event(1, 12, "04012345678901", "Zolid", AT, "", [change], "recall", "critical"))

    assert mail.subject == "Critical: recall state Ordered (Zolid)"
    assert "  Recall state\n    before: nothing\n    after:  Ordered\n" in mail.text


def test_a_long_mail_is_cut_below_what_mail_programs_cut_off_and_counts_the_rest() -> None:
    events = []
    for number in range(200):
        long = [FieldChange("trade_name", "&<" * 300, "ä&" * 300, certificate=f"{number}{'<' * 90}") for _ in range(40)]
        events.append(an_event(*long, watch=number, label="<i>" * 50))
    mail = mail_about(*events)

    assert len(mail.html.encode()) < 100_000
    assert len(mail.text.encode()) < 100_000
    shown = mail.text.count("\nWatch: ")
    assert 1 <= shown < 50
    assert f"{(200 - shown) * 40:,} more changes:\n{PUBLIC_URL}/app/events" in mail.text
    assert "8,000 changes of 200 watches" in mail.subject


def test_a_digest_of_ten_thousand_changes_lists_some_and_counts_every_other_one() -> None:
    events = []
    for number in range(10_000):
        watch = number % 2_500
        suspended = FieldChange("cert_status", "Issued", "Suspended", f"Z-{watch}")
        changes = [RENAMED, INACTIVE, suspended][: 1 + number % 3]
        events.append(an_event(*changes, watch=watch, at=AT + number, label=f"Device {watch}"))
    newest = 9_998 % 2_500
    told = sum(len(event.changes) for event in events)
    lines = [event_in(event_line(event)) for event in events]
    news = news_of(lines, EVERYTHING, "UTC", MailAddresses(PUBLIC_URL, ""), AT)
    mail = mail_about(*events)

    assert len(news.blocks) == MAX_BLOCKS
    assert [sum(part.changes for part in block.parts) for block in news.blocks] == [
        block.changes for block in news.blocks
    ]
    assert sum(block.changes for block in news.blocks) + news.left_out == told
    assert mail.subject == f"High: certificate Z-{newest} suspended, {told:,} changes of 2,500 watches"
    (more,) = re.findall(r"([\d,]+) more changes:\n", mail.text)
    assert int(more.replace(",", "")) >= news.left_out
    assert len(mail.html.encode()) < 100_000


def test_what_one_watch_tells_is_cut_below_what_mail_programs_cut_off_too() -> None:
    long = [FieldChange("trade_name", "&" * 200, "&" * 200, certificate="&" * 60) for _ in range(15)]
    mail = mail_about(*(an_event(*long, at=AT + number) for number in range(7)))

    assert len(mail.html.encode()) < 100_000
    shown = mail.text.count("before: &")
    (more,) = re.findall(r"and (\d+) more\n", mail.text)
    assert shown + int(more) == 7 * 15


def test_names_in_scripts_from_right_to_left_turn_nothing_beside_them_in_gmail_and_outlook_too() -> None:
    mail = mail_about(an_event(RENAMED, label="מסיכה"))

    assert '<span dir="auto">מסיכה</span>' in mail.html
    assert '<span dir="auto">Low:<wbr> trade name Zolid HT+ (מסיכה)</span>' in mail.html
    assert "<bdi>" not in mail.html  # both drop this element


class _Reader(HTMLParser):
    """Finds the links of a page, and what none of ours has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src", "background", "action")]


OWN_TAGS = {"html", "head", "meta", "title", "style", "body", "table", "tr", "td", "th", "caption", "p", "h1", "h2"} | {
    "a",
    "br",
    "span",
    "wbr",
}
HOSTILE = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            '"><a href="https://evil.example">',
            "https://evil.example/",
            "\r\nBcc: eve@example.org",
            "{{ 7 * 7 }}",
            "\u202eexe.",
            "line\u2028line\x00",
        ]
    ),
)


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
@settings(max_examples=min(40, settings().max_examples))
def test_nothing_that_the_register_or_a_customer_wrote_leads_out_of_a_mail(
    label: str, subject: str, value: str, field: str
) -> None:
    change = FieldChange(field, value, f"{value}!", certificate=value or None)
    mail = mail_about(an_event(change, label=label, subject=subject), an_event(SUSPENDED, watch=1, label=value))
    reader = _Reader()
    reader.feed(mail.html)

    assert all(link.startswith(f"{PUBLIC_URL}/") for link in reader.links)
    assert reader.tags <= OWN_TAGS
    assert all(found.startswith(PUBLIC_URL) for found in re.findall(r"https?://\S+", mail.text))
    assert mail.subject.isprintable()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", mail.text + mail.html + mail.subject)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(), "all changes at once."),
        (Choice(frequency=Frequency.DAILY, hour=7), "all changes once a day at 07:00 (Europe/Athens)."),
        (
            Choice(frequency=Frequency.WEEKLY, weekday=4, high_at_once=True, severity=EventSeverity.MEDIUM),
            "of medium and high severity every Friday at 08:00 (Europe/Athens), those of high severity at once.",
        ),
        (Choice(severity=EventSeverity.HIGH, tags=("implants",)), "high severity of some of the watches at once."),
    ],
)
def test_the_foot_says_what_the_reader_has_chosen_and_how_to_choose_otherwise(choice: Choice, words: str) -> None:
    text = mail_about(an_event(SUSPENDED), choice=choice).text

    assert words in text.replace("\n", " ")
    assert f"Change what you get:\n{PUBLIC_URL}/app/notifications\n" in text
    assert f"any more:\n{PUBLIC_URL}/mail/unsubscribe/3-7-" in text


def test_a_test_is_a_mail_without_changes() -> None:
    channel = a_channel()
    body = channel.render(a_target(), Notification("whd_test", EventType.TEST, AT, "account@example.org"), [])

    assert "A test of your mails" in body
    assert "/app/events" not in body


def test_headers_name_the_list_its_end_and_what_belongs_together() -> None:
    one, same, other, two = (
        mail_about(*events).headers
        for events in (
            [an_event(SUSPENDED)],
            [an_event(RENAMED)],
            [an_event(RENAMED, watch=1)],
            [an_event(RENAMED), an_event(RENAMED, watch=1)],
        )
    )
    assert one["Message-ID"] == "<whd_abc@watch.example.org>"
    assert one["List-Id"] == "<changes.watch.example.org>"
    assert one["List-Unsubscribe"].startswith(f"<{PUBLIC_URL}/mail/unsubscribe/")
    assert one["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert one["References"] == same["References"] != other["References"]
    assert "References" not in two
    assert "List-Unsubscribe-Post" not in mail_about(an_event(), public_url="http://localhost:8000").headers


def test_only_proven_addresses_of_users_get_mails_and_only_where_a_server_is_set() -> None:
    channel = a_channel()

    assert channel.problem(a_target()) is None
    assert channel.problem(a_target(email=None)) == NO_USER
    assert channel.problem(a_target(is_proven=False)) == NOT_PROVEN
    unset = EmailChannel(NoMailer(), SteppedClock(AT), public_url=PUBLIC_URL)
    assert unset.problem(a_target()) == NOT_SET_UP


async def test_the_server_gets_a_mail_after_it_was_noted_that_it_does() -> None:
    mailer, noted = MemoryMailer(), []
    channel = a_channel(mailer)

    async def hand_over() -> None:
        noted.append(len(mailer.mails))

    notification = Notification("whd_abc", EventType.CHANGED, AT, "account@example.org")
    body = rendered(channel, [an_event(SUSPENDED)], a_target())
    result = await channel.attempt(a_target(), notification, body, AT + 60, hand_over)

    assert result == AttemptResult(is_accepted=True, status=250, error="")
    assert noted == [0]
    (mail,) = mailer.mails
    assert (mail.to, mail.at) == ("bob@example.org", AT)
    assert mail.html.startswith("<!doctype html>")


def test_a_name_with_characters_that_no_header_takes_is_mailed_without_them_in_the_subject() -> None:
    mail = mail_about(an_event(SUSPENDED, label="Ceramill\u200d Zolid 👩\u200d🔬 \u0600x"))

    assert mail.subject == "High: certificate Z-25-052 suspended (Ceramill Zolid 👩🔬 x)"
    assert compose("a@acme.example", mail.subject, mail.text, sender=sender_of("b@acme.example"), at=AT)
