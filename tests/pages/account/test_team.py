"""The team in the browser: inviting, roles, removing; what members see; a service without mail."""

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.mail.mailer import NoMailer
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, PASSWORD, NewAccount, ServiceHarness, ServiceStarter

GUEST, GUEST_PASSWORD = "guest@other.example", "another long phrase"
SURE = {"sure": "yes"}


async def joined(harness: ServiceHarness, pages: PagesClient) -> None:
    """The guest accepts the invitation that was mailed last."""
    await harness.finish_background_work()
    token = harness.mail.mails[-1].text.partition("token=")[2].split()[0]
    answer = await pages.post("/account/invitation", token=token, password=GUEST_PASSWORD)
    assert answer.status_code == 200


async def confirm(harness: ServiceHarness) -> None:
    await harness.prove_address(NewAccount(EMAIL, STRONG_PASSWORD, "", "", {}))


async def test_somebody_is_invited_joins_becomes_an_owner_and_is_removed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    early = await owner_pages.page("/app/team")
    assert "Confirm your own e-mail address" in early.main
    assert early.all("form", action="/app/team/invitations") == []
    await confirm(harness)

    page = await owner_pages.page("/app/team")
    assert accessibility_problems(page) == []
    assert "Members may add, change and remove watches, import lists, sync, and archive events." in page.main
    assert "There is no role that only looks yet." in page.main
    bad = await owner_pages.post("/app/team/invitations", email="no <b>address")
    assert bad.status_code == 400
    assert Markup.of(bad).one("input", id="email")["value"] == "no <b>address"
    invited = await owner_pages.follow(await owner_pages.post("/app/team/invitations", email=GUEST))
    assert "on its way" in invited.main
    assert invited.rows[1][:3] == [GUEST, EMAIL, "22 Jan 2027, 08:00"]
    assert accessibility_problems(invited) == []

    await owner_pages.follow(await owner_pages.post("/app/team/invitations/withdraw", email=GUEST))
    assert len((await owner_pages.page("/app/team")).rows) == 1
    assert (await owner_pages.post("/app/team/invitations/withdraw", email=GUEST)).status_code == 400
    await owner_pages.post("/app/team/invitations", email=GUEST)
    await joined(harness, owner_pages)

    page = await owner_pages.page("/app/team")
    assert [row[:3] for row in page.rows] == [[f"{EMAIL} you", "Owner", "Off"], [GUEST, "Member", "Off"]]
    person = await owner_pages.page(page.all("a", href="/app/team/2")[0]["href"])
    assert accessibility_problems(person) == []
    assert person.facts["Last sign-in"] == "not known"
    changed = await owner_pages.follow(await owner_pages.post("/app/team/2/role", role="owner"))
    assert changed.rows[1][1] == "Owner"
    await owner_pages.follow(await owner_pages.post("/app/team/2/role", role="member"))

    assert "The last owner" in Markup.of(await owner_pages.post("/app/team/1/role", role="member")).main
    assert "The last owner" in Markup.of(await owner_pages.post("/app/team/1/remove", **SURE)).main
    assert (await owner_pages.post("/app/team/2/role", role="emperor")).status_code == 400
    removed = await owner_pages.follow(await owner_pages.post("/app/team/2/remove", **SURE))
    assert "They are removed" in removed.main
    assert len(removed.rows) == 1
    assert (await owner_pages.get("/app/team/2")).status_code == 404
    assert (await owner_pages.post("/app/team/2/remove", **SURE)).status_code == 404


async def test_members_see_the_list_without_controls(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await confirm(harness)
    await owner_pages.post("/app/team/invitations", email=GUEST)
    await joined(harness, owner_pages)
    await owner_pages.post("/app/team/invitations", email="third@other.example")
    await owner_pages.sign_in(GUEST, GUEST_PASSWORD)

    page = await owner_pages.page("/app/team")

    assert page.rows == [[EMAIL, "Owner"], [f"{GUEST} you", "Member"]]
    assert "third@other.example" not in page.main
    assert [form["action"] for form in page.all("form")] == ["/", "/logout"]
    for path in ("/app/team/1", "/app/team/2"):
        assert (await owner_pages.get(path)).status_code == 403
    for path in ("invitations", "invitations/withdraw", "users", "2/role", "1/remove"):
        assert (await owner_pages.post(f"/app/team/{path}", email=GUEST, role="owner")).status_code == 403


async def test_without_mail_a_member_is_added_with_a_password(
    start_service: ServiceStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_service() as harness:
        monkeypatch.setattr(harness.service.accounts.invitations, "_mailer", NoMailer())
        pages = PagesClient(harness)
        await pages.sign_up()
        page = await pages.page("/app/team")
        assert "This service sends no mail" in page.main
        assert accessibility_problems(page) == []

        weak = await pages.post("/app/team/users", email=GUEST, password="password1")
        assert weak.status_code == 400
        assert Markup.of(weak).one("input", id="email")["value"] == GUEST
        added = await pages.follow(await pages.post("/app/team/users", email=GUEST, password=GUEST_PASSWORD))

        assert "Tell them the password" in added.main
        assert "address not confirmed" in added.rows[1][0]
        assert await harness.sign_in(GUEST, GUEST_PASSWORD)


async def test_where_the_operator_alone_adds_people_it_says_so(start_service: ServiceStarter) -> None:
    async with start_service(signup="off", contact="it@hospital.example") as harness:
        created = await harness.service.accounts.admin.create(EMAIL, "Acme", PlanName.TRIAL, None)
        await harness.post("/v1/password/reset", token=created.link.rpartition("=")[2], password=PASSWORD)
        pages = PagesClient(harness)
        await pages.sign_in()

        page = await pages.page("/app/team")

        assert "Ask them: it@hospital.example" in page.main
        assert (await pages.post("/app/team/users", email=GUEST, password=GUEST_PASSWORD)).status_code == 400
