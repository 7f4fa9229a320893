"""Messages of chats: whole bodies, the limits of each service, hostile names, and what each answer leads to."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registerwatch.errors import InvalidInput
from registerwatch.notifications.channels.chat import ChatChannel, ChatService
from registerwatch.notifications.channels.chat_news import TEST
from registerwatch.notifications.channels.discord import Discord
from registerwatch.notifications.channels.mattermost import Mattermost
from registerwatch.notifications.channels.slack import Slack
from registerwatch.notifications.channels.teams import Teams
from registerwatch.notifications.models import AttemptResult, EventType, Notification, Target
from registerwatch.notifications.use_cases import CHATS
from registerwatch.platform.net.resolver import DnsResolver
from registerwatch.platform.net.safe_http import CheckedNetwork, SafeHttpClient, checked_connections
from registerwatch.rest.channels import KINDS
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event
from tests.notifications.channels.sample_events import AT, INACTIVE, PUBLIC_URL, RENAMED, SUSPENDED, a_target, an_event
from tests.support.fakes import SteppedClock
from tests.support.receiver import Receiver, answer

HOSTILE = "<!channel> <@U1> @here *b* _i_ `c` [x](https://evil.example) <at>all</at> :smile: & \\ \u202e| ~s~ #x"
SERVICES = [pytest.param(each, id=each.name) for each in CHATS]
BY_ADDRESS = "https://watch.example.org/app/watches/12"


def a_chat(
    service: ChatService, *, http_client: SafeHttpClient | None = None, allow_private: bool = False, now: int = AT
) -> ChatChannel:
    return ChatChannel(
        service,
        http_client or SafeHttpClient(_NoConnections(), allow_private=False, seconds=1),
        SteppedClock(now),
        public_url=PUBLIC_URL,
        user_agent="Registerwatch/1.0 (+a contact)",
        allow_private=allow_private,
    )


class _NoConnections:
    async def handle_async_request(self, request: object) -> Any:
        raise AssertionError("nothing is sent")


def body_about(service: ChatService, *events: Event, now: int = AT) -> Any:
    channel, kind = a_chat(service, now=now), EventType.CHANGED if events else EventType.TEST
    notification = Notification("whd_abc", kind, AT, "account@example.org")
    return msgspec.json.decode(
        channel.render(a_target(), notification, [channel.render_event(each) for each in events])
    )


def texts_in(value: object, *names: str) -> Iterator[str]:
    """The texts under some names, wherever they are."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in names and isinstance(each, str):
                yield each
            else:
                yield from texts_in(each, *names)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each, *names)


def test_a_message_of_slack_has_a_header_a_block_for_each_watch_and_links() -> None:
    other = an_event(RENAMED, watch=13, subject="04012345678918", label="Savina")
    assert body_about(Slack(), an_event(SUSPENDED), other) == {
        "text": "High: certificate Z-25-052 suspended, 2 changes of 2 watches",
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": [
            {
                "type": "header",
                "text": {
                    "type": "plain_text",
                    "text": "High: certificate Z-25-052 suspended, 2 changes of 2 watches",
                    "emoji": False,
                },
            },
            _slack_block(
                "Ceramill Zolid", "UDI-DI 04012345678901, High", 12, "Certificate status (Z-25-052): Issued → Suspended"
            ),
            _slack_block("Savina", "UDI-DI 04012345678918, Low", 13, "Trade name: Zolid → Zolid HT+"),
            {
                "type": "context",
                "elements": [
                    {
                        "type": "mrkdwn",
                        "text": "<https://watch.example.org/app/events|All changes> · "
                        "<https://watch.example.org/app/notifications|What is posted here>",
                    }
                ],
            },
        ],
    }


def _slack_block(title: str, about: str, watch: int, *lines: str) -> dict[str, Any]:
    link = {
        "type": "link",
        "url": f"https://watch.example.org/app/watches/{watch}",
        "text": title,
        "style": {"bold": True},
    }
    items = [{"type": "rich_text_section", "elements": [{"type": "text", "text": line}]} for line in lines]
    return {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_section", "elements": [link, {"type": "text", "text": f" {about}"}]},
            {"type": "rich_text_list", "style": "bullet", "elements": items},
        ],
    }


