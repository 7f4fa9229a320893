"""The use cases of notifications, built together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registerwatch.accounts.notices import AccountNotices
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.db.secret_cipher import SecretCipher
from registerwatch.net.account_places import AccountPlaces
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.channels.webhook import WebhookChannel
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.delivery_log import DeliveryLog
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.target_secrets import TargetSecrets
from registerwatch.notifications.targets import MAX_TESTS, MAX_TESTS_PER_ACCOUNT, TargetService
from registerwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Notifications:
    """What watches, surfaces and background work call. `targets` are by the names of their channels."""

    secrets: TargetSecrets
    outbox: DeliveryOutbox
    deliveries: DeliveryService
    targets: Mapping[str, TargetService]
    log: DeliveryLog
    """Of webhooks."""

    @property
    def webhooks(self) -> TargetService:
        """The contract's webhooks."""
        return self.targets[WebhookChannel.name]


def build_channels(settings: Settings, http_client: SafeHttpClient) -> Mapping[str, Channel]:
    """Every channel by its name: a line each."""
    channels: Sequence[Channel] = (
        WebhookChannel(
            http_client,
            service=settings.service_name,
            user_agent=settings.webhook_user_agent,
            allow_private=settings.webhooks_allow_private,
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
) -> Notifications:
    """The use cases over one database."""
    channels = build_channels(settings, http_client)
    secrets = TargetSecrets(database, cipher)
    deliveries = DeliveryService(database, clock, channels, secrets)
    places = AccountPlaces(most=MAX_TESTS, most_per_account=MAX_TESTS_PER_ACCOUNT)
    return Notifications(
        secrets=secrets,
        outbox=DeliveryOutbox(database, clock, channels),
        deliveries=deliveries,
        targets={
            name: TargetService(database, clock, deliveries, each, places, notices, secrets)
            for name, each in channels.items()
        },
        log=DeliveryLog(database, WebhookChannel.name, secrets),
    )
