"""What every mailer does, the one that speaks SMTP and the one that keeps mails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mail, Mailer, mailer_of
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.mail.texts import password_reset
from registerwatch.settings import Settings
from tests.support.fakes import SteppedClock
from tests.support.mailbox import mailbox


@dataclass(frozen=True, slots=True)
class Post:
    """A mailer and what arrives from it: to, subject, text."""

    mailer: Mailer
    arrived: Callable[[], list[tuple[str, str, str]]]


@pytest.fixture(params=["smtp", "kept"])
def post(request: pytest.FixtureRequest) -> Iterator[Post]:
    if request.param == "kept":
        kept = MemoryMailer()
        yield Post(kept, lambda: [(mail.to, mail.subject, mail.text) for mail in kept.mails])
        return
    with mailbox() as box:
        mailer = mailer_of(Settings(smtp_url=box.address, mail_from="service@example.org"), SteppedClock())
        yield Post(mailer, lambda: [(mail.to, mail.subject, mail.text) for mail in box.mails])


@pytest.mark.parametrize(
    ("to", "subject", "text"),
    [
        ("bob@example.org", "Hello", "One line.\n"),
        ("o'brien+watch@mail.example.org", "Grüße – 日本", "Grüße\n\n日本\n"),
        ("bób@example.org", "Hello", "One line.\n"),
        ("a" * 60 + "@" + "b" * 60 + ".example.org", "A subject that goes on " * 12 + "and on", "x" * 900 + "\n"),
        ("bob@example.org", "Points", ".\n..\n.hidden\nFrom here\n\n"),
        ("bob@example.org", "Longer than a line may be", "x" * 3000 + "\n"),
        ("bob@example.org", "Longer and beyond ASCII", "ü" * 3000 + "\n"),
    ],
    ids=[
        "plain",
        "international text",
        "international address",
        "long",
        "points",
        "too long",
        "too long and international",
    ],
)
async def test_what_is_sent_arrives_with_the_same_address_subject_and_text(
    post: Post, to: str, subject: str, text: str
) -> None:
    await post.mailer.send(Mail(to, subject, text))

    assert post.arrived() == [(to, subject, text)]


async def test_mails_arrive_one_by_one_in_the_order_of_sending(post: Post) -> None:
    for number in range(3):
        await post.mailer.send(Mail(f"user{number}@example.org", f"Mail {number}", "Hello\n"))

    assert [to for to, _, _ in post.arrived()] == ["user0@example.org", "user1@example.org", "user2@example.org"]


async def test_a_reset_mail_arrives_with_its_link_on_a_line_of_its_own(post: Post) -> None:
    link = "https://watch.example.org/password/reset?token=" + "Aa1-_" * 30

    await post.mailer.send(password_reset("bob@example.org", link, "Registerwatch", 60))

    ((_, _, text),) = post.arrived()
    assert link in text.splitlines()


BREAKS = ["\r\n", "\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00"]


@pytest.mark.parametrize("at_end", [False, True], ids=["within", "at the end"])
@pytest.mark.parametrize("sign", BREAKS, ids=ascii)
@pytest.mark.parametrize("field", ["to", "subject"])
async def test_a_line_break_in_a_header_is_refused_and_nothing_arrives(
    post: Post, field: str, sign: str, at_end: bool
) -> None:
    smuggled = sign if at_end else f"{sign}Bcc: everybody@example.org"
    to, subject = "bob@example.org", "Hello"
    bad = Mail(to + smuggled, subject, "Hello\n") if field == "to" else Mail(to, subject + smuggled, "Hello\n")

    with pytest.raises(MailNotSent):
        await post.mailer.send(bad)

    assert post.arrived() == []


async def test_a_mail_that_is_kept_is_told_to_the_listener() -> None:
    told: list[Mail] = []
    mail = Mail("bob@example.org", "Hello", "Hello\n")

    await MemoryMailer(told.append).send(mail)

    assert told == [mail]


def test_a_mail_does_not_show_its_text_which_may_be_a_secret() -> None:
    assert "token" not in repr(password_reset("bob@example.org", "https://x.org/?token=1", "Registerwatch", 60))
