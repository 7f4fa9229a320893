"""A sign-in from elsewhere is mailed to its user, and none from where they usually are."""

import pytest

from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.new_places import is_new_place
from registerwatch.mail.mailer import Mail
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness

DAY = 24 * 3600
HOME, NEXT_DOOR = Client("198.51.100.7", "198.51.100.7"), Client("198.51.9.1", "198.51.9.1")
ELSEWHERE = Client("203.0.113.9", "203.0.113.9")


@pytest.mark.parametrize(
    ("address", "known", "is_new"),
    [
        ("203.0.113.9", ["198.51.100.7"], True),
        ("198.51.9.1", ["198.51.100.7"], False),
        ("203.0.113.9", ["198.51.100.7", "203.0.1.1"], False),
        ("2001:db8:1:2::/64", ["2001:db8:ffff:1::/64"], False),
        ("2001:db9:1:2::/64", ["2001:db8:1:2::/64"], True),
        ("2001:db8:1:2::/64", ["198.51.100.7"], True),
        ("203.0.113.9", [], False),
        ("a socket", ["198.51.100.7"], True),
        ("a socket", ["a socket"], False),
    ],
)
def test_a_place_is_a_network_of_a_provider(address: str, known: list[str], is_new: bool) -> None:
    assert is_new_place(Client(address, address), known) is is_new


def test_what_nobody_knows_is_no_place() -> None:
    assert not is_new_place(UNKNOWN_CLIENT, ["198.51.100.7"])


async def mailed(harness: ServiceHarness) -> list[Mail]:
    """What was mailed since the last time."""
    await harness.finish_background_work()
    mails = list(harness.mail.mails)
    harness.mail.mails.clear()
    return mails


async def test_a_user_is_told_of_a_sign_in_from_elsewhere_once(harness: ServiceHarness) -> None:
    sessions = harness.service.accounts.sessions
    opened = await sessions.trial("Acme", EMAIL, PASSWORD, HOME)
    assert opened.session
    await mailed(harness)
    await sessions.login(EMAIL, PASSWORD, ELSEWHERE)
    assert await mailed(harness) == []  # nobody has proven the address

    link = await harness.service.accounts.password_reset.link(EMAIL)
    await harness.service.accounts.confirmations.keep(link.partition("=")[2], PASSWORD)
    await sessions.login(EMAIL, PASSWORD, NEXT_DOOR)
    await sessions.login(EMAIL, PASSWORD, ELSEWHERE)
    assert await mailed(harness) == []

    session = (await sessions.login(EMAIL, PASSWORD, Client("192.0.2.1", "192.0.2.1"))).session
    [mail] = await mailed(harness)
    assert (mail.to, mail.subject) == (EMAIL, "A sign-in from a new place at http://localhost:8000")
    assert f"{EMAIL} signed in from 192.0.2.1." in mail.text
    assert "15 Jan 2027, 08:00 UTC: " in mail.text
    assert "http://localhost:8000/password/forgot\n" in mail.text
    assert session not in mail.text
    assert all(len(line) < 78 for line in mail.text.splitlines())
    await sessions.login(EMAIL, PASSWORD, Client("192.0.2.1", "192.0.2.1"))
    assert await mailed(harness) == []


async def test_mails_of_sign_ins_are_limited_by_the_day_and_old_places_are_forgotten(harness: ServiceHarness) -> None:
    sessions = harness.service.accounts.sessions
    await sessions.trial("Acme", EMAIL, PASSWORD, HOME)
    link = await harness.service.accounts.password_reset.link(EMAIL)
    await harness.service.accounts.confirmations.keep(link.partition("=")[2], PASSWORD)
    await mailed(harness)
    for number in range(12):
        await sessions.login(EMAIL, PASSWORD, Client(f"10.{number}.0.1", f"10.{number}.0.1"))
    assert len(await mailed(harness)) == 10

    harness.clock.move(89 * DAY)
    await sessions.login(EMAIL, PASSWORD, ELSEWHERE)
    assert len(await mailed(harness)) == 1
    harness.clock.move(91 * DAY)
    await sessions.login(EMAIL, PASSWORD, HOME)
    assert await mailed(harness) == []  # none is known any more: everything would be new
