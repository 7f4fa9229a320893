"""`registerwatch register …`: the stand-in register."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="The stand-in register, which speaks EUDAMED's interface over made-up or given records.", no_args_is_help=True
)


@app.callback()
def _group() -> None:
    """The stand-in register."""


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
