"""The people of an account as its owners see them: second factors, last sign-ins, open invitations."""

from collections.abc import Sequence

import msgspec

from registerwatch.accounts import repository
from registerwatch.accounts.models import Caller, User
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.passwords.confirmation_repository import OpenInvitation
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors, second_factors_of
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database


class Teammate(msgspec.Struct, frozen=True):
    """A user, and their factors beside the password."""

    user: User
    second_factors: SecondFactors


class Team(msgspec.Struct, frozen=True):
    """The users, oldest first, and the invitations."""

    people: Sequence[Teammate]
    invitations: Sequence[OpenInvitation]

    def person(self, user_id: int) -> Teammate | None:
        """The user with an id; None where the account has none."""
        return next((each for each in self.people if each.user.id == user_id), None)


class TeamReader:
    """Reads the people of an account."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def team(self, caller: Caller) -> Team:
        """The people of the caller's account."""
        account_id, now = caller.account.id, int(self._clock.now())
        async with self._database.reading() as connection:
            users = await repository.users_of(connection, account_id)
            factors = await second_factors_of(connection, account_id)
            invitations = await confirmation_repository.invitations_of(connection, account_id, now)
        return Team([Teammate(user, factors.get(user.id, SecondFactors())) for user in users], invitations)
