"""`registerwatch serve`: the web server."""

from typing import Annotated

import typer

from registerwatch.commands.database import bring_to_schema, prepare_secrets
from registerwatch.commands.display.confinement import protect_this_process
from registerwatch.commands.display.contact import warn_without_contact
from registerwatch.platform import logs
from registerwatch.platform.collector import paused_collector
from registerwatch.platform.disk import make_folder
from registerwatch.platform.private_files import note_open_folder, protect_index
from registerwatch.settings import load_settings, unknown_variables


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    background: Annotated[
        bool, typer.Option(help="Whether to recheck watches and deliver events, too; else `work` does.")
    ] = True,
) -> None:
    """Serve the JSON interface and the pages, and do the work in the background."""
    settings = load_settings()
    for name in unknown_variables():
        typer.echo(f"registerwatch: there is no setting {name}; see `registerwatch settings`", err=True)
    logs.set_up(settings.log_format)
    protect_this_process()
    warn_without_contact(settings)
    make_folder(settings.data_dir)
    note_open_folder(settings.data_dir)
    protect_index(settings.index_dir)
    bring_to_schema(settings.database_address)  # a problem here is one line; in the server it would be a traceback
    prepare_secrets(settings)
    with paused_collector():
        from registerwatch import server  # takes a second to load, so the warnings come first
    server.serve(settings, host, port, background=background)
