"""The audit trail as people read it: filtered, in pages in both directions, all of it."""

from registerwatch.accounts.audit import audit_trail
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.audit.audit_pages import LINES_AT_ONCE, PAGE_LINES, ActionGroup, actions_of
from registerwatch.accounts.audit.audit_trail import TrailFilter
from registerwatch.accounts.models import Caller
from registerwatch.accounts.use_cases import Accounts
from registerwatch.platform.db.engine import Database
from tests.accounts.actions import EMAIL, owner_of
from tests.support.fakes import SteppedClock

EVERYTHING = TrailFilter()
KEYS_OF_OWNER = TrailFilter(actions=[Action.KEY_CREATED], actor=EMAIL)


async def _write(database: Database, caller: Caller, clock: SteppedClock, *, keys: int, plans: int = 0) -> None:
    """Lines a minute after each other."""
    lines = [(EMAIL, Action.KEY_CREATED)] * keys + [("operator", Action.PLAN_CHANGED)] * plans
    async with database.transaction() as connection:
        for number, (actor, action) in enumerate(lines):
            clock.move(60)
            await audit_trail.add(
                connection, caller.account.id, now=int(clock.now()), actor=actor, action=action, subject=f"{number}"
            )


def test_every_action_is_in_one_group() -> None:
    grouped = [action for group in ActionGroup for action in actions_of(group)]
    assert sorted(grouped) == sorted(Action)


async def test_pages_lead_back_and_forth_through_what_the_filter_lets_pass(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    owner = await owner_of(accounts)
    await _write(database, owner, clock, keys=2 * PAGE_LINES + 1, plans=3)
    trail, account_id = accounts.trail, owner.account.id

    first = await trail.page(account_id, KEYS_OF_OWNER)
    second = await trail.page(account_id, KEYS_OF_OWNER, before=first.entries[-1].id)
    third = await trail.page(account_id, KEYS_OF_OWNER, before=second.entries[-1].id)
    back = await trail.page(account_id, KEYS_OF_OWNER, after=third.entries[0].id)
    newest = await trail.page(account_id, KEYS_OF_OWNER, after=back.entries[0].id)

    assert [len(each.entries) for each in (first, second, third)] == [PAGE_LINES, PAGE_LINES, 1]
    assert [(each.has_newer, each.has_older) for each in (first, second, third)] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert back.entries == second.entries
    assert newest.entries == first.entries
    assert (newest.has_newer, newest.has_older) == (False, True)
    assert {entry.action for entry in first.entries} == {"key created"}


async def test_days_and_actors_narrow_the_trail_and_nobody_sees_that_of_another(
    accounts: Accounts, database: Database, clock: SteppedClock
) -> None:
    owner, stranger = await owner_of(accounts), await owner_of(accounts, "stranger@other.example")
    await _write(database, owner, clock, keys=4, plans=2)
    now = int(clock.now())

    latest = await accounts.trail.page(owner.account.id, TrailFilter(since=now - 120, until=now))
    by_operator = await accounts.trail.page(owner.account.id, TrailFilter(actor="operator"))
    of_stranger = await accounts.trail.page(stranger.account.id, EVERYTHING)

    assert [entry.subject for entry in latest.entries] == ["4", "3"]
    assert [entry.subject for entry in by_operator.entries] == ["5", "4"]
    assert [entry.action for entry in of_stranger.entries] == ["account opened"]


async def test_all_of_a_long_trail_is_read_once(accounts: Accounts, database: Database, clock: SteppedClock) -> None:
    owner = await owner_of(accounts)
    await _write(database, owner, clock, keys=LINES_AT_ONCE + 2)

    read = [entry.id async for entries in accounts.trail.all(owner.account.id, EVERYTHING) for entry in entries]

    assert len(read) == LINES_AT_ONCE + 3
    assert read == sorted(set(read), reverse=True)
