"""Feeds over REST, read by the parsers that people's readers and calendars are made of."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import text

from registerwatch_standins.register.generated import GeneratedWorld
from tests.notifications.feeds.feed_reader import days_of, feed_of
from tests.support.harness import ERROR_FIELDS, ServiceHarness, ServiceStarter, auth_headers

ODD_NAME = "Scan & <b>ner</b>, 3; “Ω”\nzwei"


async def _watching(harness: ServiceHarness, key: str) -> str:
    """The UDI-DI of a device that is watched."""
    udi = harness.world.newest(0, 1)[0].primary_di
    assert (await harness.post("/v1/watches", key, subject=udi)).status_code == 200
    return udi


async def _changed(harness: ServiceHarness, key: str, udi: str, reference: str) -> None:
    """A change of the device that a sync has seen."""
    harness.world.change(harness.world.by_primary_di(udi)[0].uuid, reference=reference)
    assert (await harness.post("/v1/sync", key)).json()["events"]


async def _feed(harness: ServiceHarness, credential: str) -> dict[str, Any]:
    answer = await harness.post("/v1/feeds", credential)
    assert answer.status_code == 200
    feed: dict[str, Any] = answer.json()["feed"]
    return feed


def _token(feed: dict[str, Any]) -> str:
    return str(feed["events"]).partition("token=")[2]


async def test_a_reader_sees_every_change_once_newest_first(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        key = (await harness.sign_up()).api_key
        udi = await _watching(harness, key)
        for reference in ("REF & <1>", ODD_NAME):
            await _changed(harness, key, udi, reference)
        answer = await harness.get("/v1/events.atom", token=_token(await _feed(harness, key)))

    read = feed_of(answer.content)
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert read.problem is None
    assert read.version == "atom10"
    assert len(read.entries) == 2
    assert len({entry.id for entry in read.entries} | {read.id}) == 3
    assert "REF & <1>" in read.entries[1].text
    assert read.entries[0].text.startswith(udi)
    assert all(entry.terms == ["record", "low"] for entry in read.entries)
    assert all(entry.is_dated and entry.link.endswith(f"/d/{udi}") for entry in read.entries)


async def test_an_empty_feed_is_a_feed(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        key = (await harness.sign_up()).api_key
        answer = await harness.get("/v1/events.atom", token=_token(await _feed(harness, key)))
    read = feed_of(answer.content)
    assert read.problem is None
    assert read.is_dated
    assert read.entries == []


async def test_a_calendar_has_a_day_for_each_certificate_that_ends_soon(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        key = (await harness.sign_up()).api_key
        udi = await _watching(harness, key)
        ends = datetime.fromtimestamp(harness.clock.now(), UTC).date() + timedelta(days=20)
        async with harness.database.transaction() as connection:
            await connection.execute(
                text("UPDATE watches SET label = :label, snapshot = :snapshot"),
                {"label": ODD_NAME, "snapshot": f'{{"certs":[["Z-1,2;3","","{ends}"]]}}'},
            )
        token = _token(await _feed(harness, key))
        answer = await harness.get("/v1/expiring.ics", token=token)
        again = await harness.get("/v1/expiring.ics", token=token)

    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    [day] = days_of(answer.content)
    assert type(day.starts) is date
    assert day.starts == ends
    assert "Z-1,2;3" in day.summary
    assert udi in day.description
    assert [day.uid] == [each.uid for each in days_of(again.content)]
    assert b"\r\n" in answer.content


async def test_a_token_shows_its_own_account_and_ends_at_once(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        first, second = await harness.sign_up(), await harness.sign_up("other@other.example")
        udi = await _watching(harness, first.api_key)
        await _changed(harness, first.api_key, udi, "REF-1")
        feed, strange = await _feed(harness, first.api_key), await _feed(harness, second.session)

        assert feed_of((await harness.get("/v1/events.atom", token=_token(strange))).content).entries == []
        ended = await harness.client.delete(f"/v1/feeds/{feed['id']}", headers=auth_headers(second.api_key))
        assert ended.json() == {"ok": True}
        assert (await harness.get("/v1/events.atom", token=_token(feed))).status_code == 200

        await harness.client.delete(f"/v1/feeds/{feed['id']}", headers=auth_headers(first.session))
        trail = (await harness.client.get("/v1/audit", headers=auth_headers(first.session))).json()["entries"]
        assert [entry["action"] for entry in trail[:2]] == ["feed ended", "feed made"]
        for path in ("/v1/events.atom", "/v1/expiring.ics"):
            refused = await harness.get(path, token=_token(feed))
            assert refused.status_code == 401
            assert set(refused.json()) == ERROR_FIELDS
        assert (await harness.get("/v1/events.atom", token="")).status_code == 401
        assert (await harness.get("/v1/events.atom")).status_code == 400


async def test_a_feed_works_after_the_period_has_ended_and_its_token_is_told_once(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        owner = await harness.sign_up()
        feed = await _feed(harness, owner.api_key)
        harness.clock.move(8 * 24 * 3600)
        listed = (await harness.client.get("/v1/feeds", headers=auth_headers(owner.api_key))).json()["feeds"]
        assert (await harness.get("/v1/events.atom", token=_token(feed))).status_code == 200

    assert [set(each) for each in listed] == [{"id", "prefix", "created_at"}]
    assert listed[0]["prefix"] == f"{_token(feed)[:5]}…{_token(feed)[-4:]}"


async def test_an_account_has_at_most_ten_feeds(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(60, seed=3)) as harness:
        key = (await harness.sign_up()).api_key
        for _ in range(10):
            await _feed(harness, key)
        assert (await harness.post("/v1/feeds", key)).status_code == 409
