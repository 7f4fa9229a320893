"""The recheck from outside: what other accounts do delays nobody, and a watch that nobody reads does not look well."""

from typing import Any

import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.sources.budget_row import Host
from tests.notifications.feeds.feed_reader import feed_of
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter, auth_headers
from tests.support.long_forms import some_by_day

DAY = 86_400


async def watcher(harness: ServiceHarness, name: str, subjects: list[str]) -> NewAccount:
    """An account that imports these."""
    owner = await harness.sign_up(f"{name}@acme.example")
    await import_all(harness, owner, subjects)
    return owner


async def import_all(harness: ServiceHarness, owner: NewAccount, subjects: list[str]) -> None:
    answer = (await harness.post("/v1/import", owner.api_key, csv="\n".join(subjects))).json()
    assert answer["added"] == len(subjects)


async def watches_of(harness: ServiceHarness, owner: NewAccount) -> list[dict[str, Any]]:
    return await harness.get_list(owner.api_key, "watches")


async def import_again(harness: ServiceHarness, owner: NewAccount) -> None:
    """Delete all watches and import them again."""
    watches = await watches_of(harness, owner)
    for watch in watches:
        await harness.client.delete(f"/v1/watches/{watch['id']}", headers=auth_headers(owner.api_key))
    await import_all(harness, owner, [watch["subject"] for watch in watches])


async def recheck(harness: ServiceHarness) -> None:
    harness.clock.move(600)
    await harness.service.watches.recheck.run()


async def test_trials_that_delete_and_import_again_and_again_delay_nobody(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=3) as harness:
        codes = [device.primary_di for device in harness.unique_devices(20)]
        victim = await watcher(harness, "victim", codes[:2])
        trials = [await watcher(harness, f"trial{number}", codes[4 + 4 * number :][:4]) for number in range(4)]
        for _ in range(3):
            await recheck(harness)
        before = {watch["id"]: watch["last_sync"] for watch in await watches_of(harness, victim)}

        for _ in range(6):  # two watches by turns of five accounts, two places a run
            for trial in trials:
                await import_again(harness, trial)
            await recheck(harness)

        after = await watches_of(harness, victim)
        assert all(watch["last_sync"] and watch["last_sync"] != before[watch["id"]] for watch in after)


@pytest.mark.parametrize("places", some_by_day((1, 2, 3, 6), (2, 6)))
async def test_many_trials_delay_no_account_that_pays_and_these_do_not_keep_trials_from_all_reads(
    start_service: ServiceStarter, places: int
) -> None:
    async with start_service(recheck_watches_per_run=places) as harness:
        codes = [device.primary_di for device in harness.unique_devices(25)]
        trials = [await watcher(harness, f"trial{number}", [codes[number]]) for number in range(20)]
        customer = await watcher(harness, "customer", codes[20:])
        await harness.service.accounts.admin.set_period(customer.email, PlanName.STANDARD, harness.now + 30 * DAY)

        runs = 0
        while not all(watch["last_sync"] for watch in await watches_of(harness, customer)):
            await recheck(harness)
            runs += 1

        assert runs <= {1: 10, 2: 5, 3: 4, 6: 2}[places]
        read = [watch for trial in trials for watch in await watches_of(harness, trial) if watch["last_sync"]]
        assert read


async def test_accounts_that_pay_take_what_trials_leave_and_the_other_way_round(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=6) as harness:
        codes = [device.primary_di for device in harness.unique_devices(16)]
        await watcher(harness, "trial", codes[:1])
        customer = await watcher(harness, "customer", codes[1:8])
        await harness.service.accounts.admin.set_period(customer.email, PlanName.STANDARD, harness.now + 30 * DAY)

        await recheck(harness)
        assert sum(bool(watch["last_sync"]) for watch in await watches_of(harness, customer)) == 5
        many = await watcher(harness, "many", codes[8:])
        await harness.service.accounts.admin.set_period(customer.email, None, harness.now - 1)

        await recheck(harness)
        assert sum(bool(watch["last_sync"]) for watch in await watches_of(harness, many)) == 5


