"""`registerwatch nomenclature …`: the names of EMDN codes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from registerwatch.bootstrap import build_service
from registerwatch.db.migrate import upgrade
from registerwatch.errors import InvalidInput
from registerwatch.register.nomenclature_file import read_nomenclature
from registerwatch.register.search.filters import emdn_levels
from registerwatch.settings import Settings, load_settings

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Names of the European Medical Device Nomenclature (EMDN)."""


@app.command("load")
def load(file: Annotated[Path, typer.Argument(help="CSV with the columns `code` and `name`.")]) -> None:
    """Load names of codes from a file, in place of those that were loaded before."""
    names = read_nomenclature(file)
    before = asyncio.run(_replace(load_settings(), names))
    typer.echo(f"{len(names):,} codes have names now; {before:,} had before.")


@app.command("show")
def show(code: Annotated[str, typer.Argument(help="A code such as Q010699.")]) -> None:
    """Show the name of a code, below those of the codes above it."""
    levels = list(emdn_levels(code.strip()))
    if not levels:
        raise InvalidInput(f"“{code[:40]}” is no EMDN code, which is a letter and pairs of digits.")
    names = asyncio.run(_names(load_settings(), levels))
    for level in levels:
        typer.echo(f"{level:<13} {names.get(level, '(no name loaded)')}")


async def _replace(settings: Settings, names: Mapping[str, str]) -> int:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        before = await service.nomenclature.count()
        await service.nomenclature.replace(names)
        return before
    finally:
        await service.close()


async def _names(settings: Settings, codes: list[str]) -> Mapping[str, str]:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        return await service.nomenclature.names(codes)
    finally:
        await service.close()
