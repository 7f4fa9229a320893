"""Saving, changing and removing addresses: the first one, the others, secrets, the cap, and nobody else's."""

import asyncio
from collections import Counter

import pytest

from registerwatch.accounts.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.notifications.models import OVERLAP_SECONDS
from tests.notifications.post_room import URL, PostRoom

pytestmark = pytest.mark.anyio

OTHER_URL = "https://hooks.acme.example/other"


async def _noted(room: PostRoom, caller: Caller) -> list[str]:
    """What the audit trail says of webhooks, oldest first."""
    entries = await room.accounts.members.trail(caller)
    return [entry.subject for entry in reversed(entries) if entry.action == Action.WEBHOOK_CHANGED]


async def test_the_first_save_makes_a_secret_which_later_ones_keep(room: PostRoom) -> None:
    caller, first = await room.with_first()
    await room.webhook_service.set_first(caller, OTHER_URL)
    changed = await room.first(caller)

    assert first.secret.startswith("whsec_")
    assert len(first.secret) >= len("whsec_") + 40
    assert (changed.id, changed.url, changed.secret) == (first.id, OTHER_URL, first.secret)


async def test_an_empty_address_removes_address_and_secret(room: PostRoom) -> None:
    caller, first = await room.with_first()
    for empty in ("", "  "):
        await room.webhook_service.set_first(caller, empty)
        assert await room.webhook_service.all(caller.account.id) == []
    await room.webhook_service.set_first(caller, URL)
    assert (await room.first(caller)).secret != first.secret


async def test_an_address_that_is_refused_changes_nothing(room: PostRoom) -> None:
    caller, first = await room.with_first()
    for refused in ("http://hooks.acme.example/", "https://localhost/", "https://10.0.0.1/", "nonsense"):
        with pytest.raises(InvalidInput):
            await room.webhook_service.set_first(caller, refused)
        with pytest.raises(InvalidInput):
            await room.webhook_service.add(caller, refused)
    with pytest.raises(InvalidInput):
        await room.webhook_service.add(caller, "")
    assert await room.webhook_service.all(caller.account.id) == [first]


async def test_every_address_has_a_secret_of_its_own(room: PostRoom) -> None:
    caller, first = await room.with_first()
    others = [await room.webhook_service.add(caller, URL) for _ in range(3)]
    assert len({first.secret, *(each.secret for each in others)}) == 4
    assert await room.webhook_service.all(caller.account.id) == [first, *others]


async def test_the_first_address_stays_first_when_it_comes_last(room: PostRoom) -> None:
    caller = await room.owner()
    other = await room.webhook_service.add(caller, OTHER_URL)
    await room.webhook_service.set_first(caller, URL)
    assert [each.url for each in await room.webhook_service.all(caller.account.id)] == [URL, OTHER_URL]
    await room.webhook_service.set_first(caller, "")
    assert await room.webhook_service.all(caller.account.id) == [other]


async def test_an_account_has_at_most_ten_addresses(room: PostRoom) -> None:
    caller = await room.owner()
    added = [await room.webhook_service.add(caller, f"{URL}/{number}") for number in range(10)]
    with pytest.raises(CapReached, match="10 webhook addresses"):
        await room.webhook_service.add(caller, URL)
    with pytest.raises(CapReached):
        await room.webhook_service.set_first(caller, URL)
    await room.webhook_service.remove(caller, added[0].id)
    await room.webhook_service.set_first(caller, URL)
    assert len(await room.webhook_service.all(caller.account.id)) == 10


async def test_simultaneous_additions_do_not_pass_the_cap_and_make_one_first(room: PostRoom) -> None:
    caller = await room.owner()
    for number in range(7):
        await room.webhook_service.add(caller, f"{URL}/{number}")
    outcomes = await asyncio.gather(
        *(room.webhook_service.set_first(caller, URL) for _ in range(3)),
        *(room.webhook_service.add(caller, URL) for _ in range(4)),
        return_exceptions=True,
    )
    present = await room.webhook_service.all(caller.account.id)
    assert len(present) == 10
    assert [each.is_first for each in present].count(True) <= 1
    assert set(Counter(type(each) for each in outcomes if isinstance(each, Exception))) == {CapReached}


async def test_everything_is_written_down_but_no_secret(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    other = await room.webhook_service.add(caller, OTHER_URL)
    rotated = await room.webhook_service.rotate(caller, other.id)
    await room.webhook_service.remove(caller, other.id)
    await room.webhook_service.set_first(caller, "")
    noted = await _noted(room, caller)

    assert noted == [URL, OTHER_URL, f"{OTHER_URL}: new secret", f"{OTHER_URL} removed", "removed"]
    assert not any(secret in line for line in noted for secret in (other.secret, rotated.secret))


async def test_what_changes_nothing_is_not_written_down(room: PostRoom) -> None:
    caller = await room.owner()
    await room.webhook_service.set_first(caller, "")
    await room.webhook_service.remove(caller, 4711)
    assert await _noted(room, caller) == []


async def test_a_new_secret_leaves_the_old_one_valid_for_24_hours(room: PostRoom) -> None:
    caller, first = await room.with_first()
    rotated = await room.webhook_service.rotate(caller, first.id)
    now = room.clock.now()

    assert OVERLAP_SECONDS == 24 * 60 * 60
    assert rotated.secret != first.secret
    assert rotated.valid_secrets(now + 24 * 3600 - 1) == [rotated.secret, first.secret]
    assert rotated.valid_secrets(now + 24 * 3600) == [rotated.secret]


async def test_a_second_rotation_drops_the_oldest_secret(room: PostRoom) -> None:
    caller, first = await room.with_first()
    second = await room.webhook_service.rotate(caller, first.id)
    third = await room.webhook_service.rotate(caller, first.id)
    assert third.valid_secrets(room.clock.now()) == [third.secret, second.secret]


async def test_no_secret_is_in_what_is_logged_of_a_webhook(room: PostRoom) -> None:
    caller, first = await room.with_first()
    rotated = await room.webhook_service.rotate(caller, first.id)
    assert rotated.secret not in repr(rotated)
    assert first.secret not in repr(rotated)


async def test_another_accounts_webhook_cannot_be_touched(room: PostRoom) -> None:
    caller, mine = await room.with_first()
    stranger = await room.owner("stranger@other.example")
    test = await room.webhook_service.test(caller, None)

    await room.webhook_service.remove(stranger, mine.id)
    for forbidden in (room.webhook_service.rotate, room.webhook_service.test, room.webhook_service.log):
        with pytest.raises(InvalidInput):
            await forbidden(stranger, mine.id)
    with pytest.raises(InvalidInput):
        await room.webhook_service.send_again(stranger, mine.id, test.delivery_id)
    own = await room.webhook_service.add(stranger, URL)
    with pytest.raises(InvalidInput):
        await room.webhook_service.send_again(stranger, own.id, test.delivery_id)

    (kept,) = await room.webhook_service.all(caller.account.id)
    assert (kept.secret, kept.url) == (mine.secret, mine.url)
    assert len(room.receivers.requests) == 1
    assert await _noted(room, stranger) == [URL]
