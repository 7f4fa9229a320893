"""Markdown as pages show it."""

import pytest

from registerwatch.pages.documentation.library import address_of
from registerwatch.pages.documentation.markdown import Document, document, inline
from tests.pages.markup import Markup, accessibility_problems

OPERATIONS = {"POST /v1/keys": "/docs/api/account#create_key"}


def read(text: str) -> Document:
    return document(f"# A title\n\n{text}", address_of, OPERATIONS)


def markup(shown: Document) -> Markup:
    """A page around a document, so that a checker can look at it."""
    return Markup(f'<html lang="en"><title>t</title><main><h1>{shown.title}</h1>{shown.body}</main></html>')


def test_headings_have_ids_as_github_gives_them_and_each_its_own() -> None:
    shown = read("## What comes?\n\n### Python\n\n## A `key`\n\n### Python\n\n## Content\n")

    assert [(each.level, each.id, each.text) for each in shown.headings] == [
        (2, "what-comes", "What comes?"),
        (3, "python", "Python"),
        (2, "a-key", "A key"),
        (3, "python-1", "Python"),
        (2, "content-1", "Content"),
    ]
    assert [each.attributes.get("id") for each in markup(shown).all("h3")] == ["python", "python-1"]
    assert "A title" not in shown.body


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("events.md", "/docs/events"),
        ("events.md#severity", "/docs/events#severity"),
        ("#below", "#below"),
        ("https://www.rfc-editor.org/rfc/rfc5005", "https://www.rfc-editor.org/rfc/rfc5005"),
        ("performance.md", None),
        ("decisions/0021-events-in-commit-order.md", None),
        ("../SECURITY.md", None),
        ("http://example.org/", None),
        ("//example.org/", None),
    ],
)
def test_links_lead_to_pages_of_the_service_or_are_words(link: str, address: str | None) -> None:
    page = markup(read(f"See [these words]({link}) and go on."))

    assert [each["href"] for each in page.all("a")] == ([] if address is None else [address])
    assert "See these words and go on." in page.main


def test_no_markup_and_no_address_that_runs_something_gets_through() -> None:
    hostile = "<script>x()</script> <img src=x onerror=x()> [a](javascript:x()) ![b](https://elsewhere.example/b.png)\n"
    shown = read(
        f"{hostile}\n## <b>&amp;\n\n| <i> | `<u>` |\n|---|---|\n| <s> | {hostile.strip()} |\n\n```\n</code><p>\n```\n"
    )
    page = markup(shown)

    assert {each.tag for each in page.elements}.isdisjoint({"script", "img", "b", "i", "u", "s"})
    assert not any("javascript:" in (each.attributes.get("href") or "") for each in page.elements)
    assert accessibility_problems(page) == []
    assert "<script>x()</script>" in page.main


def test_tables_have_captions_and_heads_of_columns_and_rows() -> None:
    shown = read("## Codes\n\n| code | when |\n|---|---|\n| `a` | now |\n|  | then, `b` too |\n")
    page = markup(shown)

    assert page.one("caption").text == "Codes: code, when"
    assert [(each.text, each["scope"]) for each in page.all("th")] == [("code", "col"), ("when", "col"), ("a", "row")]
    assert [each.attributes.get("data-label") for each in page.all("td")] == ["when", "code", "when"]
    assert accessibility_problems(page) == []


def test_tables_that_are_too_wide_are_scrolled_and_told_apart() -> None:
    table = "| a | b | c | d | e |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n\n"
    page = markup(read(f"## Wide\n\n{table}{table}"))

    assert [each["aria-label"] for each in page.all("div", role="region")] == [
        "Wide: a, b, c, d, e",
        "Wide: a, b, c, d, e (2)",
    ]
    assert all(each["tabindex"] == "0" for each in page.all("div", role="region"))


def test_code_can_be_copied_and_operations_are_linked() -> None:
    shown = read("Use `POST /v1/keys?a=1` or `GET /v1/me`.\n\n```sh\ncurl '<x>'\n```\n\n    two\n")
    page = markup(shown)

    assert page.link("POST /v1/keys?a=1") == "/docs/api/account#create_key"
    assert [each.text for each in page.all("pre")] == ["curl '<x>'", "two"]
    copied = [each["data-copy"] for each in page.all("button")]
    assert copied == [each["id"] for each in page.all("code") if "id" in each.attributes]
    assert all("hidden" in each.attributes for each in page.all("button"))


def test_comments_are_not_shown() -> None:
    assert "table" not in read("before\n\n<!-- table -->\n\nafter").body


def test_a_description_of_several_paragraphs_is_one_line_of_text() -> None:
    told = inline("Say `a` &\n[this](errors.md).\n\nThen <b>.", address_of, {})

    assert told == 'Say <code>a</code> &amp;\n<a href="/docs/errors">this</a>.\nThen &lt;b&gt;.'
