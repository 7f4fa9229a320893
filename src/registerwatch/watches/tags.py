"""Tags: short words that an account gives its watches, to find them again and to act on many at once."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.accounts.validation import one_line
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository, tag_repository

MAX_TAG_LENGTH = 40
MAX_TAGS_OF_WATCH = 20
MAX_TAGS_OF_ACCOUNT = 200
MAX_TEXT_LENGTH = 2_000
"""Characters of a field for several tags."""

TOO_MANY_OF_WATCH = f"A watch has at most {MAX_TAGS_OF_WATCH} tags."
TOO_MANY_OF_ACCOUNT = f"An account has at most {MAX_TAGS_OF_ACCOUNT} different tags. Use one that you have."
NO_TAG = "Type a tag, such as “ward 3”."


def tags_of_text(text: str) -> Sequence[str]:
    """The tags in a text that commas separate, each once. Raises `InvalidInput` for one that is too long."""
    if len(text) > MAX_TEXT_LENGTH:
        raise InvalidInput(f"Tags are at most {MAX_TEXT_LENGTH:,} characters together.")
    named = [one_line(each) for each in text.split(",")]
    too_long = next((each for each in named if len(each) > MAX_TAG_LENGTH), None)
    if too_long is not None:
        raise InvalidInput(f"A tag has at most {MAX_TAG_LENGTH} characters; “{too_long[:MAX_TAG_LENGTH]}…” has more.")
    return list(_by_spelling(each for each in named if each).values())


def tag_of(text: str) -> str:
    """The one tag in a text. Raises `InvalidInput` without a tag or with several."""
    found = tags_of_text(text)
    if not found:
        raise InvalidInput(NO_TAG)
    if len(found) > 1:
        raise InvalidInput("Type one tag, without a comma.")
    return found[0]


async def set_tags(connection: AsyncConnection, account_id: int, watch_id: int, tags: Collection[str]) -> None:
    """Let a watch of the account have these tags and no others. The caller has locked the account.

    Raises `CapReached` for too many. The id of another account's watch changes nothing.
    """
    if len(tags) > MAX_TAGS_OF_WATCH:
        raise CapReached(TOO_MANY_OF_WATCH)
    if await repository.own(connection, account_id, [watch_id]):
        await tag_repository.remove(connection, account_id, [watch_id])
        await add_tags(connection, account_id, [watch_id], tags)


async def add_tags(
    connection: AsyncConnection, account_id: int, watch_ids: Collection[int], tags: Collection[str]
) -> int:
    """Add tags to watches of the account, in the spelling that the account uses. Returns the number of watches.

    The caller has locked the account. Raises `CapReached` where a watch or the account would have too many.
    """
    used = await tag_repository.counts(connection, account_id)
    given = _as_spelled(tags, used)
    if len(given.union(used)) > MAX_TAGS_OF_ACCOUNT:
        raise CapReached(TOO_MANY_OF_ACCOUNT)
    own = await repository.own(connection, account_id, watch_ids)
    present = await tag_repository.tags_of(connection, account_id, own)
    if any(len(given.union(present.get(each, ()))) > MAX_TAGS_OF_WATCH for each in own):
        raise CapReached(TOO_MANY_OF_WATCH)
    await tag_repository.add(connection, account_id, own, given)
    return len(own)


async def spelled(connection: AsyncConnection, caller: Caller, tags: Collection[str]) -> Collection[str]:
    """Tags in the spelling that the account uses."""
    return _as_spelled(tags, await tag_repository.counts(connection, caller.account.id))


class TagService:
    """The use cases of an account's tags."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self, caller: Caller) -> Mapping[str, int]:
        """The account's tags in alphabetical order, each with the number of watches that have it."""
        async with self._database.reading() as connection:
            return await tag_repository.counts(connection, caller.account.id)

    async def of_watch(self, caller: Caller, watch_id: int) -> Sequence[str]:
        """The tags of a watch of the account, in alphabetical order."""
        async with self._database.reading() as connection:
            return (await tag_repository.tags_of(connection, caller.account.id, [watch_id])).get(watch_id, ())

    async def set(self, caller: Caller, watch_id: int, text: str) -> None:
        """Let a watch have the tags of a text, which commas separate. Raises `InvalidInput`, `CapReached`."""
        tags = tags_of_text(text)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await set_tags(connection, caller.account.id, watch_id, tags)


def _as_spelled(tags: Collection[str], used: Iterable[str]) -> set[str]:
    known = _by_spelling(used)
    return {known.get(tag.casefold(), tag) for tag in tags}


def _by_spelling(tags: Iterable[str]) -> dict[str, str]:
    """Tags by their spelling without case; the first spelling wins."""
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(tag.casefold(), tag)
    return found
