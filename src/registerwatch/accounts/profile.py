"""The settings of users and accounts: the name of the account, and the available time zones."""

from functools import cache
from zoneinfo import available_timezones

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.validation import MAX_NAME_LENGTH, one_line
from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

REGIONS = (
    "Africa/",
    "America/",
    "Antarctica/",
    "Arctic/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
)
UTC = "UTC"
UNKNOWN_ZONE = "There is no such time zone. Choose one of the list, such as Europe/Berlin."
NO_NAME = "Type the name of the company or hospital."


@cache
def time_zones() -> tuple[str, ...]:
    """The zones on offer: UTC, and those of cities by region."""
    return (UTC, *sorted(zone for zone in available_timezones() if zone.startswith(REGIONS)))


class ProfileService:
    """Changes the name of an account."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def rename_account(self, caller: Caller, name: str) -> None:
        """Give the account another name. The surface checks whether the caller may. Raises `InvalidInput`."""
        cleaned = one_line(name)[:MAX_NAME_LENGTH].rstrip()
        if not cleaned:
            raise InvalidInput(NO_NAME)
        async with self._database.transaction() as connection:
            stored = await repository.locked(connection, caller)
            if stored.name == cleaned:
                return
            await repository.rename_account(connection, stored.id, cleaned)
            await repository.note_by(connection, caller, int(self._clock.now()), Action.ACCOUNT_RENAMED, cleaned)


def zone_of(text: str) -> str:
    """The zone in a user's text, whole or by its city alone. Raises `InvalidInput`."""
    wanted = text.strip().replace(" ", "_").casefold()
    found = [zone for zone in time_zones() if zone.casefold() == wanted]
    found = found or [zone for zone in time_zones() if zone.casefold().rpartition("/")[2] == wanted]
    if len(found) != 1:
        raise InvalidInput(UNKNOWN_ZONE)
    return found[0]


def zone_of_browser(text: str) -> str:
    """The zone of a new user's browser; UTC where it names none, or one that is not offered."""
    try:
        return zone_of(text)
    except InvalidInput:
        return UTC
