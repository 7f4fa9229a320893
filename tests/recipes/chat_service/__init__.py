"""A chat service: Zulip."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

WIRING = "notifications/use_cases.py"

RECIPE = Recipe(
    task="A chat service",
    folder=Path(__file__).parent,
    files={"notifications/channels/zulip.py": "zulip.py"},
    edits=(
        inserted(
            WIRING,
            "from registerwatch.notifications.channels.webhook import WebhookChannel\n",
            "from registerwatch.notifications.channels.zulip import Zulip\n",
        ),
        Edit(WIRING, "Mattermost(), Discord())", "Mattermost(), Discord(), Zulip())"),
        Edit("docs/channels.md", "`mattermost` ([chats]", "`mattermost`, `zulip` ([chats]"),
        Edit(
            "docs/chat.md",
            "## What comes\n",
            "## Zulip\n\n1. At the channel, add the integration “Slack-compatible webhook”.\n\n## What comes\n",
        ),
    ),
)
