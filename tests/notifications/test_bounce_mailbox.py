"""Reading a mailbox over TLS: what is unread counts once, and a broken server breaks nothing."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from registerwatch.errors import MailboxUnreadable
from registerwatch.notifications.bounces.bounce_mailbox import BounceReader, folder_of
from registerwatch.notifications.bounces.bounce_report import MAX_REPORT_BYTES, BounceReport
from tests.notifications.bounce_messages import GONE, report
from tests.support.certificates import Certificate, certificate_for
from tests.support.imap_server import BREAK, FLOOD, PASSWORD, REFUSAL, SILENCE, USER, ImapServer, imap_server

TOKEN = "aaaaaaahmfzwk43fon2gk3tboruw63tb"
TO = f"bounces+{TOKEN}@example.org"


class Applied:
    """Keeps what was applied."""

    def __init__(self) -> None:
        self.reports: list[BounceReport | None] = []

    async def apply(self, report: BounceReport | None) -> None:
        self.reports.append(report)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server(certificate: Certificate) -> Iterator[ImapServer]:
    with imap_server(certificate.shown()) as server:
        yield server


@pytest.fixture
def applied() -> Applied:
    return Applied()


def url_of(server: ImapServer, password: str = PASSWORD) -> str:
    return f"imaps://{quote(USER, safe='')}:{quote(password, safe='')}@127.0.0.1:{server.port}"


@pytest.fixture
def reader(server: ImapServer, certificate: Certificate, applied: Applied) -> BounceReader:
    return BounceReader(folder_of(url_of(server)), applied, tls=certificate.trusted(), run_seconds=20)


async def test_unread_messages_are_read_once_and_marked(
    server: ImapServer, reader: BounceReader, applied: Applied
) -> None:
    server.messages = {7: report(TO, GONE), 9: b"Subject: hello\r\n\r\nhello", 12: b"x" * (2 * MAX_REPORT_BYTES)}
    server.seen = {7}
    assert await reader.run() == 2
    assert applied.reports == [None, None]

    server.messages[20] = report(TO, GONE)
    assert await reader.run() == 1
    assert [each.token for each in applied.reports[2:] if each] == [TOKEN]
    assert server.seen == {7, 9, 12, 20}
    assert await reader.run() == 0


async def test_many_messages_are_read_a_hundred_at_a_time(
    server: ImapServer, reader: BounceReader, applied: Applied
) -> None:
    server.messages = dict.fromkeys(range(1, 20_151), b"\r\n")
    server.seen = set(range(1, 20_001))

    assert [await reader.run() for _ in range(3)] == [100, 50, 0]
    assert server.commands.count("UID SEARCH") == 9


@pytest.mark.parametrize("command", ["CAPABILITY", "AUTHENTICATE", "SELECT", "UID SEARCH", "UID FETCH", "UID STORE"])
@pytest.mark.parametrize("fault", [BREAK, REFUSAL])
async def test_what_a_broken_server_did_not_give_is_read_when_it_works(
    command: str, fault: str, server: ImapServer, reader: BounceReader, applied: Applied
) -> None:
    server.messages = {1: report(TO, GONE)}
    server.faults = {command: fault}
    with pytest.raises(MailboxUnreadable, match="cannot be read") as told:
        await reader.run()
    assert "ss" + '"w' not in str(told.value)
    assert server.seen == set()

    server.faults = {}
    assert await reader.run() == 1
    assert applied.reports[-1] is not None


async def test_a_server_that_says_nothing_or_too_much_is_left(
    server: ImapServer, certificate: Certificate, applied: Applied
) -> None:
    server.messages = {1: report(TO, GONE)}
    reader = BounceReader(folder_of(url_of(server)), applied, tls=certificate.trusted(), run_seconds=0.3)
    server.faults = {"UID FETCH": SILENCE}
    with pytest.raises(MailboxUnreadable, match="in time"):
        await reader.run()
    server.faults = {"UID FETCH": FLOOD}
    with pytest.raises(MailboxUnreadable, match="more than it was asked for"):
        await BounceReader(folder_of(url_of(server)), applied, tls=certificate.trusted()).run()
    assert applied.reports == []


async def test_only_a_trusted_server_is_told_the_password(server: ImapServer, applied: Applied) -> None:
    with pytest.raises(MailboxUnreadable, match="certificate verify failed"):
        await BounceReader(folder_of(url_of(server)), applied).run()
    assert server.commands == []


async def test_a_server_without_plain_authentication_gets_a_login(
    server: ImapServer, certificate: Certificate, applied: Applied
) -> None:
    server.plain_login = True
    right, wrong = (folder_of(url_of(server, password)) for password in ('simple "pass', "wrong"))

    assert await BounceReader(right, applied, tls=certificate.trusted()).run() == 0
    with pytest.raises(MailboxUnreadable, match="refused the login"):
        await BounceReader(wrong, applied, tls=certificate.trusted()).run()
