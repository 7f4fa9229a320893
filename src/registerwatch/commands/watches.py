"""`registerwatch watches …`: rechecking and sweeping now."""

import asyncio

import typer

from registerwatch.bootstrap import build_service
from registerwatch.commands.display.contact import warn_without_contact
from registerwatch.commands.display.progress import bar
from registerwatch.ingest.sweeps.certificate_sweep import SweepResult as CertificateSweepResult
from registerwatch.ingest.sweeps.device_sweep import SweepSummary
from registerwatch.platform import logs
from registerwatch.platform.db.migrate import upgrade
from registerwatch.settings import Settings, load_settings
from registerwatch.watches.reading.recheck import RecheckResult

app = typer.Typer(no_args_is_help=True)


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


@app.command("sweep")
def sweep() -> None:
    """Sweep now: list the devices of all watched manufacturers, and all certificates, as the background does."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    warn_without_contact(settings)
    done, certificates = asyncio.run(_sweep(settings))
    typer.echo(
        f"{done.manufacturers:,} manufacturers, {done.requests:,} lists read: {done.differing:,} watched subjects"
        f" differed, {done.news:,} changes of what manufacturers have registered."
    )
    for srn, problem in sorted(done.problems.items()):
        typer.echo(f"{srn} could not be swept: {problem}", err=True)
    if certificates is None:
        typer.echo("Certificates are being listed by another process.")
    elif certificates.problem:
        typer.echo(f"Certificates could not be listed completely: {certificates.problem}", err=True)
    else:
        typer.echo(f"{certificates.listed:,} certificates listed, {certificates.news:,} changes of them.")
    raise typer.Exit(1 if done.problems or (certificates and certificates.problem) else 0)


async def _sweep(settings: Settings) -> tuple[SweepSummary, CertificateSweepResult | None]:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        with bar("swept") as advance:
            devices = await service.device_sweep.sweep_all(advance)
        return devices, await service.certificate_sweep.run_where_due(every=0)
    finally:
        await service.close()


async def _recheck(settings: Settings) -> RecheckResult:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        return await service.watches.recheck.run()
    finally:
        await service.close()