async def test_many_new_watches_of_one_account_delay_neither_the_first_reads_nor_the_rechecks_of_others(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=6, trial_watch_cap=100) as harness:
        codes = [device.primary_di for device in harness.unique_devices(80)]
        old = await watcher(harness, "old", codes[:4])
        await recheck(harness)
        before = [watch["last_sync"] for watch in await watches_of(harness, old)]
        await watcher(harness, "many", codes[4:70])
        new = await watcher(harness, "new", codes[70:72])

        for _ in range(2):
            await recheck(harness)
        assert all(watch["last_sync"] for watch in await watches_of(harness, new))
        for _ in range(2):  # four watches by turns of three accounts, four places a run
            await recheck(harness)

        after = [watch["last_sync"] for watch in await watches_of(harness, old)]
        assert all(at and at not in before for at in after)


async def test_a_watch_that_was_imported_again_waits_behind_the_other_watches_of_its_account(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        codes = [device.primary_di for device in harness.unique_devices(3)]
        owner = await watcher(harness, "owner", codes)
        for _ in range(6):
            await recheck(harness)
        before = {watch["subject"]: watch["last_sync"] for watch in await watches_of(harness, owner)}
        assert all(before.values())

        for _ in range(6):
            last = (await watches_of(harness, owner))[-1]
            await harness.client.delete(f"/v1/watches/{last['id']}", headers=auth_headers(owner.api_key))
            await import_all(harness, owner, [last["subject"]])
            await recheck(harness)

        after = {watch["subject"]: watch["last_sync"] for watch in await watches_of(harness, owner)}
        assert all(after[code] != before[code] for code in codes[:2])


async def test_who_was_not_asked_for_keeps_its_turn(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=2, register_requests_per_minute=60) as harness:
        codes = [device.primary_di for device in harness.unique_devices(6)]
        owners = [await watcher(harness, f"owner{number}", codes[2 * number :][:2]) for number in range(3)]
        await harness.service.budgets[Host.REGISTER].throttled(600)
        await recheck(harness)
        harness.clock.move(600)

        for _ in range(2):
            await recheck(harness)

        read = [sum(bool(watch["last_sync"]) for watch in await watches_of(harness, owner)) for owner in owners]
        assert all(read), read


async def test_new_watches_do_not_hide_in_the_lag_one_that_nobody_reads(harness: ServiceHarness) -> None:
    codes = [device.primary_di for device in harness.unique_devices(3)]
    await watcher(harness, "old", codes[:1])
    await recheck(harness)
    harness.clock.move(DAY)
    await watcher(harness, "new", codes[1:])

    metrics = (await harness.get("/metrics")).text

    assert f"registerwatch_recheck_lag_seconds {DAY:.1f}" in metrics


# Health


async def test_a_watch_that_was_never_read_says_so_and_one_that_nobody_reads_is_overdue(
    harness: ServiceHarness,
) -> None:
    owner = await watcher(harness, "owner", [harness.unique_devices(1)[0].primary_di])
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 30 * DAY)
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]

    async def told() -> tuple[str, list[str], str]:
        [watch] = await watches_of(harness, owner)
        terms = [entry.terms for entry in feed_of((await harness.client.get(feed["events"])).content).entries]
        metrics = (await harness.get("/metrics")).text.splitlines()
        [state] = [line for line in metrics if line.startswith("registerwatch_watches{") and line.endswith(" 1.0")]
        return watch["health"]["state"], [term for each in terms for term in each], state.split('"')[1]

    assert await told() == ("unread", [], "unread")
    harness.clock.move(3 * DAY)
    assert await told() == ("overdue", ["overdue"], "overdue")
    await recheck(harness)
    assert await told() == ("ok", [], "ok")
    harness.clock.move(3 * DAY)
    assert await told() == ("overdue", ["overdue"], "overdue")
