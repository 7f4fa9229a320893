"""`registerwatch demo`: the service over made-up records."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer


def demo(
    port: Annotated[int, typer.Option(help="Port of the service.", min=1, max=65535)] = 8000,
    devices: Annotated[
        int, typer.Option(help="Registrations in the made-up register.", min=10, max=1_000_000)
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed makes another register.")] = 1,
) -> None:
    """Try everything: the service with SQLite over a made-up register that changes as one looks. Nothing is kept."""
    from registerwatch.commands.demo_run import run

    folder = Path(tempfile.mkdtemp(prefix="registerwatch-demo-"))
    try:
        run(folder, port=port, devices=devices, seed=seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
