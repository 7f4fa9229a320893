"""Chats: changes, posted to a channel of a chat service. Each service has a module of its own."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.notifications.channels import HandOver
from registerwatch.notifications.channels.chat_news import ChatNews, chat_news
from registerwatch.notifications.channels.event_lines import event_in, event_line
from registerwatch.notifications.channels.event_news import MailAddresses, news_of
from registerwatch.notifications.channels.webhook import PAUSES
from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.platform.clock import Clock
from registerwatch.platform.net.addresses import Target as Address
from registerwatch.platform.net.addresses import target as checked_address
from registerwatch.platform.net.safe_http import PostResult, SafeHttpClient
from registerwatch.watches.models import Event

GONE = (404, 410)
"""Answers of services where the webhook was deleted or its channel archived."""
TOO_MANY = 429

NO_ADDRESS = "its address is not known"

_encoder = msgspec.json.Encoder()


class ChatService(Protocol):
    """A chat service's form."""

    name: str
    """The channel's word."""
    title: str
    """The service's own name."""
    example: str
    """An address in the service's form."""
    max_blocks: int
    """Limit of one message."""

    def is_address(self, address: Address) -> bool:
        """Whether an address is one of its incoming webhooks."""

    def message(self, news: ChatNews) -> Mapping[str, object]:
        """The content to post, in JSON."""

    def fits(self, body: str) -> bool:
        """Whether the service accepts a message of this length."""

    def refusal(self, content: bytes) -> str:
        """Why a message was refused with a status of 2xx, by the beginning of the answer; empty where it was not."""
        return ""


class ChatChannel:
    """A chat service as a channel. Nothing is signed: the address is the secret, since it is enough to post there."""

    pauses: Sequence[float] = PAUSES
    is_for_people = True
    address_is_secret = True

    def __init__(
        self,
        service: ChatService,
        http_client: SafeHttpClient,
        clock: Clock,
        *,
        public_url: str,
        user_agent: str,
        allow_private: bool,
        note: str = "",
    ) -> None:
        self.name, self.title, self.example = service.name, service.title, service.example
        self._service = service
        self._http_client, self._clock = http_client, clock
        self._addresses = MailAddresses(public_url, unsubscribe="")
        self._user_agent = user_agent
        self._allow_private = allow_private
        self._note = note

    def check_target(self, text: str) -> str:
        """The address of an incoming webhook of this service. Raises `InvalidInput`.

        Where private networks are allowed, it may be any: tests have receivers instead of the service.
        """
        address = checked_address(text, allow_private=self._allow_private)
        if not self._allow_private and not self._service.is_address(address):
            raise InvalidInput(
                f"This is no address of an incoming webhook of {self.title}. It looks like {self.example}"
            )
        return address.url

    def new_secret(self) -> str:
        """Empty: the address is the secret."""
        return ""

    def problem(self, target: Target) -> str | None:
        """The problem of a missing address."""
        return None if target.secret else NO_ADDRESS

    def render_event(self, event: Event) -> str:
        """The same line as for mails."""
        return event_line(event)

    def render(self, target: Target, notification: Notification, events: Sequence[str]) -> str:  # the protocol's
        """The message. Blocks at its end are left out where the service would refuse it."""
        mail = news_of(
            [event_in(event) for event in events],
            target.choice,
            target.time_zone,
            self._addresses,
            self._clock.now(),
            self._note,
        )
        return self._longest(chat_news(mail))

    async def attempt(
        self,
        target: Target,
        notification: Notification,
        body: str,
        now: int,
        hand_over: HandOver,  # a chat may get a message twice
    ) -> AttemptResult:
        """Post the message."""
        headers = {"Content-Type": "application/json", "User-Agent": self._user_agent}
        answer = await self._http_client.post(target.secret, body.encode(), headers)
        refusal = self._service.refusal(answer.content) if answer.is_accepted else ""
        if refusal:
            return AttemptResult(is_accepted=False, status=answer.status, error=refusal)
        return AttemptResult(
            answer.is_accepted,
            answer.status,
            answer.error,
            is_final=answer.status in GONE,
            wait_seconds=_wait(answer),
        )

    def _longest(self, news: ChatNews) -> str:
        """The message with the most blocks that the service accepts, and with one at least."""
        least, most = min(1, len(news.blocks)), min(self._service.max_blocks, len(news.blocks))
        while least < most:
            middle = (least + most + 1) // 2
            if self._service.fits(self._body(news.cut(middle))):
                least = middle
            else:
                most = middle - 1
        return self._body(news.cut(least))

    def _body(self, news: ChatNews) -> str:
        return _encoder.encode(self._service.message(news)).decode()


def _wait(answer: PostResult) -> int | None:
    return answer.retry_after if answer.status == TOO_MANY else None
