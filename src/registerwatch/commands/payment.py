"""`registerwatch payment …`: the stand-in payment provider."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The stand-in payment provider."""


@app.command("serve")
def serve_payment(
    service: Annotated[
        str, typer.Option(help="Address of the service that is told of events.")
    ] = "http://localhost:8000",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8200,
) -> None:
    """Serve the stand-in alone. It prints the settings that lead a service to it; its front page lets time pass."""
    from secrets import token_hex

    from registerwatch_standins.payment.app import serve

    base, key, secret = f"http://{host}:{port}", f"sk_test_{token_hex(12)}", f"whsec_{token_hex(16)}"
    typer.echo(
        f"REGISTERWATCH_PAYMENT_API_URL={base}\n"
        f"REGISTERWATCH_PAYMENT_API_KEY={key}\n"
        f"REGISTERWATCH_PAYMENT_WEBHOOK_SECRET={secret}\n"
        "REGISTERWATCH_PAYMENT_PRICES=standard=price_standard,operator=price_operator"
    )
    webhook = f"{service.rstrip('/')}/v1/billing/webhook"
    serve(host=host, port=port, base_url=base, api_key=key, webhook_url=webhook, webhook_secret=secret)
