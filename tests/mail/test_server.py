"""Reading a mail server's URL, and by which name the service says hello."""

import pytest

from registerwatch.mail.server import NO_NAME, Encryption, SmtpServer, name_in, server_of


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", SmtpServer("mail.example.org", 587, Encryption.WHEN_OFFERED)),
        ("smtp://mail.example.org:25/", SmtpServer("mail.example.org", 25, Encryption.WHEN_OFFERED)),
        ("smtp://u:p@mail.example.org", SmtpServer("mail.example.org", 587, Encryption.DEMANDED, "u", "p")),
        ("smtps://u:p@mail.example.org", SmtpServer("mail.example.org", 465, Encryption.FROM_THE_START, "u", "p")),
        ("smtps://localhost:2465", SmtpServer("localhost", 2465, Encryption.FROM_THE_START)),
        ("smtp://u:p@localhost:25", SmtpServer("localhost", 25, Encryption.LOCAL, "u", "p")),
        ("smtp://127.8.9.10", SmtpServer("127.8.9.10", 587, Encryption.LOCAL)),
        ("smtp://[::1]:25", SmtpServer("::1", 25, Encryption.LOCAL)),
        ("smtp://10.0.0.1", SmtpServer("10.0.0.1", 587, Encryption.WHEN_OFFERED)),
        ("smtp://u:p@10.0.0.1", SmtpServer("10.0.0.1", 587, Encryption.DEMANDED, "u", "p")),
        ("smtp://u:p@localhost.example.org", SmtpServer("localhost.example.org", 587, Encryption.DEMANDED, "u", "p")),
        ("smtp://a%40b.org:p%3A%2F%23%25%C3%A4@h", SmtpServer("h", 587, Encryption.DEMANDED, "a@b.org", "p:/#%ä")),
    ],
)
def test_a_url_says_where_mails_go_and_how_the_way_is_encrypted(url: str, server: SmtpServer) -> None:
    assert server_of(url) == server


def test_a_server_does_not_show_its_password() -> None:
    assert "hunter2" not in repr(server_of("smtp://user:hunter2@mail.example.org"))


@pytest.mark.parametrize(
    ("public_url", "name"),
    [
        ("https://watch.example.org", "watch.example.org"),
        ("https://Watch.Example.org:8443/under", "watch.example.org"),
        ("http://localhost:8000", NO_NAME),
        ("http://192.0.2.7:8000", NO_NAME),
        ("http://[2001:db8::1]", NO_NAME),
        ("https://bücher.example", NO_NAME),
        ("https://", NO_NAME),
    ],
)
def test_the_service_says_hello_by_its_public_name_if_it_has_one(public_url: str, name: str) -> None:
    assert name_in(public_url) == name
