"""`registerwatch folder`: the folder of what is kept here."""

import typer

from registerwatch.settings import load_settings


def folder() -> None:
    """Print the folder of what is kept here."""
    typer.echo(load_settings().data_dir)
