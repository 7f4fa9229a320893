"""`registerwatch db …`."""

import asyncio

import typer

from registerwatch.db.engine import Database
from registerwatch.db.migrate import upgrade
from registerwatch.settings import load_settings

app = typer.Typer(help="The database.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The database."""


@app.command("upgrade")
def upgrade_database() -> None:
    """Bring the database to this program's schema. `serve` does so too at its start."""
    database = Database(load_settings().database_address)

    async def run() -> None:
        await upgrade(database)
        await database.close()

    asyncio.run(run())
    typer.echo(f"The {database.kind} database is up to date.")
