"""Builds the use cases of notifications."""

from collections.abc import Mapping, Sequence

import msgspec

from registerwatch.accounts.notices import AccountNotices
from registerwatch.mail.mailer import Mailer
from registerwatch.notifications.bounces.bounce_mailbox import BounceReader, folder_of
from registerwatch.notifications.bounces.undeliverable import UndeliverableAddresses
from registerwatch.notifications.bounces.unsubscribe import UnsubscribeService
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.channels.chat import ChatChannel
from registerwatch.notifications.channels.discord import Discord
from registerwatch.notifications.channels.email import EmailChannel
from registerwatch.notifications.channels.mattermost import Mattermost
from registerwatch.notifications.channels.slack import Slack
from registerwatch.notifications.channels.teams import Teams
from registerwatch.notifications.channels.webhook import WebhookChannel
from registerwatch.notifications.choice_names import ChoiceNames
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.delivery.delivery_log import DeliveryLog
from registerwatch.notifications.delivery.mail_pace import MailPace
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.targets.channel_service import ChannelService
from registerwatch.notifications.targets.channel_upkeep import ChannelUpkeep
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.notifications.targets.targets import MAX_TESTS, MAX_TESTS_PER_ACCOUNT, TargetService
from registerwatch.notifications.user_time_zones import UserTimeZones
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.net.safe_http import SafeHttpClient
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.settings import Settings

CHATS = (Slack(), Teams(), Mattermost(), Discord())
CHANNELS = (WebhookChannel.name, EmailChannel.name, *(each.name for each in CHATS))
"""The names of all channels, for who describes them."""


class Notifications(msgspec.Struct, frozen=True):
    """The use cases of notifications. `targets` are by the names of their channels."""

    secrets: TargetSecrets
    outbox: DeliveryOutbox
    deliveries: DeliveryService
    """All channels but e-mail."""
    mails: DeliveryService
    """E-mail, which has a worker of its own: a slow mail server delays no other channel."""
    targets: Mapping[str, TargetService]
    channels: ChannelService
    unsubscribe: UnsubscribeService
    time_zones: UserTimeZones
    choice_names: ChoiceNames
    upkeep: ChannelUpkeep
    log: DeliveryLog
    bounce_reader: BounceReader | None
    """None where no mailbox for undeliverable mails is set."""

    @property
    def webhooks(self) -> TargetService:
        """The contract's webhooks."""
        return self.targets[WebhookChannel.name]

    @property
    def results(self) -> Mapping[str, int]:
        """Deliveries that have ended in this process, by result."""
        others = self.mails.results
        return {result: number + others[result] for result, number in self.deliveries.results.items()}

    @property
    def undeliverable(self) -> UndeliverableAddresses:
        """Undeliverable addresses."""
        return self.mails.undeliverable


def build_channels(
    settings: Settings, http_client: SafeHttpClient, mailer: Mailer, clock: Clock
) -> Mapping[str, Channel]:
    """Every channel by its name: a line each."""
    channels: Sequence[Channel] = (
        WebhookChannel(
            http_client,
            service=settings.service_name,
            user_agent=settings.webhook_user_agent,
            allow_private=settings.webhooks_allow_private,
        ),
        EmailChannel(
            mailer,
            clock,
            public_url=settings.public_url,
            bounce_address=settings.bounce_address,
            note=settings.source_note,
        ),
        *(
            ChatChannel(
                each,
                http_client,
                clock,
                public_url=settings.public_url,
                user_agent=settings.webhook_user_agent,
                allow_private=settings.webhooks_allow_private,
                note=settings.source_note,
            )
            for each in CHATS
        ),
    )
    return {channel.name: channel for channel in channels}


def build_notifications(
    settings: Settings,
    database: Database,
    clock: Clock,
    http_client: SafeHttpClient,
    notices: AccountNotices,
    cipher: SecretCipher,
    mailer: Mailer,
) -> Notifications:
    """The use cases over one database."""
    channels = build_channels(settings, http_client, mailer, clock)
    secrets = TargetSecrets(cipher)
    email = {name: each for name, each in channels.items() if name == EMAIL}
    others = {name: each for name, each in channels.items() if name != EMAIL}
    deliveries = DeliveryService(database, clock, others, secrets)
    mails = DeliveryService(database, clock, email, secrets, pace=MailPace(settings.mail_per_minute))
    slots = AccountSlots(most=MAX_TESTS, most_per_account=MAX_TESTS_PER_ACCOUNT)
    targets = {
        name: TargetService(database, clock, mails if name in email else deliveries, each, slots, notices, secrets)
        for name, each in channels.items()
    }
    return Notifications(
        secrets=secrets,
        outbox=DeliveryOutbox(database, clock, channels),
        deliveries=deliveries,
        mails=mails,
        targets=targets,
        channels=ChannelService(database, clock, channels, targets, notices, secrets),
        unsubscribe=UnsubscribeService(database, clock, secrets),
        time_zones=UserTimeZones(database, clock),
        choice_names=ChoiceNames(database),
        upkeep=ChannelUpkeep(database, clock, mailer, public_url=settings.public_url),
        log=DeliveryLog(database, secrets),
        bounce_reader=_bounce_reader(settings, mails),
    )


def _bounce_reader(settings: Settings, mails: DeliveryService) -> BounceReader | None:
    url = settings.bounce_imap_url
    return None if url is None else BounceReader(folder_of(url.get_secret_value()), mails.undeliverable)
