"""The use cases of webhooks, built together."""

from dataclasses import dataclass

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.net.safe_http import Poster
from registerwatch.notifications.delivery import Deliverer
from registerwatch.notifications.webhooks import Configuring
from registerwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What surfaces and background work call."""

    configuring: Configuring
    deliverer: Deliverer


def build_webhooks(settings: Settings, database: Database, clock: Clock, poster: Poster) -> Webhooks:
    """The use cases over one database."""
    deliverer = Deliverer(database, clock, poster, service=settings.service_name, user_agent=settings.user_agent)
    return Webhooks(
        configuring=Configuring(database, clock, deliverer, allow_private=settings.webhooks_allow_private),
        deliverer=deliverer,
    )
