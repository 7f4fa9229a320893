"""Discord: embeds, posted to a webhook of a channel. Mentions are switched off."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.channels.chat_news import ChatBlock, ChatNews, and_more
from registerwatch.notifications.channels.markdown import literal
from registerwatch.platform.net.addresses import Target as Address

HOSTS = ("discord.com", "ptb.discord.com", "canary.discord.com", "discordapp.com")
PATH = "/api/webhooks/"
MAX_EMBEDS = 10
MAX_TITLE_LENGTH = 256
MAX_DESCRIPTION_LENGTH = 4_096
MAX_BYTES = 6_000
"""Discord accepts 6,000 characters in all embeds together."""
COLOURS = {"high": 0xC62828, "medium": 0xEF6C00}
OTHER_COLOUR = 0x546E7A


class Discord(ChatService):
    """Webhooks of Discord."""

    name = "discord"
    title = "Discord"
    example = "https://discord.com/api/webhooks/000000000000000000/XXXXXXXXXXXXXXXX"
    max_blocks = MAX_EMBEDS

    def is_address(self, address: Address) -> bool:
        """Whether Discord has its webhooks there."""
        return address.host in HOSTS and urlsplit(address.url).path.startswith(PATH)

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """A line of text, an embed for each block, a line with links."""
        links = " · ".join(f"[{link.title}](<{link.url}>)" for link in news.links)
        content = "\n".join([f"**{literal(news.headline)}**", *map(literal, news.below), links])
        return {
            "content": content,
            "embeds": [_embed(block) for block in news.blocks],
            "allowed_mentions": {"parse": []},
        }

    def fits(self, body: str) -> bool:
        """Whether Discord accepts this length, links and all."""
        return len(body) <= MAX_BYTES


def _embed(block: ChatBlock) -> dict[str, Any]:
    lines = [literal(block.about), *(f"- {literal(line)}" for line in and_more(block))]
    return {
        "title": literal(block.title)[:MAX_TITLE_LENGTH],
        "url": block.url,
        "color": COLOURS.get(block.severity, OTHER_COLOUR),
        "description": "\n".join(_within(lines, MAX_DESCRIPTION_LENGTH)),
    }


def _within(lines: Sequence[str], most: int) -> Iterator[str]:
    """The first lines that have room, and a mark where others had none."""
    left = most - 2
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            yield "…"
            return
        yield line
