"""`registerwatch watches …`: rechecking now."""

import asyncio

import typer

from registerwatch import logs
from registerwatch.bootstrap import build_service
from registerwatch.commands.contact import warn_without_contact
from registerwatch.db.migrate import upgrade
from registerwatch.settings import Settings, load_settings
from registerwatch.watches.recheck import RecheckResult

app = typer.Typer(help="Watches of all accounts.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Watches of all accounts."""


@app.command("recheck")
def recheck() -> None:
    """Recheck now: read the watches that were not read for the longest time, as the background does by itself."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    warn_without_contact(settings)
    done = asyncio.run(_recheck(settings))
    typer.echo(f"{done.tried} subjects tried, {done.found} read. What changed goes out from `serve` or `work`.")


async def _recheck(settings: Settings) -> RecheckResult:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        return await service.watches.recheck.run()
    finally:
        await service.close()
