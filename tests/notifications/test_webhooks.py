"""Saving, changing and removing addresses: the first one, the others, secrets, the cap, and nobody else's."""

import asyncio
from collections import Counter

import pytest

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.notifications.models import OVERLAP_SECONDS
from tests.support.harness import WEBHOOK_URL, ServiceHarness

OTHER_URL = "https://hooks.acme.example/other"


async def _noted(harness: ServiceHarness, caller: Caller) -> list[str]:
    """What the audit trail says of webhooks, oldest first."""
    entries = await harness.service.accounts.members.trail(caller)
    return [entry.subject for entry in reversed(entries) if entry.action == Action.WEBHOOK_CHANGED]


async def test_the_first_save_makes_a_secret_which_later_ones_keep(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    await harness.webhooks.set_first(caller, OTHER_URL)
    changed = await harness.first_webhook(caller)

    assert first.secret.startswith("whsec_")
    assert len(first.secret) >= len("whsec_") + 40
    assert (changed.id, changed.url, changed.secret) == (first.id, OTHER_URL, first.secret)


async def test_an_empty_address_removes_address_and_secret(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    for empty in ("", "  "):
        await harness.webhooks.set_first(caller, empty)
        assert await harness.webhooks.all(caller.account.id) == []
    await harness.webhooks.set_first(caller, WEBHOOK_URL)
    assert (await harness.first_webhook(caller)).secret != first.secret


async def test_an_address_that_is_refused_changes_nothing(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    for refused in ("http://hooks.acme.example/", "https://localhost/", "https://10.0.0.1/", "nonsense"):
        with pytest.raises(InvalidInput):
            await harness.webhooks.set_first(caller, refused)
        with pytest.raises(InvalidInput):
            await harness.webhooks.add(caller, refused)
    with pytest.raises(InvalidInput):
        await harness.webhooks.add(caller, "")
    assert await harness.webhooks.all(caller.account.id) == [first]


async def test_every_address_has_a_secret_of_its_own(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    others = [await harness.webhooks.add(caller, f"{WEBHOOK_URL}/{number}") for number in range(3)]
    assert len({first.secret, *(each.secret for each in others)}) == 4
    assert await harness.webhooks.all(caller.account.id) == [first, *others]


async def test_the_first_address_stays_first_when_it_comes_last(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    other = await harness.webhooks.add(caller, OTHER_URL)
    await harness.webhooks.set_first(caller, WEBHOOK_URL)
    assert [each.url for each in await harness.webhooks.all(caller.account.id)] == [WEBHOOK_URL, OTHER_URL]
    await harness.webhooks.set_first(caller, "")
    assert await harness.webhooks.all(caller.account.id) == [other]


async def test_an_account_has_at_most_ten_addresses(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    added = [await harness.webhooks.add(caller, f"{WEBHOOK_URL}/{number}") for number in range(10)]
    with pytest.raises(CapReached, match="10 webhook addresses"):
        await harness.webhooks.add(caller, WEBHOOK_URL)
    with pytest.raises(CapReached):
        await harness.webhooks.set_first(caller, WEBHOOK_URL)
    await harness.webhooks.remove(caller, added[0].id)
    await harness.webhooks.set_first(caller, WEBHOOK_URL)
    assert len(await harness.webhooks.all(caller.account.id)) == 10


async def test_simultaneous_additions_do_not_pass_the_cap_and_make_one_first(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    for number in range(7):
        await harness.webhooks.add(caller, f"{WEBHOOK_URL}/{number}")
    outcomes = await asyncio.gather(
        *(harness.webhooks.set_first(caller, WEBHOOK_URL) for _ in range(3)),
        *(harness.webhooks.add(caller, f"{OTHER_URL}/{number}") for number in range(4)),
        return_exceptions=True,
    )
    present = await harness.webhooks.all(caller.account.id)
    assert len(present) == 10
    assert [each.is_first for each in present].count(True) <= 1
    assert set(Counter(type(each) for each in outcomes if isinstance(each, Exception))) == {CapReached}


async def test_everything_is_written_down_but_no_secret(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    other = await harness.webhooks.add(caller, OTHER_URL)
    rotated = await harness.webhooks.rotate(caller, other.id)
    await harness.webhooks.remove(caller, other.id)
    await harness.webhooks.set_first(caller, "")
    noted = await _noted(harness, caller)

    assert noted == [WEBHOOK_URL, OTHER_URL, f"{OTHER_URL}: new secret", f"{OTHER_URL} removed", "removed"]
    assert not any(secret in line for line in noted for secret in (other.secret, rotated.secret))


async def test_what_changes_nothing_is_not_written_down(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    await harness.webhooks.set_first(caller, "")
    await harness.webhooks.remove(caller, 4711)
    assert await _noted(harness, caller) == []


async def test_a_new_secret_leaves_the_old_one_valid_for_24_hours(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    rotated = await harness.webhooks.rotate(caller, first.id)
    now = harness.clock.now()

    assert OVERLAP_SECONDS == 24 * 60 * 60
    assert rotated.secret != first.secret
    assert rotated.valid_secrets(now + 24 * 3600 - 1) == [rotated.secret, first.secret]
    assert rotated.valid_secrets(now + 24 * 3600) == [rotated.secret]


async def test_a_second_rotation_drops_the_oldest_secret(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    second = await harness.webhooks.rotate(caller, first.id)
    third = await harness.webhooks.rotate(caller, first.id)
    assert third.valid_secrets(harness.clock.now()) == [third.secret, second.secret]


async def test_no_secret_is_in_what_is_logged_of_a_webhook(harness: ServiceHarness) -> None:
    caller, first = await harness.owner_with_webhook()
    rotated = await harness.webhooks.rotate(caller, first.id)
    assert rotated.secret not in repr(rotated)
    assert first.secret not in repr(rotated)


async def test_another_accounts_webhook_cannot_be_touched(harness: ServiceHarness) -> None:
    caller, mine = await harness.owner_with_webhook()
    stranger = await harness.owner("stranger@other.example")
    test = await harness.webhooks.test(caller, None)

    await harness.webhooks.remove(stranger, mine.id)
    for forbidden in (harness.webhooks.rotate, harness.webhooks.test, harness.webhooks.log):
        with pytest.raises(InvalidInput):
            await forbidden(stranger, mine.id)
    with pytest.raises(InvalidInput):
        await harness.webhooks.send_again(stranger, mine.id, test.delivery_id)
    own = await harness.webhooks.add(stranger, WEBHOOK_URL)
    with pytest.raises(InvalidInput):
        await harness.webhooks.send_again(stranger, own.id, test.delivery_id)

    (kept,) = await harness.webhooks.all(caller.account.id)
    assert (kept.secret, kept.url) == (mine.secret, mine.url)
    assert len(harness.receivers.requests) == 1
    assert await _noted(harness, stranger) == [WEBHOOK_URL]
