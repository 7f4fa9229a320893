"""Rendering the Markdown of `docs/` as HTML: headings with ids, captions of tables, code to copy, links between pages.

HTML in the Markdown is shown as text, so that all markup of a page is made here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import msgspec
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

MAX_STACKED_COLUMNS = 4
"""On narrow pages a table with more columns is scrolled; rows of other tables become short lists."""

IDS_OF_FRAME = ("content", "announcement", "quick")
"""Ids that every page has; headings with these words get other ids."""

_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_NOT_OF_IDS = re.compile(r"[^\w\- ]")

AddressOf = Callable[[str], str | None]
"""Returns the address of a link, None to show only its words."""


class Heading(msgspec.Struct, frozen=True):
    """A heading below the title; `level` is 2 to 6."""

    level: int
    id: str
    text: str


class Document(msgspec.Struct, frozen=True):
    """A page: the text of its first heading, everything after it as HTML, and the headings there."""

    title: str
    body: Markup
    headings: Sequence[Heading]


@dataclass(slots=True)
class _State:
    """The state of rendering one text, shared by the rules."""

    operations: Mapping[str, str]
    prefix: str = ""
    is_in_link: bool = False
    code_blocks: int = 0
    columns: Sequence[str] = ()
    column: int = 0
    captions: list[str] = field(default_factory=list)


def document(text: str, address_of: AddressOf, operations: Mapping[str, str]) -> Document:
    """A page of `docs/`. `operations` are addresses by names in code: `POST /v1/keys`."""
    tokens = _parser().parse(_COMMENT.sub("", text))
    title, tokens = _without_title(tokens)
    headings = _with_ids(tokens)
    _with_captions(tokens, title)
    for token in tokens:
        if token.children is not None:
            token.children = _with_addresses(token.children, address_of)
    return Document(title, _rendered(tokens, operations), headings)


def inline(text: str, address_of: AddressOf, operations: Mapping[str, str]) -> Markup:
    """A description of one or several paragraphs as inline markup."""
    tokens = _parser().parse(text)
    children: list[Token] = []
    for token in tokens:
        if token.children is not None:
            children += [*([Token("softbreak", "br", 0)] if children else ()), *token.children]
    return _rendered([Token("inline", "", 0, children=_with_addresses(children, address_of))], operations)


def heading_id(text: str) -> str:
    """`what-comes` of `What comes?`, as on GitHub."""
    return _NOT_OF_IDS.sub("", text.lower()).replace(" ", "-")


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    return parser.enable("table").disable("image")


def _rendered(tokens: Sequence[Token], operations: Mapping[str, str]) -> Markup:
    parser = _parser()
    html = parser.renderer.render(tokens, parser.options, {"state": _State(operations)})
    return Markup(html)  # noqa: S704  # the renderer escapes what it is given


def _without_title(tokens: list[Token]) -> tuple[str, list[Token]]:
    """The text of the first heading, and the rest."""
    assert tokens[0].tag == "h1", "a page begins with its title"
    return plain_text(tokens[1]), tokens[3:]


def plain_text(inline_token: Token) -> str:
    """The words of a paragraph, heading or cell."""
    return "".join(child.content for child in inline_token.children or ())


def _with_ids(tokens: Sequence[Token]) -> list[Heading]:
    """Give each heading a unique id."""
    headings: list[Heading] = []
    ids = dict.fromkeys(IDS_OF_FRAME, 1)
    for number, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        text = plain_text(tokens[number + 1])
        plain = heading_id(text)
        ids[plain] = count = ids.get(plain, 0) + 1
        heading = Heading(int(token.tag[1]), plain if count == 1 else f"{plain}-{count - 1}", text)
        token.attrSet("id", heading.id)
        headings.append(heading)
    return headings


def _with_captions(tokens: Sequence[Token], title: str) -> None:
    """Give each table a caption: the heading above it and the names of its columns."""
    heading, table = title, None
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = plain_text(tokens[number + 1])
        elif token.type == "table_open":
            table, token.meta["columns"] = token, []
        elif token.type == "th_open" and table is not None:
            table.meta["columns"].append(plain_text(tokens[number + 1]))
        elif token.type == "thead_close" and table is not None:
            table.meta["caption"] = f"{heading}: {', '.join(filter(None, table.meta['columns']))}"


def _with_addresses(children: Sequence[Token], address_of: AddressOf) -> list[Token]:
    """Inline tokens with links to pages of the service; links without an address become text."""
    kept: list[Token] = []
    are_links: list[bool] = []
    for child in children:
        if child.type == "link_open":
            address = address_of(str(child.attrGet("href")))
            are_links.append(address is not None)
            if address is None:
                continue
            child.attrSet("href", address)
            if "://" in address:
                child.attrSet("rel", "external noreferrer")
        elif child.type == "link_close" and not are_links.pop():
            continue
        kept.append(child)
    return kept


class _Renderer(RendererHTML):
    """Renders tokens; the methods have the names of the tokens that they render."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        state: _State = env["state"]
        state.code_blocks += 1
        return str(code_block(tokens[idx].content.rstrip("\n"), f"code-{state.code_blocks}"))

    code_block = fence

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        state: _State = env["state"]
        code = tokens[idx].content
        address = None if state.is_in_link else state.operations.get(code.partition("?")[0])
        html = Markup("<code>{}</code>").format(code)
        return str(html if address is None else Markup('<a href="{}">{}</a>').format(address, html))

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["state"].is_in_link = True
        return self.renderToken(tokens, idx, options, env)

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["state"].is_in_link = False
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        state: _State = env["state"]
        state.columns = tokens[idx].meta["columns"]
        caption = tokens[idx].meta["caption"]
        state.captions.append(caption)
        if (count := state.captions.count(caption)) > 1:
            caption = f"{caption} ({count})"
        caption_html = Markup('<caption class="hidden">{}</caption>\n').format(caption)
        if len(state.columns) <= MAX_STACKED_COLUMNS:
            return str(Markup('<table class="stacks">\n') + caption_html)
        region = Markup('<div class="scrolls" role="region" tabindex="0" aria-label="{}">\n<table>\n').format(caption)
        return str(region + caption_html)

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table>\n" if len(env["state"].columns) <= MAX_STACKED_COLUMNS else "</table>\n</div>\n"

    def tr_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["state"].column = 0
        return "<tr>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<th scope="col">' if plain_text(tokens[idx + 1]) else "<td>"

    def th_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</th>\n" if plain_text(tokens[idx - 1]) else "</td>\n"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """The first cell of a row is its header. The others have one element, so that a label fits beside it."""
        state: _State = env["state"]
        state.column += 1
        if state.column == 1 and plain_text(tokens[idx + 1]):
            return '<th scope="row">'
        label = state.columns[state.column - 1]
        return str(Markup('<td data-label="{}"><span>').format(label)) if label else "<td><span>"

    def td_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</th>\n" if env["state"].column == 1 and plain_text(tokens[idx - 1]) else "</span></td>\n"


def code_block(code: str, block_id: str) -> Markup:
    """Lines of code with a button to copy them, which needs the script."""
    return Markup(
        '<div class="code-block">\n<pre tabindex="0"><code id="{id}">{code}</code></pre>\n'
        '<button type="button" class="plain" data-copy="{id}" hidden>Copy</button>\n</div>\n'
    ).format(id=block_id, code=escape(code))
