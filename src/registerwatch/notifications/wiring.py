"""The use cases of webhooks, built together."""

from dataclasses import dataclass

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.net.safe_http import SafeHttpClient
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.targets import WebhookService
from registerwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Notifications:
    """What surfaces and background work call."""

    webhooks: WebhookService
    deliveries: DeliveryService


def build_notifications(
    settings: Settings, database: Database, clock: Clock, http_client: SafeHttpClient
) -> Notifications:
    """The use cases over one database."""
    deliveries = DeliveryService(
        database, clock, http_client, service=settings.service_name, user_agent=settings.user_agent
    )
    return Notifications(
        webhooks=WebhookService(database, clock, deliveries, allow_private=settings.webhooks_allow_private),
        deliveries=deliveries,
    )
