"""`registerwatch db …`: bringing the database to its schema."""

import asyncio

import typer

from registerwatch.all_tables import SEALED
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.platform.db.sealed_columns import reseal
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.settings import Settings, load_settings

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The database."""


@app.command("upgrade")
def upgrade_database() -> None:
    """Bring the database to this program's schema. `serve` does so too at its start."""
    kind = bring_to_schema(load_settings().database_address)
    typer.echo(f"The {kind} database is up to date.")


def prepare_secrets(settings: Settings) -> None:
    """Encrypt the secrets that are not encrypted under the present key. Raises `ConfigurationError`."""
    database = Database(settings.database_address)

    async def run() -> None:
        try:
            await reseal(database, SecretCipher(settings.secrets_keys), SEALED)
        finally:
            await database.close()

    asyncio.run(run())


def bring_to_schema(address: str) -> str:
    """Bring a database to this program's schema. Returns its kind. Raises `DatabaseUnavailable`."""
    database = Database(address)

    async def run() -> None:
        try:
            await upgrade(database)
        finally:
            await database.close()

    asyncio.run(run())
    return database.kind
