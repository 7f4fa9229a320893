"""The health of a watch: what the register does not know is a state of its own, on every surface."""

from registerwatch.watches.tables import read_failures
from tests.notifications.feeds.feed_reader import feed_of
from tests.register.builders import a_udi
from tests.support.harness import ServiceHarness

FOUR_DAYS = 4 * 86_400


async def test_what_the_register_does_not_know_is_unknown_over_rest_in_feeds_and_in_metrics(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    await harness.post("/v1/import", owner.api_key, csv=f"{device.primary_di}\n{a_udi(1)}")
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]

    await harness.service.watches.recheck.run()

    known, unknown = await harness.get_list(owner.api_key, "watches")
    assert (known["health"]["state"], unknown["health"]["state"]) == ("ok", "unknown")
    assert unknown["health"]["since"]
    read = feed_of((await harness.client.get(feed["events"])).content)
    [entry] = read.entries
    assert (read.problem, entry.terms, a_udi(1) in entry.text, entry.is_dated) == (None, ["unknown"], True, True)
    metrics = (await harness.get("/metrics")).text
    assert 'registerwatch_watches{state="unknown"} 1.0' in metrics
    assert 'registerwatch_watches{state="ok"} 1.0' in metrics


async def test_an_unknown_subject_stays_unknown_and_one_that_cannot_be_read_is_failing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10 * FOUR_DAYS)
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di, a_udi(1))
    harness.faults.fail("basic", "http-400", contains=device.uuid)
    for _ in range(2):
        await harness.post_sync(owner.api_key)
        harness.clock.move(FOUR_DAYS)

    states = [watch["health"]["state"] for watch in await harness.get_list(owner.api_key, "watches")]

    assert states == ["failing", "unknown"]
    metrics = (await harness.get("/metrics")).text
    assert 'registerwatch_watches{state="failing"} 1.0' in metrics


async def test_what_the_register_was_said_not_to_have_stays_so_while_it_cannot_be_read(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, a_udi(1))
    await harness.post_sync(owner.api_key)
    for _ in range(2):
        harness.clock.move(3600)
        harness.faults.fail("search", "http-400", times=1)
        await harness.post_sync(owner.api_key)

    [watch] = await harness.get_list(owner.api_key, "watches")

    assert watch["health"]["state"] == "unknown"
    assert watch["last_error"].startswith("The register has no such record. The last read failed: ")
    assert watch["last_error"].count("The register has no such record.") == 1
    metrics = (await harness.get("/metrics")).text
    assert 'registerwatch_watches{state="unknown"} 1.0' in metrics
    kept = [(row["reason"], row["times"], row["ended_at"]) for row in await harness.rows(read_failures)]
    assert kept == [
        ("The register has no such record.", 2, None),
        (watch["last_error"].partition("failed: ")[2], 2, None),
    ]
