"""Differences from what was measured, switched on one by one: each alters what its name says, and nothing else."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, get_args

import httpx2
import pytest

from registerwatch_standins.register.drift import ALTERATIONS, Difference
from registerwatch_standins.register.faults import Kind
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.world import World

from .conftest import LANGUAGE, PAGE, Clock, client_of

D = Difference
LAKE = {"api-version": "v1.0", "format": "json"}
Answers = Mapping[str, httpx2.Response]
Shows = Callable[[Any, Any], bool]
"""Whether the difference can be seen in an answer of another build, beside the same answer of this one."""


@pytest.fixture
def world(clock: Clock) -> World:
    return GeneratedWorld(1_100, seed=5, certificates=120, clock=clock)


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(world) as client:
        yield client


def requests_of(world: World) -> dict[str, tuple[str, dict[str, Any]]]:
    """A request of each kind, and those on which a filter or a page shows itself."""
    record = next(each for each in world.newest(0, 300) if each.basic_udi and each.status == "on-the-market")
    uuid, row = record.uuid, world.search_certificates(CertificateFilter(), 0, 1)[1][0]
    return {
        "search": ("/eudamed/devices/udiDiData", {**PAGE, "pageSize": 300, "size": 300}),
        "search page 1": ("/eudamed/devices/udiDiData", {**PAGE, "page": 1}),
        "search primaryDi": ("/eudamed/devices/udiDiData", {**PAGE, "primaryDi": record.primary_di}),
        "detail": (f"/eudamed/devices/udiDiData/{uuid}", LANGUAGE),
        "detail of nothing": ("/eudamed/devices/udiDiData/nothing", LANGUAGE),
        "basic": (f"/eudamed/devices/basicUdiData/udiDiData/{uuid}", LANGUAGE),
        "certificates": ("/eudamed/certificates/search/", {}),
        "certificates actorSrn": ("/eudamed/certificates/search/", {"actorSrn": row.manufacturer.srn}),
        "build": ("/eudamed/applicationInfo", {}),
        "flags": ("/eudamed/configurationParameters", {"scope": "PUBLIC", **LANGUAGE}),
        "udi": ("/datalake/udi", LAKE),
        "reference": ("/datalake/reference", LAKE),
    }


SHOWN: dict[Difference, dict[str, Shows]] = {
    D.PRIMARY_DI_FILTER_IGNORED: {"search primaryDi": lambda page, _: page["totalElements"] == 1_100},
    D.ACTOR_SRN_FILTER_IGNORED: {"certificates actorSrn": lambda page, _: page["totalElements"] >= 120},
    D.ACTOR_SRN_MISSING: {
        name: lambda page, true: true["content"][0].keys() - page["content"][0].keys() == {"actorSrn"}
        for name in ("certificates", "certificates actorSrn")
    },
    D.PAGE_CAP_OF_100: {"search": lambda page, _: page["size"] == len(page["content"]) == 100},
    D.PAGES_FROM_1: {"search page 1": lambda page, _: page["number"] == 0},
    D.TOTALS_AS_TEXT: {
        name: lambda page, true: page["totalElements"] == str(true["totalElements"])
        for name in ("search", "search page 1", "search primaryDi", "certificates", "certificates actorSrn")
    },
    D.DETAIL_FIELD_RENAMED: {
        "detail": lambda now, true: now.keys() ^ true.keys() == {"cndNomenclatures", "emdnNomenclatures"}
    },
    D.TIMESTAMPS_WITH_ZONE: {
        name: lambda now, true: now["versionDate"] == true["versionDate"] + "+02:00" for name in ("detail", "basic")
    },
    D.NEW_DEVICE_STATUS: {
        **{
            name: lambda page, _: page["content"][0]["deviceStatusType"]["code"].endswith(".made-available")
            for name in ("search", "search page 1", "search primaryDi")
        },
        "detail": lambda now, _: now["deviceStatus"]["type"]["code"].endswith(".made-available"),
    },
    D.BASIC_ULID_DIFFERS: {"basic": lambda now, true: now["ulid"] != true["ulid"]},
    D.MISSING_RECORD_404: {"detail of nothing": lambda now, _: now["status"] == 404},
    D.NEW_BUILD: {"build": lambda now, _: now["buildVersion"] == "2.28.0"},
    D.SAFETY_NOTICES_ON: {"flags": lambda now, true: sum(each["enable"] for each in now) == 10},
    D.DATALAKE_COLUMN_RENAMED: {
        "udi": lambda page, true: page["value"][0].keys() ^ true["value"][0].keys() == {"MF_SRN", "MANUFACTURER_SRN"}
    },
    D.REFERENCE_ID_CHANGED: {
        "udi": lambda page, _: {-1204} <= {row["RISK_CLASS_ID"] for row in page["value"]} - {-204},
        "reference": lambda page, _: {row["CODE"] for row in page["value"] if row["ID"] == -1204} == {"RISK_CLASS_ID"},
    },
    D.NEXT_LINK_MISSING: {name: lambda page, _: page.keys() == {"value"} for name in ("udi", "reference")},
}


async def answers(client: httpx2.AsyncClient, world: World) -> dict[str, httpx2.Response]:
    return {name: await client.get(path, params=query) for name, (path, query) in requests_of(world).items()}


@pytest.mark.parametrize("difference", Difference)
async def test_a_difference_alters_what_it_names_and_nothing_else(
    client: httpx2.AsyncClient, world: World, difference: Difference
) -> None:
    true = await answers(client, world)
    shown = (await client.put("/_control/differences", json={"shown": [difference]})).json()
    assert shown == {"shown": [difference.value], "known": [each.value for each in Difference]}
    altered = await answers(client, world)

    assert {name for name in true if altered[name].content != true[name].content} == SHOWN[difference].keys()
    for name, is_shown in SHOWN[difference].items():
        before = true[name].json() if true[name].status_code == 200 else None
        assert is_shown(altered[name].json(), before), name


async def test_a_difference_that_nobody_knows_is_refused(world: World) -> None:
    async with client_of(world) as client:
        with pytest.raises(ValueError, match="no-such"):
            await client.put("/_control/differences", json={"shown": ["no-such"]})


def test_every_difference_alters_something_of_a_kind_that_there_is() -> None:
    assert set(ALTERATIONS) == set(Difference)
    assert {kind for each in ALTERATIONS.values() for one in each for kind in one.kinds} <= set(get_args(Kind))
