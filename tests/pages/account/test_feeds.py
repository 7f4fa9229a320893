"""Feeds in the browser: the addresses are shown once, work at once, and stop when the feed is ended."""

from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import ServiceHarness


async def test_a_feed_is_made_once_shown_once_and_ended(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    empty = await owner_pages.page("/app/feeds")
    assert "No feed yet" in empty.main
    assert accessibility_problems(empty) == []
    token = empty.one("input", name="form")["value"]

    answer = await owner_pages.post("/app/feeds", form=token)

    made = Markup.of(answer)
    assert accessibility_problems(made) == []
    assert answer.headers["cache-control"] == "no-store"
    assert "In Outlook: “Add calendar”" in made.main
    assert "&severity=high" in made.all("details")[-1].text
    addresses = [made.one("code", id=each).text for each in ("atom", "calendar")]
    for address in addresses:
        path = address.removeprefix(harness.service.settings.public_url)
        assert (await harness.client.get(path)).status_code == 200
    again = await owner_pages.post("/app/feeds", form=token)
    assert (again.status_code, "was sent before" in again.text) == (409, True)
    page = await owner_pages.page("/app/feeds")
    assert len(page.rows) == 1
    assert "ft_" not in page.main.replace(page.rows[0][0], "")

    question = await owner_pages.page("/app/feeds/1/end")
    assert page.rows[0][0] in question.main
    ended = await owner_pages.follow(await owner_pages.post("/app/feeds/1/end", sure="yes"))
    assert "The feed is ended" in ended.main
    assert (await harness.client.get(path)).status_code == 401
    assert (await owner_pages.get("/app/feeds/1/end")).status_code == 404


async def test_members_see_which_feeds_there_are(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await owner_pages.post("/app/feeds", form="a token")
    await harness.post(
        "/v1/users", await owner_pages.rest_session(), email="member@acme.example", password="another long phrase"
    )
    await owner_pages.sign_in("member@acme.example", "another long phrase")

    page = await owner_pages.page("/app/feeds")

    assert len(page.rows) == 1
    assert page.all("form", action="/app/feeds") == []
    assert (await owner_pages.post("/app/feeds", form="another")).status_code == 403
    assert (await owner_pages.get("/app/feeds/1/end")).status_code == 403
    assert (await owner_pages.post("/app/feeds/1/end", sure="yes")).status_code == 403
