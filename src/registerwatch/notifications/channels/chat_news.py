"""The content of a chat message: the mail about the same events, in few lines, for each service's own form. Pure."""

from collections.abc import Sequence

import msgspec

from registerwatch.mail.clean_text import unlinked
from registerwatch.mail.news import NewsBlock, NewsMail, severity_word
from registerwatch.platform.structs import replace

MAX_LINES = 8
"""Changes of one block."""

TEST = "A test of Registerwatch: changes of what you watch will be posted here."


class ChatBlock(msgspec.Struct, frozen=True):
    """A block of the mail: all that one watch reports, or several about the same. `more` changes are left out."""

    title: str
    about: str
    """`UDI-DI 04012345678901, high`."""
    severity: str
    url: str
    lines: Sequence[str]
    more: int
    changes: int


class ChatLink(msgspec.Struct, frozen=True):
    """A link below a message, into this service."""

    title: str
    url: str


class ChatNews(msgspec.Struct, frozen=True):
    """A message, the worst first. `left_out` counts changes of blocks that it does not show; `note` may be empty."""

    headline: str
    blocks: Sequence[ChatBlock]
    links: Sequence[ChatLink]
    left_out: int = 0
    note: str = ""

    @property
    def below(self) -> Sequence[str]:
        """Sentences below the blocks."""
        more = f"{self.left_out:,} more change{'' if self.left_out == 1 else 's'}." if self.left_out else ""
        return [each for each in (more, self.note) if each]

    def cut(self, most: int) -> "ChatNews":
        """Its first blocks."""
        gone = sum(block.changes for block in self.blocks[most:])
        return replace(self, blocks=self.blocks[:most], left_out=self.left_out + gone)


def chat_news(mail: NewsMail) -> ChatNews:
    """The message with a mail's content; a test where the mail has none.

    Chats turn addresses into links: those in names are broken up, so that links lead to this service alone.
    """
    return ChatNews(
        headline=mail.subject if mail.blocks else TEST,
        blocks=[_block(block) for block in mail.blocks],
        links=[ChatLink("All changes", mail.events_url), ChatLink("What is posted here", mail.choices_url)],
        left_out=mail.left_out,
        note=mail.note,
    )


def _block(block: NewsBlock) -> ChatBlock:
    rows = [row for part in block.parts for row in part.rows]
    lines = [unlinked(row.line) for row in rows[:MAX_LINES]]
    return ChatBlock(
        title=unlinked(block.title),
        about=", ".join(filter(None, [unlinked(block.identity), severity_word(block.severity), unlinked(block.about)])),
        severity=block.severity,
        url=block.watch_url or block.record_url,
        lines=lines,
        more=max(0, block.changes - len(lines)) if lines else sum(part.more for part in block.parts),
        changes=block.changes,
    )


def and_more(block: ChatBlock) -> Sequence[str]:
    """The lines of a block, and how many it does not show."""
    return [*block.lines, *([f"and {block.more:,} more"] if block.more else [])]
