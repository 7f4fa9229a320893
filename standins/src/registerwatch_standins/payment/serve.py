"""Serving the stand-in over HTTP."""

import uvicorn

from registerwatch_standins.payment.app import PaymentSandbox
from registerwatch_standins.payment.event_sender import Webhook


def serve(*, host: str, port: int, base_url: str, api_key: str, webhook_url: str, webhook_secret: str) -> None:
    """Serve until interrupted: `/v1` and the pages."""
    sandbox = PaymentSandbox(base_url=base_url, api_key=api_key, webhook=Webhook(webhook_url, (webhook_secret,)))
    uvicorn.run(sandbox.app, host=host, port=port, log_level="warning", access_log=False)
