"""Tags of watches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import CapReached, InvalidInput
from registerwatch.watches.tables import watch_tags
from registerwatch.watches.tag_repository import tags_of
from registerwatch.watches.tags import (
    MAX_TAG_LENGTH,
    MAX_TAGS_OF_ACCOUNT,
    MAX_TAGS_OF_WATCH,
    TagService,
    add_tags,
    tag_of,
    tags_of_text,
)
from tests.support.harness import SRN, UDI, ServiceHarness


def test_tags_are_trimmed_and_each_is_there_once() -> None:
    assert tags_of_text(" ward 3 ,stock,, Ward  3,\tpumps\n") == ["ward 3", "stock", "pumps"]


@given(st.text(max_size=300))
def test_a_tag_is_one_line_of_bounded_length_without_comma(text: str) -> None:
    try:
        tags = tags_of_text(text)
    except InvalidInput:
        return
    assert all(0 < len(tag) <= MAX_TAG_LENGTH and tag == tag.strip() for tag in tags)
    assert not set("\n\r\t,\x00").intersection("".join(tags))
    assert tags_of_text(", ".join(tags)) == tags


@pytest.mark.parametrize("text", ["x" * (MAX_TAG_LENGTH + 1), "a,b", " , "])
def test_one_tag_is_one_tag(text: str) -> None:
    with pytest.raises(InvalidInput):
        tag_of(text)


async def test_tags_are_set_counted_and_keep_their_first_spelling(harness: ServiceHarness) -> None:
    tags = TagService(harness.database)
    caller = await harness.owner_watching("a@acme.example", UDI, SRN)
    first_id, second_id = [watch.id for watch in await harness.service.watches.service.all(caller)]

    await tags.set(caller, first_id, "Ward 3, stock")
    await tags.set(caller, second_id, "ward 3")

    assert await tags.counts(caller) == {"stock": 1, "Ward 3": 2}
    assert await tags.of_watch(caller, second_id) == ["Ward 3"]
    await tags.set(caller, first_id, "pumps")
    assert await tags.counts(caller) == {"pumps": 1, "Ward 3": 1}

    await harness.service.watches.service.remove(caller, first_id)
    assert await tags.counts(caller) == {"Ward 3": 1}


async def test_nobody_changes_or_sees_tags_of_another_account(harness: ServiceHarness) -> None:
    tags = TagService(harness.database)
    owner = await harness.owner_watching("a@acme.example", UDI)
    stranger = await harness.owner_watching("b@acme.example", SRN)
    watch = await harness.watch(owner)
    await tags.set(owner, watch.id, "private")

    await tags.set(stranger, watch.id, "theirs")

    assert await tags.of_watch(owner, watch.id) == ["private"]
    assert await tags.of_watch(stranger, watch.id) == ()
    assert await tags.counts(stranger) == {}
    async with harness.database.transaction() as connection:
        assert await add_tags(connection, stranger.account.id, [watch.id], ["theirs"]) == 0
        assert await tags_of(connection, stranger.account.id, [watch.id]) == {}


async def test_a_watch_and_an_account_have_a_bounded_number_of_tags(harness: ServiceHarness) -> None:
    tags = TagService(harness.database)
    caller = await harness.owner_watching("a@acme.example", *(f"0409999999999{each}" for each in range(10)), SRN)
    ids = [watch.id for watch in await harness.service.watches.service.all(caller)]

    with pytest.raises(CapReached, match="A watch has at most"):
        await tags.set(caller, ids[0], ",".join(map(str, range(MAX_TAGS_OF_WATCH + 1))))
    for place, watch_id in enumerate(ids[: MAX_TAGS_OF_ACCOUNT // MAX_TAGS_OF_WATCH]):
        await tags.set(caller, watch_id, ",".join(f"{place}-{each}" for each in range(MAX_TAGS_OF_WATCH)))
    with pytest.raises(CapReached, match="An account has at most"):
        await tags.set(caller, ids[-1], "one more")

    await tags.set(caller, ids[-1], "0-0")
    async with harness.database.transaction() as connection:
        with pytest.raises(CapReached, match="A watch has at most"):
            await add_tags(connection, caller.account.id, ids, ["1-1"])
    assert len(await harness.rows(watch_tags)) == MAX_TAGS_OF_ACCOUNT + 1
