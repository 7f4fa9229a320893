"""`registerwatch nomenclature …`: the names of EMDN codes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from registerwatch.bootstrap import Service, build_service
from registerwatch.commands.display.contact import warn_without_contact
from registerwatch.commands.nomenclature_file import read_nomenclature
from registerwatch.errors import BulkLoadRefused, InvalidInput
from registerwatch.platform import logs
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.nomenclature import NO_CODE, Nomenclature, check_replaces, emdn_levels, nomenclature_of
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.settings import Settings, load_settings

WORKBOOK = (
    "Load the Commission's workbook instead: download it at https://webgate.ec.europa.eu/dyna2/emdn/ and type"
    " `registerwatch nomenclature load FILE`."
)

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Names of the European Medical Device Nomenclature (EMDN)."""


@app.command("load")
def load(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The Commission's workbook of the EMDN (.xlsx), or the same as CSV; any with a column of codes and one"
            " of terms. Without it the register is asked, which does not always answer."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Load it also where some terms cannot be read, or far fewer came than are loaded."
        ),
    ] = False,
) -> None:
    """Load names of codes, in place of those that were loaded before: from a file, else from the register."""
    settings = load_settings()
    if file is None:
        logs.set_up(settings.log_format)
        warn_without_contact(settings)
        typer.echo("Asking the register for its nomenclature, which may take some minutes.", err=True)
    read, sheet = (None, "") if file is None else read_nomenclature(file)
    source = "the register" if file is None else f"{file}, sheet “{sheet}”" if sheet else str(file)
    loaded, before = asyncio.run(_replace(settings, read, source, is_forced=force))
    typer.echo(f"{len(loaded.names):,} codes have names now, from {source}; {before:,} had before.")
    if loaded.problems:
        typer.echo(f"{len(loaded.problems):,} terms could not be read. {loaded.problems[0]}")


@app.command("show")
def show(code: Annotated[str, typer.Argument(help="A code such as Q010699.")]) -> None:
    """Show the name of a code, below those of the codes above it."""
    levels = list(emdn_levels(code.strip()))
    if not levels:
        raise InvalidInput(f"“{code[:40]}” {NO_CODE}.")
    names = asyncio.run(_names(load_settings(), levels))
    for level in levels:
        typer.echo(f"{level:<13} {names.get(level, '(no name loaded)')}")


async def _replace(
    settings: Settings, read: Nomenclature | None, source: str, *, is_forced: bool
) -> tuple[Nomenclature, int]:
    """Store the names read from a file, else the register's. Returns them, and how many there were before."""
    service = build_service(settings)
    try:
        await upgrade(service.database)
        read = read or await _of_register(service)
        before = await service.nomenclature.count()
        try:
            check_replaces(read, before, is_forced=is_forced)
        except InvalidInput as error:
            forced = " `--force` loads it all the same." if read.names else ""
            raise InvalidInput(f"{source}: {error} Nothing was loaded.{forced}") from error
        await service.nomenclature.replace(read.names)
        return read, before
    finally:
        await service.close()


async def _of_register(service: Service) -> Nomenclature:
    try:
        return nomenclature_of(await service.nomenclature_source.terms())
    except RegisterFailure as failure:
        reason = f"The register's nomenclature could not be read: {failure.reason}"
        raise BulkLoadRefused(f"{reason} Nothing was loaded. {WORKBOOK}") from failure


async def _names(settings: Settings, codes: list[str]) -> Mapping[str, str]:
    service = build_service(settings)
    await upgrade(service.database)
    try:
        return await service.nomenclature.names(codes)
    finally:
        await service.close()
