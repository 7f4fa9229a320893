"""The names in a choice, as people write them: tags, and watches by their UDI-DI or SRN."""

from collections.abc import Sequence

from registerwatch.accounts.models import Caller
from registerwatch.errors import InvalidInput
from registerwatch.notifications.choices import MAX_NAMED, Choice
from registerwatch.platform.db.engine import Database
from registerwatch.register import identifiers
from registerwatch.watches import repository as watch_repository
from registerwatch.watches import tag_repository

MAX_TEXT_LENGTH = 20_000
TOO_LONG = "That are too many watches. Give them a tag, and choose the tag."
NOT_WATCHED = "You do not watch {subjects}."
MAX_LISTED = 5


class ChoiceNames:
    """Reads tags and watches of an account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, caller: Caller, choice: Choice) -> tuple[Sequence[str], Sequence[str]]:
        """The account's tags, and the subjects of the watches that a choice names."""
        async with self._database.reading() as connection:
            tags = await tag_repository.counts(connection, caller.account.id)
            subjects = await watch_repository.subjects_of(connection, caller.account.id, choice.watches)
        return list(tags), [subjects[each] for each in choice.watches if each in subjects]

    async def watches(self, caller: Caller, text: str) -> tuple[int, ...]:
        """The ids of the watches whose subjects are in a text, with commas or line breaks between them.

        Raises `InvalidInput`.
        """
        if len(text) > MAX_TEXT_LENGTH:
            raise InvalidInput(TOO_LONG)
        named = [each.strip() for each in text.replace(",", "\n").splitlines()]
        wanted = list(dict.fromkeys(identifiers.subject(each) for each in named if each))
        if len(wanted) > MAX_NAMED:
            raise InvalidInput(TOO_LONG)
        async with self._database.reading() as connection:
            possible = [each for each in wanted if identifiers.can_be_stored(each)]
            ids = await watch_repository.ids_of(connection, caller.account.id, possible)
        if missing := [each for each in wanted if each not in ids]:
            listed = ", ".join(f"“{each[:40]}”" for each in missing[:MAX_LISTED])
            raise InvalidInput(NOT_WATCHED.format(subjects=listed))
        return tuple(ids[each] for each in wanted)