def test_a_message_of_teams_is_one_adaptive_card() -> None:
    opens = {"type": "Action.OpenUrl", "title": "Ceramill Zolid", "url": BY_ADDRESS}
    title = {"type": "TextRun", "text": "Ceramill Zolid", "weight": "bolder", "color": "accent", "selectAction": opens}
    about = {"type": "TextRun", "text": "  UDI-DI 04012345678901, High", "color": "attention"}
    line = {"type": "TextRun", "text": "• Certificate status (Z-25-052): Issued → Suspended"}
    headline = {
        "type": "TextRun",
        "text": "High: certificate Z-25-052 suspended (Ceramill Zolid)",
        "size": "large",
        "weight": "bolder",
    }
    assert body_about(Teams(), an_event(SUSPENDED)) == {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "msteams": {"width": "Full"},
                    "body": [
                        {"type": "RichTextBlock", "inlines": [headline]},
                        {
                            "type": "Container",
                            "separator": True,
                            "items": [
                                {"type": "RichTextBlock", "inlines": [title, about]},
                                {"type": "RichTextBlock", "inlines": [line], "spacing": "small"},
                            ],
                        },
                    ],
                    "actions": [
                        {"type": "Action.OpenUrl", "title": "All changes", "url": f"{PUBLIC_URL}/app/events"},
                        {
                            "type": "Action.OpenUrl",
                            "title": "What is posted here",
                            "url": f"{PUBLIC_URL}/app/notifications",
                        },
                    ],
                },
            }
        ],
    }


def test_a_message_of_mattermost_is_markdown() -> None:
    assert body_about(Mattermost(), an_event(INACTIVE, RENAMED))["text"].split("\n") == [
        r"#### Medium\: manufacturer status Inactive\, 2 changes of Ceramill Zolid",
        "",
        rf"**[Ceramill Zolid](<{BY_ADDRESS}>)** UDI\-DI 04012345678901\, Medium",
        "",
        r"- Manufacturer status\: Active → Inactive",
        r"- Trade name\: Zolid → Zolid HT\+",
        "",
        f"[All changes](<{PUBLIC_URL}/app/events>) · [What is posted here](<{PUBLIC_URL}/app/notifications>)",
    ]


def test_a_message_of_discord_is_embeds_that_mention_nobody() -> None:
    assert body_about(Discord(), an_event(SUSPENDED)) == {
        "content": "**High\\: certificate Z\\-25\\-052 suspended \\(Ceramill Zolid\\)**\n"
        f"[All changes](<{PUBLIC_URL}/app/events>) · [What is posted here](<{PUBLIC_URL}/app/notifications>)",
        "embeds": [
            {
                "title": "Ceramill Zolid",
                "url": BY_ADDRESS,
                "color": 0xC62828,
                "description": "UDI\\-DI 04012345678901\\, High\n"
                "- Certificate status \\(Z\\-25\\-052\\)\\: Issued → Suspended",
            }
        ],
        "allowed_mentions": {"parse": []},
    }


@pytest.mark.parametrize("service", SERVICES)
def test_a_test_says_that_it_is_one(service: ChatService) -> None:
    told = msgspec.json.encode(body_about(service)).decode().replace("\\\\", "")
    assert TEST in told
    assert "UDI-DI" not in told


def many(number: int, text: str) -> Sequence[Event]:
    """Events of as many watches, each with more changes than a message shows, all as long as can be."""

    def changes(watch: int) -> Sequence[FieldChange]:
        suspended = FieldChange("cert_status", "Issued", "Suspended", certificate=f"{watch} {text}")
        others = [FieldChange(f"{text}{index}", text * 9, text * 9, f"{watch} {text}") for index in range(20)]
        return [suspended, *others]

    return [an_event(*changes(each), watch=each, subject=f"{each:014}", label=text * 9) for each in range(number)]


