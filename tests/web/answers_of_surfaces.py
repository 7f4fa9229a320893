"""What every surface says in a state of knowledge: cells of the tables in docs/answers.md."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from xml.etree import ElementTree

from icalendar import Calendar

from registerwatch.platform.clock import iso_utc
from tests.mcp.messages import used, without_code
from tests.pages.markup import Markup
from tests.support.harness import NOW, auth_headers
from tests.web.states_of_knowledge import Subjects

WAIT = {"Prefer": "wait=3"}
ATOM = "{http://www.w3.org/2005/Atom}"
NONE = "–"

Cells = tuple[str, ...]


async def of_device(it: Subjects) -> Cells:
    """REST, both tools for one device, the page of the device. REST and the tools say the same."""
    response, asked, looked_up = await asyncio.gather(
        it.harness.client.get(f"/v1/devices/{it.udi}", headers=WAIT),
        used(it.harness, "get_device", udi=it.udi),
        used(it.harness, "lookup_udi", udi=it.udi),
    )
    answer = response.json()
    assert asked.payload == looked_up.payload == without_code(answer)
    return (
        str(response.status_code),
        _json(answer, "complete"),
        ", ".join(answer.get("missing", [NONE])) or "nothing",
        _age(answer, "read_at"),
        str(len(answer["certs"])) if "certs" in answer else NONE,
        _json(answer, "error"),
        _page(await _markup(it, f"/d/{it.udi}"), "Certificates"),
    )


async def of_actor(it: Subjects) -> Cells:
    """REST, the tool, the page of the actor. REST and the tool say the same."""
    response, asked = await asyncio.gather(
        it.harness.client.get(f"/v1/actors/{it.srn}", headers=WAIT), used(it.harness, "get_actor", srn=it.srn)
    )
    answer = response.json()
    assert (response.status_code, asked.payload) == (200, answer)
    return (
        "given" if answer["name"] else "empty",
        _json(answer, "complete"),
        ", ".join(answer["missing"]) or "nothing",
        _age(answer, "read_at"),
        str(len(answer["devices"])),
        _json(answer, "error"),
        _page(await _markup(it, f"/a/{it.srn}")),
    )


async def of_searches(it: Subjects) -> Cells:
    """REST, the tool, the page of a search by UDI-DI, by SRN and by name. REST and the tool say the same."""
    return tuple([await _search(it, query) for query in (it.udi, it.srn, it.name)])


async def of_watch(it: Subjects) -> Cells:
    """REST, the tool, what ends soon, both feeds. REST and the tool say the same, and so do both lists of what ends."""
    listed = (await it.harness.client.get("/v1/watches", headers=auth_headers(it.key))).json()
    assert (await used(it.harness, "list_watches", it.key)).payload == listed
    [watch] = listed["watches"]
    entries, items, description = await _feeds(it)
    expiring = (await it.harness.client.get("/v1/expiring", headers=auth_headers(it.key))).json()
    in_doubt = expiring.get("unsure", [])
    assert (len(expiring["items"]), it.udi in description) == (items, bool(in_doubt))
    return (
        _json(watch, "complete"),
        _age(watch, "last_sync"),
        _json(watch, "last_error"),
        _json(watch["health"], "state"),
        ", ".join(f"`{each}`" for each in entries) or "none",
        str(items),
        "named" if in_doubt == [it.udi] else "none",
    )


async def of_service(it: Subjects) -> Cells:
    """Whether requests should be sent here, whether all works, what is wrong with the index."""
    ready, health = await it.harness.get("/ready"), await it.harness.get("/health")
    return str(ready.status_code), str(health.status_code), _json(health.json()["index"], "error")


async def of_sync(it: Subjects) -> Cells:
    """A sync over REST, and then one by the tool, which says the same."""
    answer = await it.harness.post_sync(it.key)
    assert (await used(it.harness, "sync_watches", it.key)).payload == answer
    return tuple(_json(answer, name) for name in ("synced", "failed", "unread", "error"))


SURFACES: dict[str, Callable[[Subjects], Awaitable[Cells]]] = {
    "Searches": of_searches,
    "The service": of_service,
    "Watches": of_watch,
    "Devices": of_device,
    "Actors": of_actor,
    "Syncs": of_sync,
}
"""By the heading of the table. Reading a device or an actor can end the state, so they come late."""


async def _search(it: Subjects, query: str) -> str:
    response = await it.harness.get("/v1/search", q=query)
    answer = response.json()
    assert (await used(it.harness, "search_devices", q=query)).payload == without_code(answer)
    page = await _markup(it, "/", q=query)
    if response.status_code != 200:
        return f"{response.status_code}, {_json(answer, 'error')}; {page.all('h1')[0].text}"
    complete = f"{_json(answer, 'complete')}, " if "complete" in answer else ""
    return f"{answer['total']}, {complete}{_json(answer, 'error')}; {page.all('h2')[0].text}"


async def _feeds(it: Subjects) -> tuple[list[str], int, str]:
    """Categories of entries in the Atom feed; how many dates the calendar has, and its description."""
    feed = (await it.harness.post("/v1/feeds", it.key)).json()["feed"]
    atom = await it.harness.client.get(feed["events"].removeprefix(it.harness.service.settings.public_url))
    calendar = await it.harness.client.get(feed["expiring"].removeprefix(it.harness.service.settings.public_url))
    categories = ElementTree.fromstring(atom.content).iter(f"{ATOM}category")  # our own answer
    told = Calendar.from_ical(calendar.content)
    return [each.attrib["term"] for each in categories], len(told.walk("VEVENT")), str(told.get("X-WR-CALDESC", ""))


async def _markup(it: Subjects, path: str, **params: str) -> Markup:
    return Markup.of(await it.harness.get(path, **params))


def _page(markup: Markup, fact: str | None = None) -> str:
    """How a page begins to say what is wrong, and one fact of it."""
    facts = {name.text: value.text for name, value in zip(markup.all("dt"), markup.all("dd"), strict=False)}
    if fact not in facts and (fact is not None or not facts):  # of a code that names no device its parts are told
        return markup.one("h1").text
    notices = [each.text for each in markup.all("p") if (each.attributes.get("class") or "").startswith("notice warn")]
    notices += [each.text for each in markup.all("p", **{"class": "notice"})]
    said = notices[0].partition(".")[0] if notices else "no notice"
    return f"{said}; {fact}: {facts[fact]}" if fact else said


def _json(answer: dict[str, Any], name: str) -> str:
    """A value as JSON has it; a dash where there is none."""
    return f"`{json.dumps(answer[name], ensure_ascii=False)}`" if name in answer else NONE


def _age(answer: dict[str, Any], name: str) -> str:
    """Whether an instant is the one of the last good read."""
    if answer.get(name) is None:
        return _json(answer, name)
    return "first read" if answer[name] == iso_utc(NOW) else "later read"
