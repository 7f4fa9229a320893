"""A calendar of many certificates holds nobody up."""

from datetime import date, timedelta
from functools import partial

import pytest
from icalendar import Calendar

from registerwatch.notifications.feeds.calendar import EVENTS_AT_ONCE, pieces
from registerwatch.notifications.feeds.models import CalendarContent
from registerwatch.watches.models import Expiring
from tests.notifications.feeds.feed_reader import days_of
from tests.support.harness import ServiceStarter

pieces_of = partial(pieces, public_url="https://watch.example", source_name="EUDAMED", made_at=1_800_000_000)


def an_item(number: int) -> Expiring:
    expiry = date(2027, 1, 1) + timedelta(days=number)
    return Expiring(f"{number:014d}", "Scanner, ward 3", f"C {number}", expiry.isoformat(), number)


@pytest.mark.parametrize("count", [0, 1, EVENTS_AT_ONCE, 3 * EVENTS_AT_ONCE + 2])
def test_the_pieces_of_a_calendar_are_small_and_make_a_whole_one(count: int) -> None:
    items = [an_item(number) for number in range(count)]
    made = list(pieces_of(CalendarContent(items), alarm_days=[1, 30]))

    days = days_of(b"".join(made))
    assert max(piece.count(b"BEGIN:VEVENT") for piece in made) <= EVENTS_AT_ONCE
    assert [day.summary for day in days] == [f"Certificate C {number} ends: Scanner, ward 3" for number in range(count)]
    assert [day.alarms for day in days] == [[timedelta(-30), timedelta(-1)]] * count
    assert list(pieces_of(CalendarContent(items), alarm_days=[30, 1])) == made


def test_the_description_says_whose_certificates_the_calendar_has() -> None:
    empty = Calendar.from_ical(b"".join(pieces_of(CalendarContent([]))))

    assert str(empty["x-wr-caldesc"]).startswith("Certificates of watched devices; those of a watched manufacturer are")


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_an_account_gets_ten_calendars_a_minute_however_many_feeds_it_has(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner, other = await harness.sign_up(), await harness.sign_up("other@other.example")
        mine = [(await harness.post("/v1/feeds", owner.api_key)).json()["feed"]["expiring"] for _ in range(2)]
        theirs = (await harness.post("/v1/feeds", other.api_key)).json()["feed"]["expiring"]

        answers = [(await harness.client.get(mine[number % 2])).status_code for number in range(11)]

        assert answers == [200] * 10 + [429]
        assert (await harness.client.get(theirs)).status_code == 200
        assert (await harness.client.get("/v1/expiring.ics?token=ft_nobodys")).status_code == 401
        harness.clock.move(60)
        assert (await harness.client.get(mine[0])).status_code == 200
