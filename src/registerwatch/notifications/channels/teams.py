"""Microsoft Teams: an Adaptive Card, posted to a workflow "When a Teams webhook request is received".

The register's texts are in text runs, in which Teams reads no Markdown: a name with `[link](…)` or `<at>…</at>` is
shown literally.
"""

from collections.abc import Mapping
from typing import Any

from registerwatch.notifications.channels.chat import ChatService
from registerwatch.notifications.channels.chat_news import ChatBlock, ChatLink, ChatNews, and_more
from registerwatch.platform.net.addresses import Target as Address

WORKFLOW_DOMAINS = (".logic.azure.com", ".logic.azure.us", ".powerplatform.com", ".powerplatform.us")
CONNECTOR_DOMAIN = ".webhook.office.com"
MAX_BYTES = 27_000
"""Teams accepts 28 KB in a message."""
MAX_CARD_BLOCKS = 30

CONTENT_TYPE = "application/vnd.microsoft.card.adaptive"
CARD_VERSION = "1.4"
COLOURS = {"high": "attention", "medium": "warning"}
NOT_POSTED = b"failed with error"
"""Answer of connectors with status 200 where Teams refused the message."""


class Teams(ChatService):
    """Workflows of Power Automate, and the incoming webhooks (connectors) before them."""

    name = "teams"
    title = "Microsoft Teams"
    example = (
        "https://default0123.45.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/…/triggers/"
        "manual/paths/invoke?api-version=1&sig=…"
    )
    max_blocks = MAX_CARD_BLOCKS

    def is_address(self, address: Address) -> bool:
        """Whether Microsoft runs workflows or connectors there."""
        return address.host.endswith((*WORKFLOW_DOMAINS, CONNECTOR_DOMAIN))

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """A message with one card."""
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": CARD_VERSION,
            "msteams": {"width": "Full"},
            "body": [
                _runs(_run(news.headline, size="large", weight="bolder")),
                *(_container(block) for block in news.blocks),
                *(_runs(_run(each, isSubtle=True)) for each in news.below),
            ],
            "actions": [_opens(link) for link in news.links],
        }
        return {
            "type": "message",
            "attachments": [{"contentType": CONTENT_TYPE, "contentUrl": None, "content": card}],
        }

    def fits(self, body: str) -> bool:
        """Whether Teams accepts this length."""
        return len(body.encode()) <= MAX_BYTES

    def refusal(self, content: bytes) -> str:
        """The error in a connector's answer where Teams refused the message."""
        return "Teams did not take the message" if NOT_POSTED in content else ""


def _container(block: ChatBlock) -> dict[str, Any]:
    link = _run(block.title, weight="bolder", color="accent", selectAction=_opens(ChatLink(block.title, block.url)))
    about = _run(f"  {block.about}", color=COLOURS.get(block.severity, "default"))
    lines = [_runs(_run(f"• {line}"), spacing="small") for line in and_more(block)]
    return {"type": "Container", "separator": True, "items": [_runs(link, about), *lines]}


def _runs(*runs: dict[str, Any], **options: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs), **options}


def _run(text: str, **options: object) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **options}


def _opens(link: ChatLink) -> dict[str, Any]:
    return {"type": "Action.OpenUrl", "title": link.title, "url": link.url}
