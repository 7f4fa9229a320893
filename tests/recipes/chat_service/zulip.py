"""Zulip: Markdown, posted to an incoming webhook in the form that Slack's have."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.channels.chat_news import ChatNews, and_more
from registerwatch.notifications.channels.markdown import literal
from registerwatch.platform.net.addresses import Target as Address

PATH = "/api/v1/external/slack_incoming"
MAX_LENGTH = 10_000


class Zulip(ChatService):
    """Incoming webhooks of Zulip."""

    name = "zulip"
    title = "Zulip"
    example = "https://zulip.example.org/api/v1/external/slack_incoming?api_key=xxxxxxxx"
    max_blocks = 20

    def is_address(self, address: Address) -> bool:
        """Servers are anybody's."""
        return urlsplit(address.url).path == PATH

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """One message."""
        lines = [line for block in news.blocks for line in (block.title, *and_more(block))]
        return {"text": "\n".join(literal(line) for line in (news.headline, *lines, *news.below))}

    def fits(self, body: str) -> bool:
        """Whether it is one message."""
        return len(body) <= MAX_LENGTH
