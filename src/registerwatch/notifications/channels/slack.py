"""Slack: blocks of Block Kit, posted to an incoming webhook.

The register's texts are in rich text and plain text, in which Slack reads no markup: a name with `<!channel>`, `*` or
`:smile:` is shown literally and does not mention anybody.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.channels.chat_news import ChatBlock, ChatLink, ChatNews, and_more
from registerwatch.platform.net.addresses import Target as Address

HOSTS = ("hooks.slack.com", "hooks.slack-gov.com")
PATH = "/services/"
MAX_BLOCKS = 50
"""Limit of one message; the header and the lines below count."""
MAX_HEADER_LENGTH = 150
MAX_TEXT_LENGTH = 3_000
MAX_LENGTH = 12_000
"""Limit of all blocks: Slack answers `msg_blocks_too_long` somewhat above, but does not say so."""


class Slack(ChatService):
    """Incoming webhooks of Slack."""

    name = "slack"
    title = "Slack"
    example = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
    max_blocks = MAX_BLOCKS - 3

    def is_address(self, address: Address) -> bool:
        """Triggers of workflows have other addresses, and take other messages."""
        return address.host in HOSTS and urlsplit(address.url).path.startswith(PATH)

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """A header, a block each, links. `text` is what notifications show."""
        return {
            "text": escaped(news.headline)[:MAX_TEXT_LENGTH],
            "mrkdwn": False,
            "unfurl_links": False,
            "unfurl_media": False,
            "blocks": [
                {"type": "header", "text": _plain(_cut(news.headline, MAX_HEADER_LENGTH))},
                *(_rich(block) for block in news.blocks),
                *({"type": "context", "elements": [_plain(each)]} for each in _below(news)),
                {"type": "context", "elements": [{"type": "mrkdwn", "text": _links(news.links)}]},
            ],
        }

    def fits(self, body: str) -> bool:
        """Whether Slack accepts this length."""
        return len(body) <= MAX_LENGTH


def escaped(text: str) -> str:
    """A text for markup that shows these characters, without mentions and links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rich(block: ChatBlock) -> dict[str, Any]:
    title = {"type": "link", "url": block.url, "text": block.title, "style": {"bold": True}}
    head = {"type": "rich_text_section", "elements": [title, _text(f" {block.about}")]}
    lines = [{"type": "rich_text_section", "elements": [_text(line)]} for line in and_more(block)]
    changes = [{"type": "rich_text_list", "style": "bullet", "elements": lines}] if lines else []
    return {"type": "rich_text", "elements": [head, *changes]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": _cut(text, MAX_TEXT_LENGTH)}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _links(links: Sequence[ChatLink]) -> str:
    return " · ".join(f"<{escaped(link.url)}|{link.title}>" for link in links)


def _below(news: ChatNews) -> Sequence[str]:
    text = " ".join(news.below)
    return [_cut(text, MAX_TEXT_LENGTH)] if text else []


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
