"""Checks a target's choice of events."""

from collections.abc import Collection

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import InvalidInput
from registerwatch.notifications.choices import MAX_NAMED, Choice
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.platform.structs import replace
from registerwatch.watches import repository as watch_repository
from registerwatch.watches import tag_repository

BAD_HOUR = "`hour` is a whole number from 0 to 23."
BAD_WEEKDAY = "`weekday` is a whole number from 0 (Monday) to 6 (Sunday)."
TOO_MANY = f"At most {MAX_NAMED} tags and watches are named."
NO_WATCH_ID = "`watches` are ids of watches: whole numbers from 1 on."
NO_SUCH_WATCH = "The account does not watch what one of these ids names: {ids}."
NO_SUCH_TAG = "No watch of the account has these tags: {tags}."
MAX_LISTED = 5


class KnownNames(msgspec.Struct, frozen=True):
    """The account's tags, and those of the named watches that are the account's."""

    tags: Collection[str]
    watches: Collection[int]


async def known_names(connection: AsyncConnection, account_id: int, choice: Choice) -> KnownNames:
    """Names for a choice of the account."""
    tags: Collection[str] = await tag_repository.counts(connection, account_id) if choice.tags else ()
    watches = await watch_repository.own(connection, account_id, choice.watches) if choice.watches else ()
    return KnownNames(tags, watches)


def check_bounds(choice: Choice) -> None:
    """Raise `InvalidInput` for an hour or weekday that does not exist, and for too many names."""
    if not 0 <= choice.hour <= 23:
        raise InvalidInput(BAD_HOUR)
    if not 0 <= choice.weekday <= 6:
        raise InvalidInput(BAD_WEEKDAY)
    if len(choice.tags) + len(choice.watches) > MAX_NAMED:
        raise InvalidInput(TOO_MANY)
    if any(not 0 < each <= MAX_ROW_ID for each in choice.watches):
        raise InvalidInput(NO_WATCH_ID)


def checked_names(choice: Choice, known: KnownNames, before: Choice) -> Choice:
    """A choice with each name once, tags spelled as stored. Raises `InvalidInput` for an unknown name; one that was
    chosen before may stay, though its watch or tag has gone.
    """
    spelled = {tag.casefold(): tag for tag in (*before.tags, *known.tags)}
    if missing := [tag for tag in choice.tags if tag.casefold() not in spelled]:
        raise InvalidInput(NO_SUCH_TAG.format(tags=", ".join(f"“{each[:40]}”" for each in missing[:MAX_LISTED])))
    watches = {*before.watches, *known.watches}
    if unknown := [each for each in choice.watches if each not in watches]:
        raise InvalidInput(NO_SUCH_WATCH.format(ids=", ".join(str(each) for each in unknown[:MAX_LISTED])))
    tags = tuple(dict.fromkeys(spelled[tag.casefold()] for tag in choice.tags))
    return replace(choice, tags=tags, watches=tuple(dict.fromkeys(choice.watches)))
