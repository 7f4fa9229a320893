"""Mails about changes: who gets them, what they say and do not say, how many there are."""

import re

import pytest
from structlog.testing import capture_logs

from registerwatch.accounts.models import Role
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mail
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness, auth_headers

MEMBER = "member@acme.example"
URL = "https://hooks.acme.example/a-secret-path?key=secret"
SECRET = re.compile(r"(?:rw|us|ft)_[\w-]{20,}|whsec_[\w+/-]{20,}|secret-path|key=")
DAY = 24 * 3600


async def proven_owner(harness: ServiceHarness) -> NewAccount:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    return owner


async def told(harness: ServiceHarness) -> list[tuple[str, str]]:
    """To whom mails went since the last time, and what they are about."""
    await harness.finish_background_work()
    mails = [(mail.to, mail.subject.rpartition(": ")[2]) for mail in harness.mail.mails]
    assert not [mail for mail in harness.mail.mails if SECRET.search(mail.subject + mail.text)]
    harness.mail.mails.clear()
    return mails


async def test_an_owner_is_told_of_each_change_without_secrets(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    added = (await harness.post("/v1/users", owner.api_key, email=MEMBER, password=PASSWORD)).json()
    assert (EMAIL, "users") in await told(harness)
    await harness.post("/v1/keys", owner.session, label="ERP")
    assert await told(harness) == [(EMAIL, "keys")]
    for path, fields in (
        ("/v1/webhook", {"url": URL}),
        ("/v1/webhooks", {"url": URL + "1"}),
        ("/v1/webhook", {"url": URL + "2"}),
        ("/v1/webhook", {"url": ""}),
    ):
        answer = await harness.post(path, owner.session, **fields)
        assert answer.status_code == 200
        assert await told(harness) == [(EMAIL, "webhooks")], (path, fields)
    [webhook] = (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).json()["webhooks"]
    await harness.post(f"/v1/webhooks/{webhook['id']}/rotate", owner.session)
    assert await told(harness) == [(EMAIL, "webhooks")]
    feed = (await harness.post("/v1/feeds", owner.session)).json()["feed"]["id"]
    assert await told(harness) == [(EMAIL, "feeds")]
    for path, about in (
        (f"/v1/webhooks/{webhook['id']}", "webhooks"),
        (f"/v1/feeds/{feed}", "feeds"),
        (f"/v1/keys/{added['keys'][0]['id']}", "keys"),
        (f"/v1/users/{added['users'][1]['id']}", "users"),
    ):
        for expected in ([(EMAIL, about)], []):
            await harness.client.delete(path, headers=auth_headers(owner.session))
            assert await told(harness) == expected, path


async def test_a_change_that_changes_nothing_is_not_told(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    await harness.post("/v1/webhook", owner.session, url="")
    await harness.post("/v1/webhook", owner.session, url=URL)
    await told(harness)

    await harness.post("/v1/webhook", owner.session, url=URL)
    await harness.post("/v1/webhook", owner.session, url="https://localhost/")
    await harness.post("/v1/users", owner.session, email=EMAIL, password=PASSWORD)

    assert await told(harness) == []


async def test_a_password_that_a_key_set_is_told_to_its_owner(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)

    await harness.post("/v1/password", owner.api_key, password="another one")

    await harness.finish_background_work()
    [mail] = harness.mail.mails
    assert (mail.to, mail.subject) == (EMAIL, "Changed in your account at http://localhost:8000: password")
    who = owner.answer["keys"][0]["prefix"]
    assert f"{who} set the password of {EMAIL} without the one before it; for 24 hours" in mail.text
    assert "http://localhost:8000/password/forgot\n" in mail.text
    assert "http://localhost:8000/app/audit\n" in mail.text
    assert "15 Jan 2027, 08:00 UTC: " in mail.text


async def test_a_member_is_told_of_their_own_password_and_the_owner_too(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)
    link = await harness.service.accounts.password_reset.link(MEMBER)
    await told(harness)
    await harness.post("/v1/password/reset", token=link.partition("=")[2], password="a member's own")

    assert await told(harness) == [(EMAIL, "password"), (MEMBER, "password")]


async def another_owner(harness: ServiceHarness, owner: NewAccount) -> int:
    """Another owner with a proven address; their id."""
    added = (await harness.post("/v1/users", owner.session, email=MEMBER, password=PASSWORD)).json()["users"][1]["id"]
    link = await harness.service.accounts.password_reset.link(MEMBER)
    await harness.post("/v1/password/reset", token=link.partition("=")[2], password="a member's own")
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    await harness.service.accounts.members.set_role(caller, added, Role.OWNER)
    await told(harness)
    return int(added)


async def test_an_owner_is_told_who_accepted_an_invitation(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    invitations = harness.service.accounts.invitations
    await invitations.invite(
        await harness.service.accounts.sessions.caller(credential_of(None, owner.session)), "guest@acme.example"
    )
    await harness.finish_background_work()
    [mail] = harness.mail.mails
    harness.mail.mails.clear()

    await invitations.accept(mail.text.partition("token=")[2].split()[0], "a guest's own phrase")

    await harness.finish_background_work()
    assert f"guest@acme.example joined the account, invited by {EMAIL}" in harness.mail.mails[0].text
    assert await told(harness) == [(EMAIL, "users")]


async def test_an_owner_who_is_removed_is_told(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    other = await another_owner(harness, owner)

    await harness.client.delete(f"/v1/users/{other}", headers=auth_headers(owner.session))

    assert await told(harness) == [(EMAIL, "users"), (MEMBER, "users")]


async def test_an_owner_whom_a_reset_of_another_one_removes_is_told(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    await another_owner(harness, owner)
    token = (await harness.service.accounts.password_reset.link(EMAIL)).partition("=")[2]

    await harness.client.post("/password/reset", data={"token": token, "password": "another phrase", "end": "all"})

    assert await told(harness) == [(MEMBER, "users"), (EMAIL, "password")]


async def test_an_address_that_nobody_has_proven_is_told_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await told(harness)

    await harness.post("/v1/keys", owner.session)
    await harness.post("/v1/webhook", owner.session, url=URL)

    assert await told(harness) == []


async def test_many_changes_of_one_kind_hide_none_of_another(harness: ServiceHarness) -> None:
    owner = await proven_owner(harness)
    for number in range(15):
        await harness.post("/v1/webhook", owner.api_key, url=f"{URL}{number}")
    assert await told(harness) == [(EMAIL, "webhooks")] * 10
    await harness.post("/v1/password", owner.api_key, password="another one")
    assert await told(harness) == [(EMAIL, "password")]

    harness.clock.move(DAY)
    await harness.post("/v1/webhook", owner.api_key, url=URL)
    assert await told(harness) == [(EMAIL, "webhooks")]


async def test_a_mail_that_cannot_be_sent_fails_nothing_and_is_logged_without_addresses(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_mail: Mail) -> None:
        raise MailNotSent("The mail server said 451.")

    owner = await proven_owner(harness)
    monkeypatch.setattr(harness.mail, "send", refuse)
    with capture_logs() as logged:
        answer = await harness.post("/v1/keys", owner.session)
        await harness.finish_background_work()

    assert answer.status_code == 200
    assert [(each["event"], each["reason"]) for each in logged] == [
        ("no notice was mailed", "The mail server said 451.")
    ]
