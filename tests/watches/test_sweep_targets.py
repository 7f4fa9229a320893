"""Which manufacturers are swept for watches, and what a watch knows of whose device it is."""

from registerwatch.watches.tables import watches
from tests.register.builders import a_full_reading
from tests.support.harness import SRN, UDI, ServiceHarness


async def test_a_watch_has_the_manufacturer_and_the_basic_udi_di_of_what_was_read(harness: ServiceHarness) -> None:
    await harness.owner_watching("owner@acme.example", UDI, SRN)
    assert [row["manufacturer_srn"] for row in await harness.rows(watches)] == ["", SRN]

    await harness.store(a_full_reading(manufacturer_srn=SRN, basic_udi=""))
    harness.clock.move(60)
    await harness.store(a_full_reading(manufacturer_srn=SRN, basic_udi="04099B"))

    assert [(row["manufacturer_srn"], row["basic_udi"]) for row in await harness.rows(watches)] == [
        (SRN, "04099B"),
        (SRN, ""),
    ]


async def test_a_new_watch_of_a_stored_device_has_them_before_its_first_read(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    first, second = harness.unique_devices(2)
    owner = await harness.sign_up()
    harness.faults.fail("any", "http-503")

    await harness.post_watches(owner.api_key, first.primary_di)
    await harness.post("/v1/import", owner.api_key, csv=second.primary_di)

    assert [(row["manufacturer_srn"], row["basic_udi"]) for row in await harness.rows(watches)] == [
        (each.manufacturer.srn, each.basic_udi or "") for each in (first, second)
    ]
