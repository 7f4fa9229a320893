"""The documentation on the pages: complete, true, linked, quick."""

import json
import re
import shlex
from typing import Any

import pytest

from registerwatch.pages.documentation.library import TOPICS
from registerwatch.register.models import DETAILS
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.registrations import registration
from tests.support.harness import ServiceHarness

OF_MAKER = {"complete", "devices_registered", "devices_known"}
OPTIONAL = {
    "search": {"certificates", "facets", "code_of", *OF_MAKER},
    "read_device": {"other_codes", "contradictions", "former_status", "listed", *DETAILS},
    "read_actor": {"listed"},
}
"""Fields of answers that are there only where there is something to tell."""

SITE = "https://register.example"
EXAMPLE_DI = "04012345678901"
"""What the description's examples ask for."""


async def described(harness: ServiceHarness) -> dict[str, Any]:
    answer: dict[str, Any] = (await harness.get("/openapi.json")).json()
    return answer


async def pages_of(harness: ServiceHarness) -> dict[str, Markup]:
    """Every page of the documentation, by its address: those that the index leads to, and the index."""
    pages = {path: Markup.of(await harness.get(path)) for path in ("/docs", "/docs/api")}
    chapters = {each["href"] for each in pages["/docs"].all("a") if each["href"].startswith("/docs/")}
    return pages | {path: Markup.of(await harness.get(path)) for path in sorted(chapters)}


