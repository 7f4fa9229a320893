"""Deliveries that a node of the release before has put while both releases run: they hold no events.

Their events are read from where watches store them. The release after this one needs neither this nor `events.batch`.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.notifications.channels import Channel
from registerwatch.notifications.repository import ClaimedDelivery
from registerwatch.platform.structs import replace
from registerwatch.watches.events.event_repository import events_of_batches
from registerwatch.watches.models import Event


async def with_events(
    connection: AsyncConnection, claimed: Sequence[ClaimedDelivery], channels: Mapping[str, Channel]
) -> Sequence[ClaimedDelivery]:
    """The claimed deliveries, of which those that have neither a body nor events get their events."""
    batches = [each.delivery.batch for each in claimed if _is_older(each)]
    if not batches:
        return claimed
    stored = await events_of_batches(connection, batches)
    return [
        replace(each, events=_rendered(each, stored, channels[each.target.channel])) if _is_older(each) else each
        for each in claimed
    ]


def _rendered(
    claimed: ClaimedDelivery, stored: Mapping[tuple[int, str], Sequence[Event]], channel: Channel
) -> Sequence[str]:
    events = stored.get((claimed.delivery.account_id, claimed.delivery.batch), ())
    return ["\n".join(channel.render_event(event) for event in events)] if events else ()


def _is_older(claimed: ClaimedDelivery) -> bool:
    return claimed.delivery.body is None and not claimed.events
