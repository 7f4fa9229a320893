"""Reading a page as a browser would: its text, links, fields and structured data, and what is wrong with it."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import httpx2

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
FIELDS = frozenset({"input", "select", "textarea"})


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its attributes and the text inside it."""

    tag: str
    attributes: dict[str, str | None]
    is_drawn: bool = False
    """Whether it is part of a drawing."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, white space made one space."""
        return " ".join("".join(self.pieces).split())

    def __getitem__(self, name: str) -> str:
        value = self.attributes[name]
        return "" if value is None else value


class Markup(HTMLParser):
    """A page that was read. `problems` lists what is wrong with its markup."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.problems: list[str] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        self.problems += [f"<{element.tag}> is never closed" for element in self._open]

    @classmethod
    def of(cls, response: httpx2.Response) -> "Markup":
        """The page in an answer."""
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        return cls(response.text)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of this name with these attributes."""
        return [
            each
            for each in self.elements
            if each.tag == tag and all(each.attributes.get(name) == value for name, value in attributes.items())
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        """The only such element."""
        found = self.all(tag, **attributes)
        assert len(found) == 1, (tag, attributes, found)
        return found[0]

    def link(self, text: str) -> str:
        """Where the link with this text leads."""
        found = {each["href"] for each in self.all("a") if each.text == text}
        assert len(found) == 1, (text, found)
        return found.pop()

    @property
    def title(self) -> str:
        """The page's title."""
        [title] = [each for each in self.all("title") if not each.is_drawn]
        return title.text

    @property
    def main(self) -> str:
        """The text of the main part."""
        return self.one("main").text

    @property
    def structured(self) -> Any:
        """The JSON-LD in the page."""
        return json.loads("".join(self.one("script", type="application/ld+json").pieces))

    @property
    def facts(self) -> dict[str, str]:
        """Terms and what is said about them, in the order of the page."""
        pairs = [each for each in self.elements if each.tag in ("dt", "dd")]
        return {term.text: fact.text for term, fact in pairwise(pairs) if (term.tag, fact.tag) == ("dt", "dd")}

    @property
    def rows(self) -> list[list[str]]:
        """The cells' texts of the table's rows, without the head."""
        cells = [each for each in self.elements if each.tag in ("tr", "td") or each.attributes.get("scope") == "row"]
        rows: list[list[str]] = []
        for cell in cells:
            if cell.tag == "tr":
                rows.append([])
            else:
                rows[-1].append(cell.text)
        return [row for row in rows if row]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        element = Element(tag, dict(attrs), any(each.tag == "svg" for each in self._open))
        if len(element.attributes) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Called by the parser."""
        if not self._open or self._open[-1].tag != tag:
            self.problems.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Called by the parser. What is hidden is no text of what is around it."""
        for element in reversed(self._open):
            element.pieces.append(data)
            if "hidden" in element.attributes:
                break


def accessibility_problems(page: Markup) -> list[str]:
    """What a checker would find fault with: names, labels, landmarks, headings, things that the policy forbids."""
    ids = [each["id"] for each in page.elements if "id" in each.attributes]
    labelled = {each["for"] for each in page.all("label")}
    problems = [*page.problems, *(f"id {each} twice" for each in set(ids) if ids.count(each) > 1)]
    for each in page.elements:
        is_hidden = each.attributes.get("type") == "hidden"
        if each.tag in FIELDS and not is_hidden and each.attributes.get("id") not in labelled:
            problems.append(f"field {each.attributes} has no label")
        if each.tag in ("a", "button", "th", "caption", "h1", "h2", "option", "label") and not each.text:
            problems.append(f"<{each.tag}> {each.attributes} has no text")
        if each.tag == "th" and each.attributes.get("scope") not in ("col", "row"):
            problems.append("a head cell has no scope")
        if any(name == "style" or name.startswith("on") for name in each.attributes):
            problems.append(f"<{each.tag}> has inline style or script")
        if not set((each.attributes.get("aria-labelledby") or "").split()) <= set(ids):
            problems.append(f"{each.attributes} is labelled by nothing")
    if len(page.all("table")) != len(page.all("caption")):
        problems.append("a table has no caption")
    once = [each.tag for each in page.elements if each.tag in ("main", "h1", "title") and not each.is_drawn]
    problems += [f"not one <{tag}>" for tag in ("main", "h1", "title") if once.count(tag) != 1]
    if page.one("html").attributes.get("lang") != "en":
        problems.append("the page has no language")
    return problems
