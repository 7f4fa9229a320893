"""Events and targets for tests of mails, of which a test says only what matters."""

from collections.abc import Sequence

import msgspec

from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.notifications.channels.email import EmailChannel, MailBody
from registerwatch.notifications.choices import EVERYTHING, Choice
from registerwatch.notifications.models import EventType, Notification, Target
from registerwatch.platform.clock import day_of
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_rules import classified
from registerwatch.watches.models import Event
from tests.support.fakes import SteppedClock

AT = 1_800_000_000
"""2027-01-15, 08:00 UTC."""
SUSPENDED = FieldChange("cert_status", "Issued", "Suspended", certificate="Z-25-052")
RENAMED = FieldChange("trade_name", "Zolid", "Zolid HT+")
INACTIVE = FieldChange("manufacturer_status", "Active", "Inactive")
PUBLIC_URL = "https://watch.example.org"


def an_event(
    *changes: FieldChange,
    watch: int = 12,
    subject: str = "04012345678901",
    label: str = "Ceramill Zolid",
    cause: str | None = None,
    srn: str = "",
    at: int = AT,
) -> Event:
    kind, severity = classified(changes, day_of(at))
    about = at * 10_000 + watch, watch, subject, label, at, "a summary", changes, kind, severity
    return Event(*about, cause, at - 60, srn)


def a_target(choice: Choice = EVERYTHING, *, email: str | None = "bob@example.org", is_proven: bool = True) -> Target:
    return Target(
        7,
        3,
        "email",
        "",
        "a secret",
        None,
        None,
        False,
        0,
        None,
        None,
        None,
        choice=choice,
        time_zone="Europe/Athens",
        user_id=1,
        user_email=email,
        is_proven=is_proven,
    )


def a_channel(mailer: MemoryMailer | None = None, public_url: str = PUBLIC_URL, *, now: int = AT) -> EmailChannel:
    return EmailChannel(mailer or MemoryMailer(), SteppedClock(now), public_url=public_url)


def rendered(channel: EmailChannel, events: Sequence[Event], target: Target) -> str:
    notification = Notification("whd_abc", EventType.CHANGED, AT, "account@example.org")
    return channel.render(target, notification, [channel.render_event(event) for event in events])


def mail_about(*events: Event, choice: Choice = EVERYTHING, public_url: str = PUBLIC_URL, now: int = AT) -> MailBody:
    """The mail that is put together `now`."""
    channel = a_channel(public_url=public_url, now=now)
    return msgspec.json.decode(rendered(channel, events, a_target(choice)), type=MailBody)
