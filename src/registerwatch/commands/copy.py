"""`registerwatch copy …`: filling, inspecting and indexing the stored copy."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer
from rich.console import Console

from registerwatch.bootstrap import Service, build_service
from registerwatch.commands.display.contact import warn_without_contact
from registerwatch.commands.display.fill_report import FillProgress, forecast_line, unread_lines
from registerwatch.commands.display.progress import bar, noted_bar
from registerwatch.commands.display.request_display import Countdown
from registerwatch.commands.index_process import indexing_process
from registerwatch.copy.search.indexer import rebuild_request
from registerwatch.errors import IndexUnavailable
from registerwatch.ingest.bulk_load import LoadProgress
from registerwatch.platform import logs
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.migrate import upgrade
from registerwatch.platform.disk import make_folder
from registerwatch.platform.private_files import make_private_folder
from registerwatch.settings import Settings, load_settings

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The stored copy of the register."""


@app.command("fill")
def fill(
    source: Annotated[
        str, typer.Option(help="`datalake` (bulk), `register` (newest first), or a file of records.")
    ] = "datalake",
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew instead of where the last fill stopped.")
    ] = False,
) -> None:
    """Fill the copy. Shows progress; when it was stopped, the same command goes on where it stopped."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    done = asyncio.run(_fill(settings, source, restart=restart))
    typer.echo(f"{done.records:,} records read, {done.changed:,} of them new or changed.")
    for line in unread_lines(done.unread):
        typer.echo(line)


@app.command("status")
def status() -> None:
    """Show the size and age of the copy, its fills, the search index."""
    asyncio.run(_status(load_settings()))


@app.command("reindex")
def reindex(
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="On every node, by itself, after a database was restored."),
    ] = False,
) -> None:
    """Build this node's search index anew from the copy. What is findable stays so meanwhile.

    With --everywhere nothing of the old indexes is kept, as after a restore they may show what the copy has not.
    """
    settings = load_settings()
    logs.set_up(settings.log_format)
    if everywhere:
        asyncio.run(_renew_identity(settings))
        typer.echo("Every node builds its index anew; `/ready` says when one is through.")
        return
    if asyncio.run(_reindex(settings)):
        typer.echo("The search index is built anew.")
    else:
        typer.echo("The running service writes the index; it builds it anew now. `copy status` shows how far it is.")


async def _fill(settings: Settings, source: str, *, restart: bool) -> LoadProgress:
    built = build_service(settings)
    if source in built.bulk_sources:  # any other source is a file
        warn_without_contact(settings)
    async with _opened(built) as service:
        chosen = service.bulk_source(source)
        gc.freeze()  # else collections, with millions of new records, would scan all loaded modules again and again
        if restart:
            await service.bulk_loader.forget(chosen.load_name)
        forecast = forecast_line(await service.bulk_loader.forecast(chosen))
        if forecast is not None:
            typer.echo(forecast, err=True)
        with indexing_process() as indexing:
            countdown = Countdown(Console(stderr=True))
            service.observe_requests(countdown)
            with noted_bar("stored", waiting=lambda: countdown.waiting) as show:
                progress = FillProgress(time.monotonic, show)
                done = await service.bulk_loader.load(chosen, progress.stored, progress.received)
            indexing.finish()
            with bar("indexed") as advance:
                while not indexing.ended():
                    await asyncio.sleep(0.3)
                    state = await service.records.state()
                    advance(service.index.indexed_revision(state.copy_id), state.revision)
        return done


async def _status(settings: Settings) -> None:
    async with _opened(build_service(settings)) as service:
        state, runs = await service.records.state(), await service.bulk_loader.runs()
        index = await _index_status(service)
    console = Console(highlight=False)
    console.print(f"database   {service.database.kind}, revision {state.revision:,}")
    console.print(f"copy       {state.devices:,} registrations")
    console.print(f"index      {index}")
    console.print(f"register   last read {iso_utc(state.last_read_at) if state.last_read_at else 'never'}")
    if runs:
        for run in runs:
            ended = (
                f"finished {iso_utc(run.finished_at)}" if run.finished_at else f"stored until {iso_utc(run.updated_at)}"
            )
            counts = f"{run.records:,} records, {run.changed:,} new or changed"
            console.print(f"fill       {run.source}: {counts}, {ended}", soft_wrap=True)
    elif not state.devices:
        console.print("The copy is empty; fill it with `registerwatch copy fill`.")


async def _index_status(service: Service) -> str:
    """Size and lag of the search index, or that it is damaged."""
    try:
        service.index.refresh()
    except IndexUnavailable:
        return "damaged; `registerwatch serve` and `registerwatch copy reindex` build it anew"
    return f"{service.index.documents:,} devices, {await service.indexer.lag():,} changes behind"


async def _reindex(settings: Settings) -> bool:
    async with _opened(build_service(settings)) as service:
        make_private_folder(rebuild_request(service.index.folder).parent)
        rebuild_request(service.index.folder).touch()
        started = time.monotonic()
        with bar("indexed") as advance:
            written = await service.indexer.catch_up(lambda done, of: advance(done, of))
        if written:
            typer.echo(f"{service.index.documents:,} devices in {time.monotonic() - started:.1f} s.")
        return written


async def _renew_identity(settings: Settings) -> None:
    async with _opened(build_service(settings)) as service:
        await service.records.renew_identity()


@asynccontextmanager
async def _opened(service: Service) -> AsyncIterator[Service]:
    """The service over an up-to-date database, without its background work."""
    make_folder(service.settings.data_dir)
    await upgrade(service.database)
    try:
        yield service
    finally:
        await service.close()
