"""A channel that is no chat: lines of text to rooms."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

WIRING = "notifications/use_cases.py"

RECIPE = Recipe(
    task="A channel",
    folder=Path(__file__).parent,
    files={"notifications/channels/room.py": "../../notifications/plain_channel.py"},
    edits=(
        inserted(
            WIRING,
            "from registerwatch.notifications.channels.mattermost import Mattermost\n",
            "from registerwatch.notifications.channels.room import PlainChannel\n",
        ),
        inserted(WIRING, "CHANNELS = (WebhookChannel.name, EmailChannel.name, ", "PlainChannel.name, "),
        inserted(WIRING, "    channels: Sequence[Channel] = (\n", "        PlainChannel(),\n"),
        inserted("docs/channels.md", "| `webhook` ([webhooks](webhooks.md)), ", "`plain`, "),
    ),
    tests=("tests/notifications/test_channels.py::test_every_channel_is_named_where_channels_are_described",),
)
