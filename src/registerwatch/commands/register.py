"""`registerwatch register …`: looking at how the register answers, and the stand-in register."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from registerwatch.register.ingest.check_rules import KnownChecks
    from registerwatch.settings import Settings

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The register and the stand-in."""


@app.command("check")
def check_register() -> None:
    """Look now whether the register answers as the service relies on, as the background does every day."""
    from registerwatch import logs
    from registerwatch.commands.contact import warn_without_contact
    from registerwatch.register.ingest.register_status import CheckState, state_of
    from registerwatch.settings import load_settings

    settings = load_settings()
    logs.set_up(settings.log_format)
    warn_without_contact(settings)
    known = asyncio.run(_check(settings))
    for name, check in known.items():
        told = check.reason if check.unanswered_since is not None else check.found
        typer.echo(f"{state_of(check).value:<11} {name.value:<26} {told}".rstrip())
    if any(state_of(check) is not CheckState.FINE for check in known.values()):
        raise typer.Exit(1)


async def _check(settings: "Settings") -> "KnownChecks":
    from registerwatch.bootstrap import build_service
    from registerwatch.db.migrate import upgrade

    service = build_service(settings)
    try:
        await upgrade(service.database)
        return await service.register_checks.run()
    finally:
        await service.close()


@app.command("serve")
def serve_register(
    records: Annotated[
        Path | None, typer.Option(help="A file of records (JSON lines, gzipped or not).", exists=True, dir_okay=False)
    ] = None,
    devices: Annotated[int, typer.Option(help="Without a file: how many registrations to make up.", min=10)] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed makes other registrations.")] = 1,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8100,
    changes_per_minute: Annotated[float, typer.Option(help="Changes that the register makes by itself.", min=0)] = 0,
) -> None:
    """Serve the stand-in alone. Point REGISTERWATCH_REGISTER_URL at /eudamed and _DATALAKE_URL at /datalake."""
    from registerwatch_standins.register.app import serve

    base = f"http://{host}:{port}"
    typer.echo(f"REGISTERWATCH_REGISTER_URL={base}/eudamed\nREGISTERWATCH_DATALAKE_URL={base}/datalake")
    serve(records=records, devices=devices, seed=seed, host=host, port=port, changes_per_minute=changes_per_minute)


@app.command("generate")
def generate_records(
    output: Annotated[Path, typer.Argument(help="File to write; gzipped when it ends in .gz.")],
    devices: Annotated[int, typer.Option(help="How many registrations to make up.", min=10)] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed makes other registrations.")] = 1,
) -> None:
    """Write made-up registrations to a file that `copy fill` and `register serve` read."""
    from registerwatch.commands.progress import bar
    from registerwatch_standins.register.record_file import write_records

    with bar("records", devices) as advance:
        write_records(output, devices, seed, progress=lambda done, _total: advance(done, devices))
    typer.echo(f"{devices:,} records are in {output}.")
