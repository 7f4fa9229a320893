"""What every surface says of the devices of one actor, brought together: all have to say the same."""

import re
from dataclasses import dataclass
from typing import Any

from tests.mcp.messages import used
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness

ROWS = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What all surfaces said alike. `error` is that of the actor, `search_error` that of the search."""

    total: int
    registered: int | None
    known: int
    missing: list[str]
    error: str | None
    search_error: str | None
    udis: list[str]
    headline: str

    @property
    def is_whole(self) -> bool:
        """Whether no device is missing."""
        return "devices" not in self.missing


async def said_of(harness: ServiceHarness, srn: str) -> Said:
    """What the surfaces say of an actor in the copy, without reading anything. They have to agree; the tool, which
    waits for what is being read, is asked where nothing is.
    """
    harness.to_register.held = {"register.test"}
    search = (await harness.get("/v1/search", q=srn)).json()
    tool_search = (await used(harness, "search_devices", q=srn, limit=25)).payload
    search_page = Markup.of(await harness.get("/", q=srn))
    answer = await _actor(harness, srn)
    if not answer["missing"] or answer["error"]:
        assert (await used(harness, "get_actor", srn=srn)).payload == answer
    page = Markup.of(await harness.get(f"/a/{srn}"))
    udis = await _all_pages(harness, srn, answer)
    await _let(harness)

    whole = "devices" not in answer["missing"]
    facts = ("complete", whole), ("devices_registered", answer["devices_registered"])
    assert {**search, "results": []} == {**tool_search, "results": []}
    assert {name: search[name] for name, _ in facts} == dict(facts)
    assert answer["complete"] == (not answer["missing"])
    assert len(set(udis)) == len(udis) == answer["devices_known"] == search["devices_known"] == search["total"]
    assert answer["device_total"] == (
        answer["devices_registered"] if answer["devices_registered"] is not None else len(udis)
    )
    _check_page(page, answer, whole=whole)
    headline = search_page.all("h2")[0].text
    assert ("so far" in headline) == (not whole and not (search["error"] and not udis))
    return Said(
        answer["device_total"],
        answer["devices_registered"],
        answer["devices_known"],
        answer["missing"],
        answer["error"],
        search["error"],
        udis,
        headline,
    )


async def _actor(harness: ServiceHarness, srn: str, page: int = 1) -> dict[str, Any]:
    answer: dict[str, Any] = (await harness.get(f"/v1/actors/{srn}", page=page)).json()
    return answer


async def _all_pages(harness: ServiceHarness, srn: str, first: dict[str, Any]) -> list[str]:
    """UDI-DIs of every page that the copy can fill."""
    pages = [first, *[await _actor(harness, srn, page) for page in range(2, -(-first["devices_known"] // ROWS) + 1)]]
    return [row["udi"] for page in pages for row in page["devices"]]


async def _let(harness: ServiceHarness) -> None:
    """Let requests go that were held, and wait until what they were for is done."""
    harness.to_register.held = set()
    harness.to_register.let.set()
    await harness.finish_background_work()
    harness.to_register.let.clear()


def _check_page(page: Markup, answer: dict[str, Any], *, whole: bool) -> None:
    registrations = page.facts["Registered devices"]
    registered, known = answer["devices_registered"], answer["devices_known"]
    assert registrations.startswith("Not known yet" if registered is None else f"{registered:,} "), registrations
    assert registrations.endswith("in the copy" if whole else "known so far"), registrations
    assert f"{known:,} device" in registrations
    captions = [each.text for each in page.all("caption")]
    if answer["devices"]:
        assert any(re.search(rf"of {known:,} {'in the copy' if whole else 'known so far'}$", each) for each in captions)
    notices = " ".join(each.text for each in page.all("p") if "notice" in (each.attributes.get("class") or ""))
    assert ("Read in part." in notices) == (not answer["complete"])
    assert ("known so far" in notices) == (not whole)
