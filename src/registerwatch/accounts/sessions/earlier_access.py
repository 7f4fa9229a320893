"""Lists access to an account, in the words of the mail about a new password."""

from collections.abc import Iterator, Sequence

from registerwatch.accounts.passwords.confirmation_repository import EarlierAccess
from registerwatch.platform.clock import day_in_words, day_of

MAX_NAMED = 5
"""Passkeys and links that are named one by one."""


def ways_in_words(access: EarlierAccess) -> str:
    """`; what is left: 2 API keys, passkey “Laptop” of 3 Nov 2026`. Empty where nothing is."""
    ways = list(_ways(access))
    return f"; what is left: {', '.join(ways)}" if ways else ""


def _ways(access: EarlierAccess) -> Iterator[str]:
    for things, one, several in (
        (access.keys, "API key", "API keys"),
        (access.webhook_hosts, "channel", "channels"),
        (access.feeds, "feed", "feeds"),
        (access.other_users, "other user", "other users"),
        (access.invitations, "invitation", "invitations"),
    ):
        if things:
            yield f"{len(things)} {one if len(things) == 1 else several}"
    yield from _named([f"passkey “{each.label}” of {_day(each.created_at)}" for each in access.passkeys], "passkeys")
    links = [f"sign-in by a provider as {each.email} of {_day(each.created_at)}" for each in access.provider_links]
    yield from _named(links, "sign-ins by a provider")


def _named(ways: Sequence[str], word: str) -> Iterator[str]:
    yield from ways[-MAX_NAMED:]
    if len(ways) > MAX_NAMED:
        yield f"{len(ways) - MAX_NAMED} older {word}"


def _day(at: int) -> str:
    return day_in_words(day_of(at))
