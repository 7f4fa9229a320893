"""A message tells each certificate once, whoever watches it, and the rest by watch."""

import re

from registerwatch.notifications.channels.chat_news import and_more, chat_news
from registerwatch.notifications.channels.discord import Discord
from registerwatch.notifications.channels.event_lines import event_in, event_line
from registerwatch.notifications.channels.event_news import MailAddresses, news_of
from registerwatch.notifications.choices import EVERYTHING
from registerwatch.platform.structs import replace
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event
from tests.notifications.channels.sample_events import AT, PUBLIC_URL, RENAMED, SUSPENDED, an_event, mail_about
from tests.notifications.channels.test_chat import body_about

SRN, OTHER_SRN = "DE-MF-000006413", "FR-MF-000000001"
REVISED = FieldChange("cert_revision", "01", "02", "Z-25-052")
ENDS = FieldChange("cert_ends", "2027-01-22", "in 7 days", "Z-77")
HOUR = 3600


def of_manufacturer(*changes: FieldChange, srn: str = SRN, watch: int = 1, at: int = AT) -> Event:
    """What a sweep found."""
    return an_event(*changes, watch=watch, subject=srn, label="Acme", cause=f"sweep/{srn}", srn=srn, at=at)


def of_device(
    watch: int, *changes: FieldChange, cause: str | None = None, srn: str = SRN, at: int = AT + HOUR
) -> Event:
    """What a recheck found."""
    about = {"subject": f"{watch:014}", "label": f"Device {watch}"}
    return an_event(*changes, watch=watch, **about, cause=cause, srn=srn, at=at)


def blocks_of(text: str) -> list[str]:
    """The blocks of a mail, without its head and its foot."""
    return re.split(r"\n\n-{60}\n\n", text)[1:-1]


def test_a_certificate_that_a_sweep_and_rechecks_found_changed_is_told_once() -> None:
    mail = mail_about(
        of_manufacturer(REVISED, SUSPENDED),
        of_device(2, SUSPENDED, cause=f"recheck 1f/{SRN}"),
        of_device(3, SUSPENDED, RENAMED),
        of_device(4, RENAMED),
    )

    assert mail.subject == "High: certificate Z-25-052 suspended, 4 changes of 4 watches"
    certificate, *others = blocks_of(mail.text)
    assert certificate == (
        f"High: Certificate Z-25-052\nSRN {SRN}\nAbout 3 watches: Acme, Device 2, Device 3\n\n"
        "Seen 15 Jan 2027, 10:00\n\n"
        "  Certificate status (Z-25-052)\n    before: Issued\n    after:  Suspended\n\n"
        f"Certificate: {PUBLIC_URL}/app/certificates?q=Z-25-052"
    )
    assert [block.splitlines()[0] for block in others] == ["Low: Device 4", "Low: Device 3", "Low: Acme"]
    assert "Certificate revision (Z-25-052)" in others[2]
    assert mail.html.count("Suspended") == 1
    assert "About <span" in mail.html


def test_an_event_that_tells_nothing_else_has_no_block_and_a_chat_has_the_same_blocks() -> None:
    events = [of_manufacturer(SUSPENDED), *(of_device(watch, SUSPENDED, RENAMED) for watch in range(2, 9))]
    embeds = body_about(Discord(), *events)["embeds"]

    assert [each["title"] for each in embeds][:2] == [r"Certificate Z\-25\-052", "Device 8"]
    assert len(embeds) == 8
    assert "8 watches\\: Acme\\, Device 2\\, Device 3\\, Device 4\\, Device 5 and 3 more" in embeds[0]["description"]
    alone = mail_about(*(of_device(watch, SUSPENDED) for watch in (2, 3)))
    assert alone.subject == "High: certificate Z-25-052 suspended (2 watches)"
    assert len(blocks_of(alone.text)) == 1
    assert f"SRN {SRN}" in alone.text


def test_each_of_many_certificates_that_one_event_reports_is_told_once() -> None:
    withdrawn = [FieldChange("cert_status", "Issued", "Withdrawn", f"Z-{number:02}") for number in range(20)]
    events = [of_manufacturer(*withdrawn), *(of_device(2 + number, each) for number, each in enumerate(withdrawn))]
    mail = mail_about(*events)

    assert mail.subject == "High: certificate Z-00 withdrawn, 20 changes of 21 watches"
    assert sorted(block.splitlines()[0] for block in blocks_of(mail.text)) == [
        f"High: Certificate Z-{number:02}" for number in range(20)
    ]
    alone = mail_about(of_manufacturer(*withdrawn))
    assert alone.text.count("after:  Withdrawn") + 5 == len(withdrawn)
    assert "and 5 more" in alone.text


def test_what_was_not_stored_of_an_event_is_counted_once_and_a_block_of_it_is_not_empty() -> None:
    found = [of_manufacturer(SUSPENDED), of_device(2, SUSPENDED)]
    manufacturer, device = [event_in(event_line(each)) for each in found]
    stored = [replace(manufacturer, more=5), device]
    certificate, rest = chat_news(news_of(stored, EVERYTHING, "UTC", MailAddresses(PUBLIC_URL, ""), AT)).blocks
    assert (certificate.title, certificate.changes, and_more(rest)) == ("Certificate Z-25-052", 1, ["and 5 more"])

    causes = [replace(device, watch_id=watch, changes=[], more=5, cause=f"run/{SRN}") for watch in (2, 3, 4)]
    mail = news_of(causes, EVERYTHING, "UTC", MailAddresses(PUBLIC_URL, ""), AT)
    assert [(block.changes, [part.more for part in block.parts]) for block in mail.blocks] == [(5, [5])]