@pytest.mark.parametrize("number", [1, 200])
@pytest.mark.parametrize("text", [HOSTILE, "\\" * 40, '"' * 40, "😀" * 40, "a" * 40], ids=range(5))
def test_no_message_is_longer_than_its_service_takes(number: int, text: str) -> None:
    """Published limits: docs.slack.dev/reference/block-kit, learn.microsoft.com (format of incoming webhooks, 28 KB),
    discord.com/developers/docs/resources/message (embed limits), docs.mattermost.com (16,383 characters of a post).
    """
    events = many(number, text)
    slack = body_about(Slack(), *events)
    header, *blocks = slack["blocks"]
    assert len(header["text"]["text"]) <= 150
    assert len(blocks) <= 49
    assert len(msgspec.json.encode(slack["blocks"]).decode()) <= 13_000
    assert max(map(len, texts_in(slack, "text"))) <= 3_000
    assert len(msgspec.json.encode(body_about(Teams(), *events))) < 28_000
    assert len(body_about(Mattermost(), *events)["text"]) <= 16_383
    discord = body_about(Discord(), *events)
    assert len(discord["content"]) <= 2_000
    assert len(discord["embeds"]) <= 10
    assert max(len(each["title"]) for each in discord["embeds"]) <= 256
    assert max(len(each["description"]) for each in discord["embeds"]) <= 4_096
    assert sum(len(each) for each in texts_in(discord["embeds"], "title", "description")) <= 6_000


@pytest.mark.parametrize("service", SERVICES)
def test_what_a_message_does_not_show_is_counted(service: ChatService) -> None:
    told = msgspec.json.encode(body_about(service, *many(200, "a"))).decode().replace("\\\\", "")
    assert "200 watches" in told
    [left_out] = re.findall(r"([\d,]+) more changes\.", told)
    shown = told.count("/app/watches/")
    assert shown >= 2
    assert int(left_out.replace(",", "")) + 21 * shown == 200 * 21


@pytest.mark.parametrize("service", SERVICES)
def test_hostile_names_mention_nobody_and_all_links_lead_to_this_service(service: ChatService) -> None:
    change = FieldChange("trade_name", HOSTILE, f"{HOSTILE} www.evil.example")
    body = body_about(service, an_event(change, label=HOSTILE))
    told = msgspec.json.encode(body).decode()

    assert "https://evil" not in told
    assert "www.evil" not in told
    assert "\u202e" not in told
    assert all(each.startswith(PUBLIC_URL) for each in texts_in(body, "url"))
    if service.name in ("mattermost", "discord"):
        markdown = [*texts_in(body, "text", "content", "title", "description")]
        read = re.sub(r"\\[!-/:-@\[-`{-~]", "", "\n".join(markdown))  # what stays when each escape is taken away
        assert not re.search(r"[@~`_:](?!//watch)", re.sub(r"\]\(<https://watch\.[^>]*>\)", "]", read))
        assert set(re.findall(r"\]\(<?([^>)]*)", read)) <= {
            BY_ADDRESS,
            f"{PUBLIC_URL}/app/events",
            f"{PUBLIC_URL}/app/notifications",
        }
    if service.name == "slack":
        assert set(re.findall(r"<([^>]*)>", "".join(texts_in(body["text"], "")) + body["text"])) == set()
        marked = [
            each["text"] for block in body["blocks"] for each in block.get("elements", []) if each["type"] == "mrkdwn"
        ]
        assert "channel" not in "".join(marked)
    if service.name == "teams":
        assert '"TextBlock"' not in told, "in which Teams reads Markdown"


@pytest.mark.parametrize("service", SERVICES)
def test_the_page_says_how_to_make_an_address_and_the_interface_names_the_chat(service: ChatService) -> None:
    page = (Path(__file__).parents[3] / "docs" / "chat.md").read_text(encoding="utf-8")
    assert f"\n## {service.title}\n" in page
    assert f"`{service.name}`" in page
    assert f"`{service.name}`" in KINDS


