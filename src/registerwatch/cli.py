"""The command line: thin commands over the same use cases as the other surfaces."""

import os
import sys
from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

from registerwatch import __version__
from registerwatch.commands.lazy import CommandSource, LazyGroup
from registerwatch.errors import RegisterwatchError

PRIVATE_UMASK = 0o077
"""Only the user may read the files of commands, whatever the umask of the shell."""


class Commands(LazyGroup):
    """Every command. Its line here is the first line of its `--help`."""

    sources: ClassVar[Mapping[str, CommandSource]] = {
        "serve": CommandSource(
            "serve", "Serve the JSON interface and the pages, and do the work in the background.", "serve"
        ),
        "work": CommandSource(
            "work",
            "Do the work in the background and nothing else: recheck, deliver, tidy."
            " Any number may run beside `serve`.",
            "work",
        ),
        "backup": CommandSource(
            "backup", "Copy the SQLite database to FILE while the service goes on, and check the copy.", "back_up"
        ),
        "demo": CommandSource(
            "demo",
            "Try everything: the service with SQLite over a made-up register that changes as one looks."
            " Nothing is kept.",
            "demo",
        ),
        "settings": CommandSource(
            "settings", "List every setting with its value here and what it means. Secrets are masked.", "show"
        ),
        "register": CommandSource(
            "register",
            "How the register answers now, and the stand-in, which speaks its interface over made-up or given records.",
        ),
        "mail": CommandSource("mail", "Whether mails go out."),
        "payment": CommandSource(
            "payment", "The stand-in payment provider, which speaks Stripe's interface and charges nobody."
        ),
        "copy": CommandSource("copy", "The stored copy of the register."),
        "nomenclature": CommandSource("nomenclature", "Names of the European Medical Device Nomenclature (EMDN)."),
        "accounts": CommandSource("accounts", "Accounts: who is there, plans, periods, keys."),
        "watches": CommandSource("watches", "Watches of all accounts."),
        "db": CommandSource("database", "The database."),
    }


app = typer.Typer(
    name="registerwatch",
    cls=Commands,
    help="A stored copy of EUDAMED, the public EU register of medical devices: searched, read, watched.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    """Run a command. A refusal is one line on standard error and exit code 1."""
    os.umask(PRIVATE_UMASK)
    try:
        app(prog_name="registerwatch")  # fixed, because shell completion uses the name
    except RegisterwatchError as error:
        print(f"registerwatch: {error}", file=sys.stderr)
        sys.exit(1)