def test_ends_of_certificates_are_told_once_though_days_were_counted_on_two_days() -> None:
    mail = mail_about(
        of_manufacturer(ENDS, FieldChange("cert_ends", "2027-02-14", "in 30 days", "Z-78")),
        of_device(2, FieldChange("cert_ends", "2027-01-22", "in 6 days", "Z-77"), at=AT + 24 * HOUR),
    )

    assert mail.subject == "High: certificate Z-77 ends in 7 days, 2 changes of 2 watches"
    assert mail.text.count("22 Jan 2027") == 1
    assert [block.splitlines()[0] for block in blocks_of(mail.text)] == ["High: Certificate Z-77", "Medium: Acme"]


def test_an_end_is_said_of_a_suspended_certificate_of_those_alone_who_have_it_suspended() -> None:
    suspended = replace(ENDS, standing="Suspended")
    blocks = blocks_of(
        mail_about(
            *(of_device(watch, ENDS) for watch in (2, 3)), *(of_device(watch, suspended) for watch in (4, 5))
        ).text
    )

    assert sorted((re.findall("About (.+)", block), "suspended" in block) for block in blocks) == [
        (["2 watches: Device 2, Device 3"], False),
        (["2 watches: Device 4, Device 5"], True),
    ]


def test_a_new_certificate_is_said_to_be_withdrawn_of_those_alone_who_have_it_withdrawn() -> None:
    new = FieldChange("certificate", "", "Z-77", "Z-77")
    withdrawn = replace(new, standing="Withdrawn")
    alone = mail_about(of_manufacturer(withdrawn), *(of_device(watch, withdrawn) for watch in (2, 3)))
    mail = mail_about(*(of_device(watch, new) for watch in (2, 3)), *(of_device(watch, withdrawn) for watch in (4, 5)))

    assert alone.subject == "High: new certificate Z-77 is withdrawn (3 watches)"
    assert "  New certificate\n    Z-77 (withdrawn)\n" in alone.text
    assert [(block.splitlines()[0], "withdrawn" in block) for block in blocks_of(mail.text)] == [
        ("High: Certificate Z-77", True),
        ("Low: Certificate Z-77", False),
    ]


def test_a_change_is_said_of_no_watch_whose_device_has_the_certificate_otherwise() -> None:
    mail = mail_about(
        *(of_device(watch, SUSPENDED) for watch in (2, 3)), *(of_device(watch, REVISED) for watch in (4, 5))
    )

    about = [
        (re.findall("About (.+)", block), "Suspended" in block, "revision" in block) for block in blocks_of(mail.text)
    ]
    assert about == [
        (["2 watches: Device 2, Device 3"], True, False),
        (["2 watches: Device 4, Device 5"], False, True),
    ]


def test_certificates_of_two_manufacturers_with_one_number_are_two() -> None:
    mail = mail_about(
        of_manufacturer(SUSPENDED),
        of_device(2, SUSPENDED, cause=f"run/{SRN}"),
        of_device(3, SUSPENDED, RENAMED, srn=OTHER_SRN),
        of_device(4, SUSPENDED, RENAMED, srn=OTHER_SRN),
        of_device(5, SUSPENDED, RENAMED, srn=""),
        of_device(6, SUSPENDED, RENAMED, srn=""),
    )

    assert mail.subject == "High: certificate Z-25-052 suspended, 8 changes of 6 watches"
    blocks = [block for block in blocks_of(mail.text) if block.startswith("High")]
    heads = sorted(tuple(block.splitlines()[:3]) for block in blocks)
    assert heads == [
        ("High: Certificate Z-25-052", f"SRN {SRN}", "About 2 watches: Acme, Device 2"),
        ("High: Certificate Z-25-052", f"SRN {OTHER_SRN}", "About 2 watches: Device 3, Device 4"),
        ("High: Device 5", "UDI-DI 00000000000005", ""),
        ("High: Device 6", "UDI-DI 00000000000006", ""),
    ]


def test_two_certificates_of_one_manufacturer_with_one_number_are_two_changes() -> None:
    mail = mail_about(of_manufacturer(SUSPENDED, SUSPENDED), of_device(2, SUSPENDED), of_device(3, SUSPENDED))

    assert mail.subject == "High: certificate Z-25-052 suspended, 2 changes of 3 watches"
    assert [block.splitlines()[0] for block in blocks_of(mail.text)] == ["High: Certificate Z-25-052", "High: Acme"]
    both = [of_device(watch, SUSPENDED, SUSPENDED, cause=f"run 1f/{SRN}") for watch in (2, 3)]
    assert mail_about(*both).subject == "High: certificate Z-25-052 suspended, 2 changes of 2 watches"


def test_a_certificate_that_is_suspended_twice_is_told_twice() -> None:
    back = FieldChange("cert_status", "Suspended", "Reinstated", "Z-25-052")
    again = FieldChange("cert_status", "Reinstated", "Suspended", "Z-25-052")
    days = [SUSPENDED, back, again, back]
    found = [of_device(watch, each, at=AT + day * HOUR) for day, each in enumerate(days) for watch in (2, 3)]
    mail = mail_about(*found)

    assert mail.subject == "High: certificate Z-25-052 suspended, 4 changes of 2 watches"
    [block] = blocks_of(mail.text)
    assert (block.count("after:  Suspended"), block.count("after:  Reinstated")) == (2, 2)
    assert "Seen 15 Jan 2027, 13:00" in block
