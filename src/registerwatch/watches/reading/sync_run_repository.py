"""The SQL of syncs that a page started: one row an account, for its last sync."""

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.watches.models import SyncRun
from registerwatch.watches.tables import events, sync_runs


async def of_account(connection: AsyncConnection, account_id: int) -> SyncRun | None:
    """The account's last sync that a page started."""
    columns = (sync_runs.c[name] for name in SyncRun.__struct_fields__)
    found = await connection.execute(select(*columns).where(sync_runs.c.account_id == account_id))
    row = found.mappings().one_or_none()
    return SyncRun(**row) if row is not None else None


async def begin(connection: AsyncConnection, account_id: int, run: SyncRun) -> None:
    """Store a run, which replaces the one before. The caller has locked the account."""
    await connection.execute(delete(sync_runs).where(sync_runs.c.account_id == account_id))
    values = {name: getattr(run, name) for name in SyncRun.__struct_fields__}
    await connection.execute(insert(sync_runs).values(account_id=account_id, **values))


async def note(
    connection: AsyncConnection,
    account_id: int,
    run: str,
    *,
    done: int,
    failed: int,
    after_event: int,
    finished_at: int | None = None,
    error: str = "",
) -> None:
    """Store the progress of a run, with the events since `after_event`, if it is the account's last run."""
    newer = select(func.count()).where(events.c.account_id == account_id, events.c.id > after_event)
    values = {"done": done, "failed": failed, "events": newer.scalar_subquery()}
    of_run = sync_runs.c.account_id == account_id, sync_runs.c.run == run
    noted = update(sync_runs).where(*of_run).values(**values, finished_at=finished_at, error=error)
    await connection.execute(noted)
