"""Rows of a manufacturer's list, which need not be the records that answer for their UDI-DIs."""

from registerwatch.platform.structs import replace
from registerwatch_standins.register.filters import DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceStarter

TWIN = "ffffffff-0000-4000-8000-000000000000"


class LongListWorld(GeneratedWorld):
    """A register in which a manufacturer's list shows the twin on a later page than the one that is read."""

    def search(self, wanted: DeviceFilter, offset: int, limit: int) -> tuple[int, list[Registration]]:
        """The page, by SRN without the twin."""
        total, records = super().search(wanted, offset, limit)
        return total, [record for record in records if wanted.srn is None or record.uuid != TWIN]


async def test_a_legacy_row_in_a_list_makes_no_event_while_an_unknown_regulation_twin_takes_over(
    start_service: ServiceStarter,
) -> None:
    async with start_service(world=LongListWorld(120, seed=7)) as harness:
        owner = await harness.sign_up()
        record = harness.unique_devices(1)[0]
        harness.world.change(record.uuid, legislation="mdd", risk_class=record.risk_class)
        await harness.post_watches(owner.api_key, record.primary_di)
        harness.clock.move(60)
        harness.world.change(record.uuid, reference="LEGACY-2", new_version=False)
        harness.world.register(
            replace(record, uuid=TWIN, basic_udi="++TWIN", legislation="mdr", reference="TWIN-1", version_number=1)
        )

        await harness.get("/v1/refresh", q=record.manufacturer.srn)

        assert await harness.get_list(owner.api_key, "events") == []
        harness.clock.move(60)
        [event] = (await harness.post_sync(owner.api_key))["events"]
        assert "LEGACY-2" not in event["summary"]
        assert "TWIN-1" in event["summary"]
