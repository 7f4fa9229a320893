"""What surfaces say of the certificates of a manufacturer in each state of knowledge is what docs/answers.md says."""

import json
from typing import Any

import pytest

from registerwatch.platform.clock import iso_utc
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from tests.mcp.messages import used
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.web.test_states_of_knowledge import all_say, table_under

HOUR = 3600
UNKNOWN = "00000000-0000-0000-0000-000000000000"
SHARED = ("state", "as_of", "error", "total")


async def sweep(harness: ServiceHarness) -> str:
    """Read the whole list; when that was."""
    harness.clock.move(HOUR)
    assert await harness.service.certificate_sweep.run_where_due() is not None
    return iso_utc(harness.now)


async def told(harness: ServiceHarness, srn: str, first_sweep: str = "") -> list[str]:
    """The cells of a row. All surfaces for programs say the same."""
    answer = (await harness.get(f"/v1/actors/{srn}/certificates")).json()
    listed = (await harness.get("/v1/certificates", srn=srn)).json()
    actor = (await harness.get(f"/v1/actors/{srn}")).json()["certificates"]
    tool = (await used(harness, "get_actor", srn=srn)).payload["certificates"]
    assert all(
        {name: each[name] for name in SHARED} == {name: answer[name] for name in SHARED} for each in (listed, actor)
    )
    assert tool == actor
    missing = (await harness.get(f"/v1/certificates/{UNKNOWN}")).json()
    age = "first sweep" if answer["as_of"] == first_sweep else "later sweep"
    return [
        _json(answer["state"]),
        age if answer["as_of"] else "`null`",
        str(answer["total"]),
        _json(answer["error"]),
        _json(missing["error"]),
        _said(Markup.of(await harness.get(f"/a/{srn}"))),
        Markup.of(await harness.get(f"/c/{UNKNOWN}")).one("h1").text,
    ]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_every_surface_says_of_certificates_what_the_page_says(start_service: ServiceStarter) -> None:
    async with start_service(world=GeneratedWorld(120, seed=7, certificates=60)) as harness:
        rows = await _rows(harness)
    expected = table_under("Certificates of manufacturers")
    assert list(rows) == list(expected)
    assert {name: cells for name, cells in rows.items() if not all_say(cells, expected[name])} == {}


async def _rows(harness: ServiceHarness) -> dict[str, list[str]]:
    """What is told in each state, one after the other."""
    srn = _without_certificates(harness)
    await harness.get("/v1/refresh", q=srn)
    rows = {"nobody has looked": await told(harness, srn)}
    harness.faults.fail("certificates", "http-500")
    await sweep(harness)
    rows["could not look"] = await told(harness, srn)
    harness.faults.clear()
    at = await sweep(harness)
    rows["looked, and there is none"] = await told(harness, srn, at)
    listed = [harness.world.list_certificate(srn) for _ in range(2)]
    at = await sweep(harness)
    rows["looked, and there are two"] = await told(harness, srn, at)
    harness.faults.fail("certificates", "http-500")
    await sweep(harness)
    rows["looked, and could not look again"] = await told(harness, srn, at)
    harness.faults.clear()
    harness.world.unlist_certificate(listed[0].uuid)
    await sweep(harness)
    rows["looked again, and one is gone"] = await told(harness, srn, at)
    return rows


def _without_certificates(harness: ServiceHarness) -> str:
    """A manufacturer of which the register lists no certificate."""
    srn = harness.unique_devices(1)[0].manufacturer.srn
    for each in harness.world.search_certificates(CertificateFilter(), 0, 10_000)[1]:
        if each.manufacturer.srn == srn:
            harness.world.unlist_certificate(each.uuid)
    return srn


def _said(page: Markup) -> str:
    """What the section of certificates says first; the caption of its table where it says nothing."""
    paragraphs = [each.text for each in page.all("p") if "list of" in each.text and "Refused" not in each.text]
    captions = [each.text for each in page.all("caption") if "in force first" in each.text]
    return [*paragraphs, *captions][0]


def _json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"