async def test_every_page_is_accessible_and_every_link_leads_somewhere(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        pages = await pages_of(harness)
        ids = {path: {each.attributes.get("id") for each in page.elements} for path, page in pages.items()}

        assert {topic.address for topic in TOPICS} < set(pages)
        assert {path: problems for path, page in pages.items() if (problems := accessibility_problems(page))} == {}
        for path, page in pages.items():
            for link in page.all("a"):
                target, _, part = link["href"].partition("#")
                target = target or path
                if target.startswith("/docs"):
                    assert part in {"", *ids[target]}, (path, link["href"])
                elif target.startswith("/"):
                    expected = 303 if target.startswith("/app") else 200  # where one signs in
                    assert (await harness.client.get(target)).status_code == expected, (path, target)
                else:
                    assert (target[:8], link["rel"]) == ("https://", "external noreferrer"), (path, target)


async def test_every_operation_of_the_description_is_there_with_what_it_takes_and_answers(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        description, pages = await described(harness), await pages_of(harness)

    overview = pages["/docs/api"].main
    operations = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, item in description["paths"].items()
        for method, operation in item.items()
    ]
    sent = [(item["post"]["tags"][0], name, item["post"]) for name, item in description["webhooks"].items()]
    assert len(operations) > 50
    for tag, name, operation in (*operations, *sent):
        page = pages[f"/docs/api/{tag}"]
        assert (name if "/" in name else plain(operation["summary"])) in overview
        assert plain(operation["summary"]) in page.one("h2", id=operation["operationId"]).text
        section = page.one("section", **{"aria-labelledby": operation["operationId"]}).text
        for parameter in operation.get("parameters", ()):
            assert parameter.get("name", "Idempotency-Key") in section, (name, parameter)
        for status, answer in operation["responses"].items():
            assert ("any other" if status == "default" else status) in section
            assert plain(answer["description"]) in section, (name, status)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            schema = resolved(description, content["schema"])
            assert all(field in section for field in schema.get("properties", {})), name


async def test_every_answered_object_is_there_with_its_fields(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        description, pages = await described(harness), await pages_of(harness)

    for tag in {operation["tags"][0] for item in description["paths"].values() for operation in item.values()}:
        page = pages[f"/docs/api/{tag}"]
        shown = [each["id"] for each in page.all("h3") if "id" in each.attributes]
        tables = dict(zip([each.text for each in page.all("caption")], page.all("table"), strict=True))
        for name in shown:
            fields = description["components"]["schemas"][name]["properties"]
            assert all(field in tables[f"Fields of {name}"].text for field in fields), name


async def test_examples_are_lines_for_a_shell_that_ask_this_service(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        description, pages = await described(harness), await pages_of(harness)

    for path, item in description["paths"].items():
        for method, operation in item.items():
            page = pages[f"/docs/api/{operation['tags'][0]}"]
            for line in lines_of(page.one("code", id=f"{operation['operationId']}-curl").text):
                words = shlex.split(line)
                asked = method_of(words)
                assert (words[0], asked) == ("curl", method.upper()), line
                assert words[-1].startswith(f"{SITE}{path.partition('{')[0]}"), line
                needs_key = bool(operation.get("security")) and {} not in operation["security"]
                assert ("X-API-Key: $KEY" in words) is needs_key, line
                if "--json" in words:
                    json.loads(words[words.index("--json") + 1])


async def test_examples_of_public_reads_answer_as_the_page_says(site: SiteMaker) -> None:
    async with site(registration(EXAMPLE_DI, "Ceramill Zolid"), public_url=SITE) as harness:
        page = Markup.of(await harness.get("/docs/api/register"))
        for name, status in {"search": 200, "refresh": 200, "read_device": 200, "read_actor": 200}.items():
            words = shlex.split(page.one("code", id=f"{name}-curl").text)
            answer = await harness.client.get(words[-1].removeprefix(SITE))
            example = json.loads(page.one("code", id=f"{name}-body").text)

            assert answer.status_code == status, name
            optional = OPTIONAL.get(name, set())
            assert answer.json().keys() - optional == example.keys() - optional, name
            assert example["error"] is None


async def test_guides_have_this_services_address_in_their_examples(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        page = Markup.of(await harness.get("/docs/mcp"))

        assert f"{SITE}/mcp" in page.main
        assert "localhost" not in page.main
        assert page.link("POST /v1/sync") == "/docs/api/watches#sync"


async def test_descriptions_lead_to_guides(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        assert Markup.of(await harness.get("/docs/api/tools")).link("/docs/mcp") == "/docs/mcp"
        assert Markup.of(await harness.get("/docs/api/webhooks")).link("/docs/webhooks") == "/docs/webhooks"


async def test_operations_are_filtered_and_a_filter_that_finds_none_says_so(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        some = Markup.of(await harness.get("/docs/api", q="DELETE watch"))
        none = Markup.of(await harness.get("/docs/api", q="<b>nothing" + "g" * 10_000))
        region = (await harness.client.get("/docs/api?q=DELETE+watch", headers={"X-Fragment": "found"})).text

        assert [each.text for each in some.all("li") if "/v1/" in each.text] == [
            "DELETE /v1/watches/{id} Stop watching"
        ]
        assert some.one("input", id="filter")["value"] == "DELETE watch"
        assert "No operation has “<b>nothing" in none.main
        assert none.all("b") == []
        assert "<html" not in region
        assert 'data-announce="1 operation"' in region


async def test_pages_are_kept_by_clients_and_compressed(site: SiteMaker) -> None:
    async with site(public_url=SITE) as harness:
        for path in ("/docs", "/docs/api", "/docs/api/watches", "/docs/events"):
            first = await harness.get(path)
            again = await harness.client.get(path, headers={"If-None-Match": first.headers["etag"]})
            packed = await harness.client.get(path, headers={"Accept-Encoding": "gzip"})

            assert (again.status_code, again.content) == (304, b"")
            assert packed.headers["content-encoding"] == "gzip"
            assert len(first.content) < 300_000


@pytest.mark.parametrize(
    "path", ["/docs/decisions", "/docs/performance", "/docs/api/nothing", "/docs/..%2fREADME", "/docs/"]
)
async def test_there_is_no_page_but_those(site: SiteMaker, path: str) -> None:
    async with site() as harness:
        assert (await harness.client.get(path)).status_code == 404


def plain(text: str) -> str:
    """A description as its page shows it, without marks."""
    return " ".join(text.replace("`", "").split())


def resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema
    if "$ref" in schema:
        found = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def lines_of(code: str) -> list[str]:
    """The commands of an example: a body may have several lines."""
    return [f"curl{each}" for each in re.split(r"^curl", code, flags=re.MULTILINE)[1:]]


def method_of(words: list[str]) -> str:
    if "-X" in words:
        return words[words.index("-X") + 1]
    return "POST" if {"--json", "--data-binary"} & set(words) else "GET"
