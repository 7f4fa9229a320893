"""Mattermost: Markdown, posted to an incoming webhook of any server."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.channels.chat_news import ChatBlock, ChatNews, and_more
from registerwatch.notifications.channels.markdown import literal
from registerwatch.platform.net.addresses import Target as Address

PATH = "/hooks/"
MAX_LENGTH = 16_000
"""A post has 16,383 characters."""
MAX_POST_BLOCKS = 30


class Mattermost(ChatService):
    """Incoming webhooks of Mattermost."""

    name = "mattermost"
    title = "Mattermost"
    example = "https://mattermost.example.org/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx"
    max_blocks = MAX_POST_BLOCKS

    def is_address(self, address: Address) -> bool:
        """Whether the path is a webhook's; any server may have it."""
        return PATH in urlsplit(address.url).path

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """One post."""
        return {"text": "\n".join(_lines(news))}

    def fits(self, body: str) -> bool:
        """Whether the text is one post."""
        return len(body) <= MAX_LENGTH


def _lines(news: ChatNews) -> Iterator[str]:
    yield f"#### {literal(news.headline)}"
    for block in news.blocks:
        yield from ("", *_block(block))
    yield ""
    yield from (literal(each) for each in news.below)
    yield " · ".join(f"[{link.title}](<{link.url}>)" for link in news.links)


def _block(block: ChatBlock) -> Iterator[str]:
    yield f"**[{literal(block.title)}](<{block.url}>)** {literal(block.about)}"
    yield ""
    yield from (f"- {literal(line)}" for line in and_more(block))