ADDRESSES = [
    (Slack(), "https://hooks.slack.com/services/T0/B0/abc", True),
    (Slack(), "https://hooks.slack.com/triggers/T0/1/abc", False),
    (Slack(), "https://hooks.slack.com.evil.example/services/T0/B0/abc", False),
    (Slack(), "https://evil.example/hooks.slack.com/services/", False),
    (Slack(), "http://hooks.slack.com/services/T0/B0/abc", False),
    (Teams(), "https://prod-12.westeurope.logic.azure.com:443/workflows/a/triggers/manual/paths/invoke?sig=b", True),
    (Teams(), "https://default12.ab.environment.api.powerplatform.com:443/powerautomate/x?sig=b", True),
    (Teams(), "https://acme.webhook.office.com/webhookb2/a@b/IncomingWebhook/c/d", True),
    (Teams(), "https://logic.azure.com.evil.example/", False),
    (Teams(), "https://evillogic.azure.com.example/", False),
    (Discord(), "https://discord.com/api/webhooks/1/abc", True),
    (Discord(), "https://discord.com/channels/1/2", False),
    (Mattermost(), "https://chat.acme.example/team/hooks/abc", True),
    (Mattermost(), "https://chat.acme.example/", False),
    (Mattermost(), "https://10.0.0.1/hooks/abc", False),
]


@pytest.mark.parametrize(("service", "address", "is_one"), ADDRESSES)
def test_only_addresses_of_the_service_itself_are_taken(service: ChatService, address: str, is_one: bool) -> None:
    if is_one:
        assert a_chat(service).check_target(f" {address} ") == address
    else:
        with pytest.raises(InvalidInput):
            a_chat(service).check_target(address)
    if "10.0.0.1" not in address:
        assert a_chat(service, allow_private=True).check_target("http://127.0.0.1:8065/x") == "http://127.0.0.1:8065/x"


def test_a_chat_keeps_no_secret_beside_its_address() -> None:
    chat = a_chat(Slack())
    assert (chat.new_secret(), chat.address_is_secret) == ("", True)
    assert chat.problem(a_target()) is None


CONNECTOR_FAILED = b"Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429"
ANSWERS = [
    (Slack(), answer(200, b"ok"), AttemptResult(True, 200, "")),
    (Discord(), answer(204), AttemptResult(True, 204, "")),
    (Teams(), answer(202), AttemptResult(True, 202, "")),
    (Teams(), answer(200, b"1"), AttemptResult(True, 200, "")),
    (Teams(), answer(200, CONNECTOR_FAILED), AttemptResult(False, 200, "Teams did not take the message")),
    (Slack(), answer(404, b"no_service"), AttemptResult(False, 404, "the receiver answered 404", is_final=True)),
    (Slack(), answer(410), AttemptResult(False, 410, "the receiver answered 410", is_final=True)),
    (Slack(), answer(500), AttemptResult(False, 500, "the receiver answered 500")),
    (
        Slack(),
        answer(429, headers={"Retry-After": "30"}),
        AttemptResult(False, 429, "the receiver answered 429", wait_seconds=30),
    ),
    (
        Discord(),
        answer(429, headers={"retry-after": "1.25"}),
        AttemptResult(False, 429, "the receiver answered 429", wait_seconds=2),
    ),
    (
        Discord(),
        answer(429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        AttemptResult(False, 429, "the receiver answered 429"),
    ),
]


async def test_a_message_is_posted_as_it_is_stored_and_each_answer_means_what_the_service_says(box: Receiver) -> None:
    connections = checked_connections(CheckedNetwork(DnsResolver(), allow_private=True), most=2)
    http_client = SafeHttpClient(connections, allow_private=True, seconds=5)
    notification = Notification("whd_abc", EventType.TEST, AT, "account@example.org")
    async with connections:
        for service, manner, expected in ANSWERS:
            box.script = [manner]
            channel = a_chat(service, http_client=http_client, allow_private=True)
            target = _at(box.url)
            body = channel.render(target, notification, [])
            assert await channel.attempt(target, notification, body, AT, _hand_over) == expected, (service.name, manner)
            sent = box.requests[-1]
            assert sent.body.decode() == body
            assert sent.headers["content-type"] == "application/json"
            assert sent.headers["user-agent"] == "Registerwatch/1.0 (+a contact)"
            assert "signature" not in str(sent.headers)


def _at(url: str) -> Target:
    target = a_target()
    return Target(target.id, 3, "slack", "https://shown/…", url, None, None, False, 0, None, None, None)


async def _hand_over() -> None:
    raise AssertionError("a chat does not send once")
