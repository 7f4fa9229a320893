"""`registerwatch mail …`: checking that mails go out."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Mails."""


@app.command("test")
def test_mail(address: Annotated[str, typer.Argument(help="Whom to send it to, such as yourself.")]) -> None:
    """Send one mail now, and tell what is set and what the mail server answered."""
    import asyncio

    from registerwatch.mail.server_check import mail_settings, send_test
    from registerwatch.platform.clock import SystemClock
    from registerwatch.settings import load_settings

    settings = load_settings()
    for name, value in mail_settings(settings):
        typer.echo(f"{name:<11} {value}")
    answer = asyncio.run(send_test(settings, address, at=SystemClock().now()))
    typer.echo(f"{'Encrypted':<11} {answer.encryption}")
    typer.echo(f"{'Answer':<11} {answer.text}")
    typer.echo(
        "The server took it; that is not yet the inbox. Look there, and in the mail's source for what the receiving"
        " server found of SPF, DKIM and DMARC: docs/mail.md says what they need."
    )
