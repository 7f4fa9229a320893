"""The command line: thin commands over the same use cases as the other surfaces."""

import sys
from typing import Annotated

import typer

from registerwatch import __version__
from registerwatch.commands import (
    accounts,
    backup,
    copy,
    database,
    demo,
    mail,
    nomenclature,
    payment,
    register,
    serve,
    settings,
    watches,
    work,
)
from registerwatch.db.private_files import use_private_umask
from registerwatch.errors import RegisterwatchError

app = typer.Typer(
    name="registerwatch",
    help="A stored copy of EUDAMED, the public EU register of medical devices: searched, read, watched.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("work")(work.work)
app.command("backup")(backup.back_up)
app.command("demo")(demo.demo)
app.command("settings")(settings.show)
app.add_typer(register.app, name="register")
app.add_typer(mail.app, name="mail")
app.add_typer(payment.app, name="payment")
app.add_typer(copy.app, name="copy")
app.add_typer(nomenclature.app, name="nomenclature")
app.add_typer(accounts.app, name="accounts")
app.add_typer(watches.app, name="watches")
app.add_typer(database.app, name="db")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"registerwatch {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Settings come from the environment; `registerwatch settings` lists them."""


def main() -> None:
    """Run a command. What it refuses is one line on standard error and exit code 1."""
    use_private_umask()
    try:
        app()
    except RegisterwatchError as error:
        print(f"registerwatch: {error}", file=sys.stderr)
        sys.exit(1)
