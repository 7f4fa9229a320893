"""`registerwatch register …`: checking how the register answers, and the stand-in register."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The register and the stand-in."""


@app.command("check")
def check_register(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs; progress stays on standard error.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            help="A new or empty folder: keep there what came, without personal data, to send what differs.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Look now at everything that is relied on of how the register and the Data Lake answer.

    Ends with 0 where all of it holds, 1 where something differs, 2 where something could not be looked at.
    """
    from registerwatch.commands import register_check
    from registerwatch.commands.display.contact import warn_without_contact
    from registerwatch.errors import RegisterwatchError
    from registerwatch.platform import logs
    from registerwatch.settings import load_settings

    settings = load_settings()
    logs.set_up(settings.log_format)
    warn_without_contact(settings)
    try:
        status = register_check.run(settings, as_json=as_json, folder=record)
    except RegisterwatchError as error:  # uncaught it would end with 1, as if something differed
        typer.echo(f"registerwatch: {error}", err=True)
        status = 2
    raise typer.Exit(status)


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
    difference: Annotated[
        list[str] | None, typer.Option(help="Something that it does otherwise than the register; repeatable.")
    ] = None,
) -> None:
    """Serve the stand-in alone. Point REGISTERWATCH_REGISTER_URL at /eudamed and _DATALAKE_URL at /datalake."""
    from registerwatch_standins.register.app import serve
    from registerwatch_standins.register.drift import Difference

    if unknown := {*(difference or [])} - {*Difference}:
        raise typer.BadParameter(f"No difference is called {', '.join(unknown)}; there are {', '.join(Difference)}.")
    base = f"http://{host}:{port}"
    typer.echo(f"REGISTERWATCH_REGISTER_URL={base}/eudamed\nREGISTERWATCH_DATALAKE_URL={base}/datalake")
    serve(
        records=records,
        devices=devices,
        seed=seed,
        host=host,
        port=port,
        changes_per_minute=changes_per_minute,
        differences=map(Difference, difference or []),
    )


@app.command("generate")
def generate_records(
    output: Annotated[Path, typer.Argument(help="File to write; gzipped when it ends in .gz.")],
    devices: Annotated[int, typer.Option(help="How many registrations to make up.", min=10)] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed makes other registrations.")] = 1,
) -> None:
    """Write made-up registrations to a file that `copy fill` and `register serve` read."""
    from registerwatch.commands.display.progress import bar
    from registerwatch_standins.register.record_file import write_records

    with bar("records", devices) as advance:
        write_records(output, devices, seed, progress=lambda done, _total: advance(done, devices))
    typer.echo(f"{devices:,} records are in {output}.")
