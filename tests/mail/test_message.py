"""The bytes of a mail: whatever goes into it, a reader finds the same, and nothing else."""

import email.policy
import string
from email.message import EmailMessage
from email.parser import Parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import MailNotSent
from registerwatch.mail.message import Message, compose, sender_of

HEADERS = {
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "Content-Type",
    "Content-Transfer-Encoding",
    "MIME-Version",
}
LINKS = st.text(string.ascii_letters + string.digits + "-_.~%=&?/", min_size=1, max_size=800)


def read(letter: Message) -> EmailMessage:
    """The mail as a mail program understands it."""
    return Parser(EmailMessage, policy=email.policy.default).parsestr(letter.content.decode())


def a_letter(
    to: str = "bob@example.org",
    subject: str = "Hello",
    text: str = "Hello\n",
    *,
    mail_from: str = "service@example.org",
) -> Message:
    """A letter of which only what matters is given."""
    return compose(to, subject, text, sender=sender_of(mail_from), at=1_900_000_000.0)


@given(st.text(max_size=300))
def test_any_subject_arrives_as_it_is_or_is_refused(subject: str) -> None:
    try:
        message = read(a_letter(subject=subject))
    except MailNotSent:
        assert not subject.isprintable()
        return
    assert set(message.keys()) == HEADERS
    assert " ".join(str(message["Subject"]).split()) == " ".join(subject.split())


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_address_goes_into_the_envelope_as_into_the_header_or_is_refused(local: str, domain: str) -> None:
    try:
        letter = a_letter(f"{local}@{domain}")
    except MailNotSent:
        return
    message = read(letter)
    assert set(message.keys()) == HEADERS
    assert [each.addr_spec for each in message["To"].addresses] == [letter.recipient]


@given(st.text(string.ascii_letters + "!#$%&'*+-/=?^_`{|}~", min_size=1, max_size=64))
def test_every_sign_that_an_address_may_have_gets_through(local: str) -> None:
    letter = a_letter(f"{local}@example.org")

    assert letter.recipient == f"{local}@example.org"
    assert str(read(letter)["To"]) == f"{local}@example.org"


@given(st.text(st.characters(exclude_categories=["C"], exclude_characters="\u2028\u2029"), max_size=300), LINKS)
def test_any_text_arrives_with_its_link_in_one_piece(line: str, link: str) -> None:
    text = f"{line}\nhttps://watch.example.org/{link}\n"

    assert read(a_letter(text=text)).get_content().replace("\r\n", "\n") == text


@given(LINKS)
def test_in_a_plain_text_a_link_is_one_line_even_as_it_is_sent(link: str) -> None:
    sent = a_letter(text=f"Hello\n\nhttps://watch.example.org/{link}\n").content

    assert f"\r\nhttps://watch.example.org/{link}\r\n".encode() in sent


@given(st.text(max_size=2000))
def test_no_line_is_longer_than_every_server_takes(text: str) -> None:
    content = a_letter(text=text).content

    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert content.isascii()


@pytest.mark.parametrize(
    ("mail_from", "shown", "sender"),
    [
        ("service@example.org", "service@example.org", "service@example.org"),
        ("Registerwatch <service@example.org>", "Registerwatch <service@example.org>", "service@example.org"),
        ('"Watch, Inc." <service@example.org>', '"Watch, Inc." <service@example.org>', "service@example.org"),
        ('"Wächter" <service@example.org>', "Wächter <service@example.org>", "service@example.org"),
        ("service@bücher.example", "service@xn--bcher-kva.example", "service@xn--bcher-kva.example"),
        ("<service@mailhost>", "service@mailhost", "service@mailhost"),
    ],
)
def test_the_sender_is_shown_by_its_name_and_named_to_the_server_without_it(
    mail_from: str, shown: str, sender: str
) -> None:
    letter = a_letter(mail_from=mail_from)

    assert str(read(letter)["From"]) == shown
    assert letter.sender == sender
    assert read(letter)["Message-ID"].endswith(f"@{sender.partition('@')[2]}>")


@pytest.mark.parametrize(
    ("to", "mail_from", "needs"),
    [
        ("bob@bücher.example", "service@example.org", False),
        ("bób@example.org", "service@example.org", True),
        ("bob@example.org", "dienst-ä@example.org", True),
    ],
)
def test_only_signs_before_the_at_need_an_international_server(to: str, mail_from: str, needs: bool) -> None:
    letter = a_letter(to, "Grüße", "Grüße\n", mail_from=mail_from)

    assert letter.needs_utf8 is needs
    assert letter.content.isascii() is not needs


def test_a_letter_does_not_show_its_content() -> None:
    assert "Hello" not in repr(a_letter())


def test_a_mail_has_its_text_first_and_the_same_in_html_behind_it() -> None:
    letter = compose(
        "bob@example.org", "Hello", "Grüße\n", sender=sender_of("a@example.org"), at=1.9e9, html="<p>Grüße → 東京</p>"
    )

    text, html = read(letter).iter_parts()
    assert (text.get_content_type(), text.get_content().strip()) == ("text/plain", "Grüße")
    assert (html.get_content_type(), html.get_content().strip()) == ("text/html", "<p>Grüße → 東京</p>")
    assert letter.content.isascii()


def test_a_long_address_in_a_header_stays_in_one_piece() -> None:
    address = f"<https://watch.example.org/mail/unsubscribe/{'x' * 300}>"
    headers = {"List-Unsubscribe": address, "Message-ID": f"<{'y' * 200}@example.org>"}
    letter = compose("bob@example.org", "Hello", "", sender=sender_of("a@example.org"), at=1.9e9, headers=headers)

    assert f"\r\nList-Unsubscribe: {address}\r\n".encode() in letter.content
    assert read(letter)["Message-ID"] == headers["Message-ID"]
    assert len(read(letter).get_all("Message-ID", [])) == 1


@given(st.text(max_size=100))
def test_any_value_of_a_header_arrives_as_it_is_or_is_refused(value: str) -> None:
    sender = sender_of("a@example.org")
    try:
        letter = compose("b@example.org", "Hello", "", sender=sender, at=1.9e9, headers={"List-Id": value})
    except MailNotSent:
        assert not (value.isascii() and value.isprintable())
        return
    assert set(read(letter).keys()) == {*HEADERS, "List-Id"}
    assert f"List-Id: {value}\r\n".encode() in letter.content
