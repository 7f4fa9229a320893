"""`registerwatch mail test`, against a real mail server that takes the mail, or refuses it in every way."""

import gc
import socket
import warnings
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.certificates import certificate_for
from tests.support.mailbox import BREAK, mailbox
from tests.support.terminal import Said, Terminal

LOGIN = ("user@example.org", "pä:ss/w@rd")


def sends_test(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, url: str, to: str = "bob@example.org") -> Said:
    monkeypatch.setenv("REGISTERWATCH_SMTP_URL", url)
    monkeypatch.setenv("REGISTERWATCH_MAIL_FROM", "Registerwatch <service@example.org>")
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        said = terminal.types("mail", "test", to)
        gc.collect()  # a command may end before the server has taken leave of an encrypted connection
    assert "Traceback" not in said.err
    assert "w@rd" not in said.out + said.err
    return said


def test_it_tells_what_is_set_and_what_the_server_answered(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 1024)
    pem = tmp_path / "dkim.pem"
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    monkeypatch.setenv("REGISTERWATCH_DKIM_KEY_FILE", str(pem))
    monkeypatch.setenv("REGISTERWATCH_DKIM_SELECTOR", "rw")
    monkeypatch.setenv("REGISTERWATCH_BOUNCE_ADDRESS", "bounces@example.org")
    certificate = certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path)
    with mailbox(starttls=certificate.shown(), login=LOGIN) as box:
        said = sends_test(terminal, monkeypatch, box.address)

    lines = dict(line.split(maxsplit=1) for line in said.out.splitlines()[:-1])
    assert said.code == 0
    assert lines["Server"] == box.address.rpartition("@")[2]
    assert lines["Encryption"].startswith("STARTTLS")
    assert lines["Encrypted"].startswith("TLSv1")
    assert lines["Login"] == f"as {LOGIN[0]}"
    assert lines["Sender"] == "Registerwatch <service@example.org>"
    assert lines["DKIM"] == "rw._domainkey.example.org"
    assert lines["Bounces"] == "bounces@example.org"
    assert lines["Answer"] == "OK"
    [mail] = box.mails
    assert (mail.recipient, mail.encrypted) == ("bob@example.org", True)
    assert mail.subject == "A test of mails from http://localhost:8000"
    assert mail.message["DKIM-Signature"] is not None


def test_without_a_server_it_says_what_to_set(terminal: Terminal) -> None:
    said = terminal.types("mail", "test", "bob@example.org")

    assert said.code == 1
    assert "REGISTERWATCH_SMTP_URL" in said.err
    assert "REGISTERWATCH_MAIL_FROM" in said.err


REFUSALS = {
    "login": ({"AUTH": ["535 5.7.8 no"] * 3}, "refused the login: 535 5.7.8", "user and password"),
    "sender": ({"MAIL": ["550 5.7.1 not you"]}, "says: 5.7.1 not you", "REGISTERWATCH_MAIL_FROM"),
    "recipient": ({"RCPT": ["550 5.7.1 relaying denied\x1b[2J"]}, "relaying denied�[2J", "give it a login"),
    "message": ({"DATA": ["550 5.7.26 unauthenticated"]}, "550 5.7.26", "docs/mail.md"),
    "later": ({"RCPT": ["451 4.7.1 greylisted"]}, "greylisted", "login"),
    "broken off": ({"DATA": [BREAK]}, "closed the connection", "REGISTERWATCH_SMTP_URL"),
}


@pytest.mark.parametrize("step", REFUSALS)
def test_a_refusal_is_told_in_the_servers_words_with_what_to_do(
    step: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies, told, advised = REFUSALS[step]
    with mailbox(replies=replies, login=LOGIN, logins_in_the_clear=True) as box:
        said = sends_test(terminal, monkeypatch, box.address)

    assert said.code == 1
    assert told in said.err
    assert advised in said.err
    assert "\x1b" not in said.err
    assert box.mails == []


def test_a_server_that_is_not_there_or_is_not_trusted_is_told_with_what_to_do(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = sends_test(terminal, monkeypatch, f"smtp://127.0.0.1:{taken.getsockname()[1]}")
    with mailbox(tls=certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path).shown()) as box:
        stranger = sends_test(terminal, monkeypatch, box.address)
    with mailbox() as box:
        plain = sends_test(terminal, monkeypatch, box.address.replace("smtp:", "smtps:"))

    assert "cannot be reached" in nobody.err
    assert "Look at host and port" in nobody.err
    assert "SSL_CERT_FILE" in stranger.err
    assert "smtps:// for a port" in plain.err


@pytest.mark.parametrize("address", ["bob", "bob@example.org\r\nBcc: all@example.org"])
def test_an_address_that_is_none_is_not_sent_to(
    address: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mailbox() as box:
        said = sends_test(terminal, monkeypatch, box.address, address)

    assert said.code == 1
    assert "address is invalid" in said.err
    assert box.commands == []
