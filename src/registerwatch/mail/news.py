"""Mails about changes: their parts, and their text and HTML. A mail is shorter than what mail programs cut off."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from textwrap import wrap

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from registerwatch.mail.clean_text import unlinked
from registerwatch.platform.structs import replace

MAX_HTML_BYTES = 90_000
"""Gmail shows 102 KB of a mail and cuts off the rest, foot and all."""
LINE_LENGTH = 76

_BREAKABLE = re.compile("[./:@_]")
"""An escaped character contains none of these."""


class NewsRow(msgspec.Struct, frozen=True):
    """A field that changed, as people read it. `before` is None without an earlier value."""

    field: str
    before: str | None
    after: str
    line: str
    """The whole row in a line."""


class NewsPart(msgspec.Struct, frozen=True):
    """Changes seen at one time. `more` rows are left out."""

    seen: str
    rows: Sequence[NewsRow]
    more: int = 0

    @property
    def compares(self) -> bool:
        """Whether any row has a `before`."""
        return any(row.before is not None for row in self.rows)

    @property
    def changes(self) -> int:
        """Number of changes, with those that are left out; a part without rows counts as one."""
        return len(self.rows) + self.more or 1


class NewsBlock(msgspec.Struct, frozen=True):
    """Everything that one watch has to report, several of one manufacturer, or several about one certificate. URLs are
    of this service.
    """

    title: str
    identity: str
    """`UDI-DI 04012345678901`; empty where that is not known."""
    severity: str
    parts: Sequence[NewsPart]
    watch_url: str
    """Empty for a block about several watches."""
    record_url: str
    about: str = ""
    """The watches of the block, where it is about several."""
    changes: int = 1
    """Number of changes, with those that are left out."""
    record_title: str = "Record"
    """Text of the link `record_url`."""


class NewsMail(msgspec.Struct, frozen=True):
    """A mail of blocks, the worst first. `left_out` counts changes of blocks that it does not show."""

    subject: str
    blocks: Sequence[NewsBlock]
    choice: str
    """The reader's choice of mails, in words."""
    times: str
    """The time zone of its times, in words."""
    service: str
    events_url: str
    choices_url: str
    unsubscribe_url: str
    left_out: int = 0
    note: str = ""
    """A sentence for services whose records are not the register's own."""


def texts_of(mail: NewsMail) -> tuple[str, str]:
    """Text and HTML of a mail. Where the mail would be too long, its last blocks are left out; of a single block, its
    oldest parts. What is left out is counted.
    """
    mail = _cut(mail, _fitting(mail.blocks))
    html = _html(mail)
    while (size := len(html.encode())) > MAX_HTML_BYTES and (shorter := _shorter(mail, size)) is not None:
        mail = shorter
        html = _html(mail)
    return _environment(is_html=False).get_template("news.txt").render(mail=mail), html


def _html(mail: NewsMail) -> str:
    return _environment(is_html=True).get_template("news.html").render(mail=mail)


def _fitting(blocks: Sequence[NewsBlock]) -> int:
    """How many of the first blocks may fit by their values alone, which HTML makes longer: rendering too many costs
    half a second.
    """
    lengths = (sum(_length(row) for part in block.parts for row in part.rows) for block in blocks)
    return sum(length <= MAX_HTML_BYTES for length in accumulate(lengths))


def _length(row: NewsRow) -> int:
    return len(row.field) + len(row.before or "") + len(row.after)


def _shorter(mail: NewsMail, size: int) -> NewsMail | None:
    """The mail, of `size` bytes, with less in it; None where it cannot be shorter."""
    number = len(mail.blocks)
    if number > 1:
        return _cut(mail, max(1, min(number - 1, number * MAX_HTML_BYTES // size)))
    if not mail.blocks or len(mail.blocks[0].parts) == 1:
        return None
    *parts, before, last = mail.blocks[0].parts
    left = replace(before, more=before.more + last.changes)
    return replace(mail, blocks=[replace(mail.blocks[0], parts=[*parts, left])])


def _cut(mail: NewsMail, most: int) -> NewsMail:
    """The mail with fewer blocks, at least one."""
    kept, gone = mail.blocks[: max(1, most)], mail.blocks[max(1, most) :]
    return replace(mail, blocks=kept, left_out=mail.left_out + sum(block.changes for block in gone))


def severity_word(severity: str) -> str:
    """`High`; a severity that a later release added has its own name."""
    return severity[:1].upper() + severity[1:]


def wrapped(text: str, indent: str, first: str | None = None) -> str:
    """A text on lines of a mail, each behind `indent`, the first one behind `first` where that differs."""
    begin = indent if first is None else first
    lines = wrap(unlinked(text), LINE_LENGTH, initial_indent=begin, subsequent_indent=indent, break_long_words=False)
    return "\n".join(lines) or begin.rstrip()


def breakable(text: str) -> Markup:
    """A text that may be broken after points and slashes. Mail programs do not turn it into links."""
    return Markup(_BREAKABLE.sub(r"\g<0><wbr>", str(escape(text))))  # noqa: S704  # escaped


@cache
def _environment(*, is_html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("registerwatch.mail"),
        autoescape=is_html,  # noqa: S701  # in plain text escapes would be visible
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
        auto_reload=False,
    )
    environment.filters.update(wrapped=wrapped, breakable=breakable)
    environment.globals.update(severity_word=severity_word)
    return environment
