"""Reads the audit trail: filtered, page by page in both directions, or all of it."""

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum

import msgspec

from registerwatch.accounts.audit import audit_trail
from registerwatch.accounts.audit.audit import Action, AuditEntry
from registerwatch.accounts.audit.audit_trail import TrailFilter
from registerwatch.platform.db.engine import Database

PAGE_LINES = 50
LINES_AT_ONCE = 500
"""Lines per batch of a whole trail."""


class ActionGroup(StrEnum):
    """Subjects of actions."""

    ACCESS = "access"
    """Sign-ins, passwords, second factors, and all that no other group has."""
    PEOPLE = "people"
    KEYS = "keys"
    WEBHOOKS = "webhooks"
    """Webhooks and other channels, and feeds."""
    BILLING = "billing"
    """Plans and subscriptions."""


_GROUPS = {
    ActionGroup.PEOPLE: {
        Action.USER_ADDED,
        Action.USER_REMOVED,
        Action.USER_LEFT,
        Action.ROLE_CHANGED,
        Action.USER_INVITED,
        Action.INVITATION_ACCEPTED,
        Action.INVITATION_WITHDRAWN,
    },
    ActionGroup.KEYS: {Action.KEY_CREATED, Action.KEY_REVOKED},
    ActionGroup.WEBHOOKS: {
        Action.WEBHOOK_CHANGED,
        Action.CHANNEL_CHANGED,
        Action.MAILS_TURNED_OFF,
        Action.MAILS_TURNED_ON,
        Action.FEED_MADE,
        Action.FEED_ENDED,
    },
    ActionGroup.BILLING: {
        Action.PLAN_CHANGED,
        Action.CHECKOUT_STARTED,
        Action.SUBSCRIPTION_CANCELLED,
        Action.SUBSCRIPTION_RESUMED,
    },
}


def actions_of(group: ActionGroup) -> Sequence[Action]:
    """The actions of a group. Every action is in one."""
    in_others = {action for actions in _GROUPS.values() for action in actions}
    own = _GROUPS.get(group, set(Action) - in_others)
    return [action for action in Action if action in own]


class TrailPage(msgspec.Struct, frozen=True):
    """Lines of the trail, the newest first; whether there are newer and older ones that match the filter."""

    entries: Sequence[AuditEntry]
    has_newer: bool
    has_older: bool


class AuditTrailReader:
    """Reads the trail of an account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, account_id: int, chosen: TrailFilter, *, before: int | None = None, after: int | None = None
    ) -> TrailPage:
        """The newest lines; or those before the line with this id, or else those right after one."""
        async with self._database.reading() as connection:
            if after is not None and before is None:
                found = await audit_trail.following(connection, account_id, chosen, after, PAGE_LINES + 1)
                shown = found[:PAGE_LINES][::-1]
                has_newer, has_older = len(found) > PAGE_LINES, True
            else:
                found = await audit_trail.preceding(connection, account_id, chosen, before, PAGE_LINES + 1)
                shown = found[:PAGE_LINES]
                has_newer, has_older = before is not None, len(found) > PAGE_LINES
        return TrailPage(shown, has_newer, has_older)

    async def all(self, account_id: int, chosen: TrailFilter) -> AsyncIterator[Sequence[AuditEntry]]:
        """Every line that matches the filter, the newest first, in batches."""
        before: int | None = None
        while True:
            async with self._database.reading() as connection:
                found = await audit_trail.preceding(connection, account_id, chosen, before, LINES_AT_ONCE)
            if found:
                yield found
            if len(found) < LINES_AT_ONCE:
                return
            before = found[-1].id
