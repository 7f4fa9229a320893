"""The pace of processes that tests start: a stand-in register needs no caution."""

import asyncio

from sqlalchemy import text

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade


def start_fast(database_url: str) -> None:
    """Bring a database to the present schema, with a pace as high as the settings of the processes allow."""
    asyncio.run(_start_fast(database_url))


async def _start_fast(database_url: str) -> None:
    database = Database(database_url)
    await upgrade(database)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE request_budgets SET pace = 1000000"))
    await database.close()
